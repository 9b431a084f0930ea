"""``wasp twin``: an experiment live and in simulation, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from waspbench.cli import status
from waspbench.cli.options import (
    MEASURE,
    DryRun,
    EmulatorCpus,
    FileArgument,
    Jobs,
    Json,
    Output,
    Quiet,
    ServerCpus,
    Settings,
    Text,
)
from waspbench.cli.outputs import Outputs

if TYPE_CHECKING:
    from waspbench.runner.stages import Prepared


def twin(
    file: FileArgument,
    /,
    *,
    settings: Settings = None,
    within: Annotated[
        Text,
        Parameter(
            metavar="SHARE",
            group=MEASURE,
            help="Largest difference of a figure between the sides, such as 15%. The command ends with status 1 if the "
            "90 % confidence interval of a ratio is wholly outside, and with 5 if one does not decide.",
        ),
    ] = None,
    dry_run: DryRun = False,
    jobs: Jobs = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    json: Json = False,
    quiet: Quiet = False,
    output: Output = None,
) -> int:
    """Run an experiment live and in simulation, and say where the two differ."""
    from waspbench.cli import studies
    from waspbench.cli.study import document_of
    from waspbench.results import default_directory
    from waspbench.runner.pipeline import check_jobs
    from waspbench.runner.twin import Twin, prepare_twin

    outputs = Outputs(json=json, quiet=quiet)
    outputs.check(dry_run=dry_run)
    document = document_of(file, settings, None)
    directory = output or default_directory(f"{document.get('name')}-twin")
    plan, sides = prepare_twin(document, directory, within=within, server_cpus=server_cpus, emulator_cpus=emulator_cpus)
    check_jobs(jobs, plan)
    if dry_run:
        print(_dry_run(sides, jobs), end="")
        return status.Status.DONE
    return studies.made(Twin.begin(plan, directory), jobs, outputs)


def _dry_run(sides: Sequence[Prepared], jobs: int | None) -> str:
    """What ``--dry-run`` prints."""
    from waspbench.cli import dry_run_text

    return "".join(f"{plan.mode}: {dry_run_text.experiment(found, plan.mode, jobs)}" for plan, found in sides)
