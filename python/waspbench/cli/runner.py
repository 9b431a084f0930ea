"""Running an experiment for a person: mode and progress on standard error, the result on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from waspbench.cli import status, studies
from waspbench.cli.progress import ProgressLine
from waspbench.experiment import Experiment, Mode
from waspbench.experiment.conditions import Condition
from waspbench.live import choose_mode
from waspbench.results import Result, default_directory
from waspbench.results.checks import judge
from waspbench.results.study import study_of
from waspbench.session import run


def run_and_print(
    experiment: Experiment,
    conditions: Sequence[Condition] = (),
    *,
    output: Path | None,
    json: bool,
    server_cpus: str | None,
    emulator_cpus: str | None,
) -> int:
    """Runs ``experiment``, prints its result and whether it meets ``conditions``, and returns the exit status."""
    mode, why = choose_mode(None, experiment)
    print(f"{mode}: {why}", file=sys.stderr)
    try:
        result = followed(experiment, mode, output or default_directory(experiment.name), server_cpus, emulator_cpus)
    except KeyboardInterrupt:
        status.complain(["interrupted before anything was measured"])
        return status.Status.INTERRUPTED
    if result.results is not None:
        studies.register(Path(result.results))
    found = study_of(result)
    checks = judge(found, conditions)
    print(studies.text(found, checks, json), end="")
    return status.of(result) if result.interrupted else studies.outcome(found, checks)


def followed(
    experiment: Experiment, mode: Mode, output: Path, server_cpus: str | None = None, emulator_cpus: str | None = None
) -> Result:
    """Runs ``experiment`` and shows its progress."""
    with ProgressLine(sys.stderr) as progress:
        return run(
            experiment,
            mode=mode,
            output=output,
            server_cpus=server_cpus,
            emulator_cpus=emulator_cpus,
            on_progress=progress,
        )
