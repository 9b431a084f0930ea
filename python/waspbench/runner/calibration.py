"""Calibrating a server: the runs that tell what its work costs, and the model that has these costs."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from waspbench.calibration import trials
from waspbench.calibration.counts import counted_cpus
from waspbench.calibration.fit import FULL_LOAD, PART_LOAD, Fitted, cores_of, fitted, hands_over, model_of, most_of
from waspbench.calibration.told import not_told
from waspbench.errors import InputError
from waspbench.experiment import Experiment, Mode, parse
from waspbench.experiment.sweep import factors
from waspbench.results import Result, check_free
from waspbench.results.calibration import CALIBRATION, MODEL, CalibrationResult
from waspbench.results.manifest import now
from waspbench.results.records import write_text
from waspbench.results.server_time import cpus_of, ran_already
from waspbench.results.study import StudyPlan, StudyPoint, StudyResult
from waspbench.runner.pipeline import NothingMeasuredError, OnProgress
from waspbench.runner.stages import Prepared, Stages
from waspbench.runner.study import Source, document_of, prepare

MOST_LEFT_OUT: Final = 1 / 3
"""Share of the points that may be left out of a valid calibration."""

MOST_ERROR: Final = 0.15
"""Standard deviation of the points' relative errors up to which the costs say what was measured."""


def prepare_calibration(
    document: Mapping[str, Any],
    directory: Path,
    *,
    mode: Mode = "live",
    runs: int = 1,
    quick: bool = False,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
) -> tuple[StudyPlan, list[Prepared]]:
    """The plan of a calibration, and what its stages are as far as it is known before the first; nothing is written.

    Raises:
        InputError: something is not valid.
        CannotRunError: this machine cannot make the runs.
    """
    check_free(directory)
    base = _base(document, mode)
    search = {"runs": runs, "quick": quick}
    made = [
        _prepared(base, directory, number, {}, search, mode, server_cpus, emulator_cpus, part_of=None)
        for number in range(2)
    ]
    first, _ = made[0]
    plan = first.model_copy(
        update={
            "id": uuid.uuid4().hex,
            "created": now(),
            "kind": "calibration",
            "document": base,
            "points": sum(plan.points for plan, _ in made),
            "search": search,
        }
    )
    return plan, made


def _base(document: Mapping[str, Any], mode: Mode) -> dict[str, Any]:
    """What a calibration takes of an experiment file: name, seed and server."""
    described = parse({"clients": [{}], **document})
    for path in (path for factor in factors(described.sweep) for path in factor.paths):
        if path.partition(".")[0] == "server":
            message = "varies the server, and a calibration is of one server; name it in [server] instead"
            raise InputError.at("sweep", message, path)
    if described.server.access_log:
        message = "takes CPU time of the server, which the costs would include; leave it out"
        raise InputError.at("server.access_log", message, True)
    server = dict(document.get("server", {}))
    server.pop("at", None)  # the network of a calibration is a star
    if mode == "live":
        server.pop("model", None)  # which is what the calibration finds
    return {"name": described.name, "seed": described.seed, "server": server}


def _described(base: Mapping[str, Any]) -> Experiment:
    return parse({**base, "clients": [{}]})


def _prepared(
    base: Mapping[str, Any],
    directory: Path,
    number: int,
    most: Mapping[trials.Asked, trials.Answered],
    search: Mapping[str, Any],
    mode: Mode,
    server_cpus: str | None,
    emulator_cpus: str | None,
    part_of: StudyPlan | None,
) -> Prepared:
    stage = trials.stages(_described(base), quick=search["quick"])[number]
    made = trials.document({**base, "mode": mode}, stage, most, runs=search["runs"], quick=search["quick"])
    folder = directory / Calibration.names[number]
    return prepare(made, folder, mode=mode, server_cpus=server_cpus, emulator_cpus=emulator_cpus, part_of=part_of)


class Calibration(Stages[CalibrationResult]):
    """The runs of a calibration in their directory: first as much load as the server can take, then parts of it."""

    names = (FULL_LOAD, PART_LOAD)

    def prepared(self, name: str, made: Mapping[str, StudyResult]) -> Prepared:
        """The experiment of a stage. The pauses of clients in the second follow from what the first found."""
        plan, number = self.plan, self.names.index(name)
        most = most_of(made[FULL_LOAD]) if FULL_LOAD in made else {}
        return _prepared(
            plan.document,
            self.directory,
            number,
            most,
            plan.search,
            plan.mode,
            plan.server_cpus,
            plan.emulator_cpus,
            part_of=plan,
        )

    def runs_of(self, name: str) -> int:
        """Number of runs of a stage."""
        stages = trials.stages(_described(self.plan.document), quick=self.plan.search["quick"])
        return len(stages[self.names.index(name)]) * int(self.plan.search["runs"])

    def summarise(self, made: Mapping[str, StudyResult]) -> CalibrationResult:
        """Writes ``calibration.json``, and the model file if all runs were made and tell the costs."""
        results = {name: [point.result for point in stage.points if point.result] for name, stage in made.items()}
        every = [result for found in results.values() for result in found]
        if not every:
            raise NothingMeasuredError
        found = self._calibrated(made, every[0])
        write_text(self.directory / CALIBRATION, found.to_json() + "\n")
        if found.model and found.complete:
            write_text(self.directory / MODEL, found.model_file())
        else:
            (self.directory / MODEL).unlink(missing_ok=True)
        return found.model_copy(update={"results": str(self.directory)})

    def _calibrated(self, made: Mapping[str, StudyResult], first: Result) -> CalibrationResult:
        one_size = trials.has_one_size(_described(self.plan.document))
        found = fitted(made, one_size=one_size)
        complete = len(made) == len(self.names) and all(
            _is_made(point) for stage in made.values() for point in stage.points
        )
        why = _why_invalid(found, complete=complete, planned=sum(len(stage.points) for stage in made.values()))
        cores, said = cores_of(made.get(FULL_LOAD), cpus_of(first))
        prefork = self.plan.document["server"].get("mpm") == "prefork"
        counted = counted_cpus(first)
        told = not_told(
            found.costs,
            found.points,
            said,
            one_size=one_size,
            of_processes=True if prefork else hands_over(found.points),
            ran_already=ran_already(first),
        )
        return CalibrationResult(
            name=self.plan.name,
            mode=self.plan.mode,
            seed=self.plan.seed,
            server=self._server(first),
            machine={name: self.plan.machine.get(name) for name in ("kernel", "cpu", "cpus", "virtual")},
            versions=self.plan.versions,
            model=model_of(found.costs, found.points, cores=cores, counted_cpus=counted, prefork=prefork)
            if found.costs
            else {},
            costs=found.costs,
            points=found.points,
            error=found.error,
            worst=found.worst,
            not_told=told if found.costs else [],
            complete=complete,
            valid=not why,
            why=why,
        )

    def _server(self, first: Result) -> dict[str, Any]:
        """What is said of the server."""
        own = self.plan.document["server"]
        kind = own.get("kind", "builtin")
        return {
            "kind": kind,
            **{name: first.server.get(name) for name in ("name", "version")},
            **{name: own[name] for name in ("mpm", "command", "url") if name in own},
            "cpus": cpus_of(first),
        }


def _is_made(point: StudyPoint) -> bool:
    """Whether all runs of a point were made; those that failed twice are not made again."""
    return point.failure is not None if point.result is None else not point.result.interrupted


def _why_invalid(found: Fitted, *, complete: bool, planned: int) -> str:
    """Why a calibration is not valid; empty if it is."""
    if not complete:
        return "runs are missing"
    if found.why_not:
        return found.why_not
    left_out = planned - sum(not point.left_out for point in found.points)
    if left_out > MOST_LEFT_OUT * planned:
        reasons = Counter(point.left_out for point in found.points if point.left_out)
        told = "; ".join(f"{number} {why}" for why, number in reasons.most_common())
        return f"{left_out} of {planned} trials had to be left out ({told}), and at most a third may be"
    if found.error is not None and found.error > MOST_ERROR:
        error, most = f"{100 * found.error:.0f} %", f"{100 * MOST_ERROR:.0f} %"
        return f"the costs miss what was measured by {error} (standard deviation), and at most {most} is valid"
    return ""


def calibrate(
    experiment: Source,
    *,
    output: str | Path,
    runs: int = 1,
    quick: bool = False,
    mode: Mode = "live",
    jobs: int | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    on_progress: OnProgress | None = None,
) -> CalibrationResult:
    """Measures what the work of a server costs, and writes a model of the server for simulations.

    Of the experiment only ``name``, ``seed`` and ``server`` count: clients, and what they ask for, are the
    calibration's own. A KeyboardInterrupt (Ctrl-C) ends it early, as it ends `waspbench.study`.

    Args:
        experiment: the path of an experiment file, its content as a mapping, or an `Experiment`.
        output: new directory for the results; the model is the file ``model.json`` there, which
            ``server.model.file`` takes.
        runs: number of runs of each trial. More runs make the costs more certain.
        quick: whether there are fewer and shorter runs. The costs are less certain then.
        mode: live, or sim to measure the modelled server itself. This shows what a calibration can tell, as its costs
            are known.
        jobs: number of simulated runs to make at the same time, each in a process of its own. By default it is the
            number of CPUs. In live mode, a number above 1 is an error.
        server_cpus: CPUs of the server in live runs, such as "0" or "0-1". By default WASP chooses them.
        emulator_cpus: CPUs of the emulator in live runs, which has one thread on each. By default WASP chooses one.
        on_progress: function that is called about once a second with a `StudyProgress`.

    Raises:
        InputError: an argument or the experiment is not valid.
        CannotRunError: this machine cannot make these runs, for example because live mode needs root.
        RunFailedError: all runs failed, or the calibration could not be finished. If finished runs were kept,
            `waspbench.resume` makes the others.
    """
    directory = Path(output)
    plan, _ = prepare_calibration(
        document_of(experiment),
        directory,
        mode=mode,
        runs=runs,
        quick=quick,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
    )
    return Calibration.begin(plan, directory).run(jobs=jobs, on_progress=on_progress)
