"""The same experiment live and in simulation."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from waspbench.errors import InputError
from waspbench.experiment import Mode
from waspbench.experiment.sweep import points
from waspbench.results import check_free
from waspbench.results.manifest import now
from waspbench.results.study import StudyPlan, StudyResult
from waspbench.results.twins import SIDES, TwinResult, share_of, twin_of
from waspbench.runner.pipeline import OnProgress
from waspbench.runner.stages import Prepared, Stages
from waspbench.runner.study import Source, document_of, prepare


def prepare_twin(
    document: Mapping[str, Any],
    directory: Path,
    *,
    within: str | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
) -> tuple[StudyPlan, list[Prepared]]:
    """The plan of a twin, and its sides with their points, all checked; nothing is written.

    Raises:
        InputError: something is not valid.
        CannotRunError: this machine cannot make the live side.
    """
    if within is not None:
        share_of(within)
    check_free(directory)
    sides = [_prepared(document, directory, mode, server_cpus, emulator_cpus, part_of=None) for mode in SIDES]
    # The simulated side says whether runs may be made side by side.
    (_, found), (first, _) = sides
    measure = found[0].experiment.measure
    if within is not None and measure.runs < 2 and measure.until is None:
        message = "gives no interval, and within judges by intervals; 2 or more would be valid"
        raise InputError.at("measure.runs", message, measure.runs)
    plan = first.model_copy(
        update={
            "id": uuid.uuid4().hex,
            "created": now(),
            "kind": "twin",
            "document": dict(document),
            "search": {} if within is None else {"within": within},
            "server_cpus": server_cpus,
            "emulator_cpus": emulator_cpus,
        }
    )
    return plan, sides


def _prepared(
    document: Mapping[str, Any],
    directory: Path,
    mode: Mode,
    server_cpus: str | None,
    emulator_cpus: str | None,
    part_of: StudyPlan | None,
) -> Prepared:
    live = mode == "live"
    if not live and isinstance(document.get("server"), Mapping):
        # The modelled server writes no log.
        document = {**document, "server": {k: v for k, v in document["server"].items() if k != "access_log"}}
    return prepare(
        {**document, "mode": mode},
        directory / mode,
        mode=mode,
        server_cpus=server_cpus if live else None,
        emulator_cpus=emulator_cpus if live else None,
        part_of=part_of,
    )


class Twin(Stages[TwinResult]):
    """Both sides of an experiment in one directory: first live, then in simulation."""

    names = SIDES
    alike = False

    def prepared(self, name: str, made: Mapping[str, StudyResult]) -> Prepared:
        """The experiment of a side."""
        plan = self.plan
        mode: Mode = "live" if name == "live" else "sim"
        return _prepared(plan.document, self.directory, mode, plan.server_cpus, plan.emulator_cpus, part_of=plan)

    def runs_of(self, name: str) -> int:
        """Number of runs of a side; with ``measure.until`` the least."""
        found = points(self.plan.document)
        return len(found) * found[0].experiment.measure.runs

    def summarise(self, made: Mapping[str, StudyResult]) -> TwinResult:
        """Both sides at each point."""
        return twin_of(self.plan, self.directory, made.get("live"), made.get("sim"))


def twin(
    experiment: Source,
    *,
    output: str | Path,
    within: str | None = None,
    jobs: int | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    on_progress: OnProgress | None = None,
) -> TwinResult:
    """Runs an experiment live and in simulation, and compares both at each of its points.

    The modelled server is that of ``server.model``. A KeyboardInterrupt (Ctrl-C) ends it early, as it ends
    `waspbench.study`.

    Args:
        experiment: the path of an experiment file, its content as a mapping, or an `Experiment`.
        output: new directory for the results; ``live`` and ``sim`` below it are those of the two sides.
        within: how far a figure in simulation may be from the live one, such as "15%". By default nothing is judged.
        jobs: number of simulated runs of a sweep to make at the same time, each in a process of its own. By default it
            is the number of CPUs.
        server_cpus: CPUs of the server in live runs, such as "0" or "0-1". By default WASP chooses them.
        emulator_cpus: CPUs of the emulator in live runs, which has one thread on each. By default WASP chooses one.
        on_progress: function that is called about once a second with a `StudyProgress`.

    Raises:
        InputError: an argument or the experiment is not valid.
        CannotRunError: this machine cannot make live runs.
        RunFailedError: all runs of a side failed, or the experiment could not be finished. If finished runs were kept,
            `waspbench.resume` makes the others.
    """
    directory = Path(output)
    plan, _ = prepare_twin(
        document_of(experiment), directory, within=within, server_cpus=server_cpus, emulator_cpus=emulator_cpus
    )
    return Twin.begin(plan, directory).run(jobs=jobs, on_progress=on_progress)
