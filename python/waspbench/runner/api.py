"""One point of an experiment: started, followed second by second, stopped early; and going on with what was begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from waspbench.closeable import Closeable
from waspbench.errors import InputError
from waspbench.experiment import Mode, parse
from waspbench.results import Result
from waspbench.results.calibration import CalibrationResult
from waspbench.results.capacity import CapacityResult
from waspbench.results.files import Files
from waspbench.results.shown import with_files
from waspbench.results.study import StudyResult, read_plan
from waspbench.results.twins import TwinResult
from waspbench.runner.calibration import Calibration
from waspbench.runner.capacity import CapacityStudy
from waspbench.runner.pipeline import OnProgress, StudyProgress
from waspbench.runner.study import Source, Study, document_of, prepare
from waspbench.runner.twin import Twin


@dataclass(frozen=True)
class Progress:
    """The state of an experiment, about once a second."""

    run: int
    """Number of the present run, from 0, in the order in which the runs begin. A second attempt has the number of the
    first."""
    runs: int
    """Number of runs of the experiment, as far as it is known."""
    elapsed: float
    """Seconds of the run's own time since it began, warm-up included. In simulation these are simulated seconds."""
    measuring: bool
    """Whether the warm-up is over."""
    throughput: float
    """``ok`` transactions a second of the run's own time, since the previous state."""
    in_flight: int
    """Number of transactions in progress."""
    completed: int
    """Number of transactions that have ended in this run."""
    errors: int
    """Number of those transactions that were not ``ok``."""
    pilot: int | None = None
    """Number of the pilot run, from 1, if the run is a pilot that finds the lengths (``auto``); None if it is measured.
    """
    attempt: int = 1
    """2 if the run is made again because the first attempt failed or was disturbed; 1 otherwise."""
    earlier: tuple[str, ...] = ()
    """What was wrong with the first attempt; empty during the first attempt."""


def _of_one(study: StudyProgress) -> Progress | None:
    """What ``study`` tells of the run that is being made; None where there are no figures of it."""
    run = study.latest
    if run is None or study.sample is None:
        return None
    return Progress(run.run, study.total, **study.sample, pilot=run.pilot, attempt=run.attempt, earlier=run.earlier)


class Handle(Closeable):
    """An experiment that has started. Call ``next_sample`` until ``done``, then ``wait``. ``stop`` ends the experiment
    early.

    Use it as a context manager, or call ``close`` at the end: this removes the testbed. If ``output`` was given, the
    finished runs stay there, and `waspbench.resume` makes the others; a directory without a finished run is removed.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    @property
    def done(self) -> bool:
        """Whether no run is left to make: all have ended, or the experiment was stopped, was closed, or failed."""
        return self._study.done

    def next_sample(self, timeout: float = 1.0) -> Progress | None:
        """Waits for the next figures and returns them. They come about once a second. The function returns None if
        there are none within ``timeout`` seconds, or if no run is left to make. A simulation that takes less than about
        a second may give none.

        Raises:
            CannotRunError: this machine cannot make the run.
            RunFailedError: no further run can be made, for example because the disk is full. Finished runs are kept.
        """
        return None if self.done else _of_one(self._study.step(timeout))

    def stop(self) -> None:
        """Ends the present run as soon as possible, and makes no further run. What was measured is kept, and marked."""
        self._study.stop()

    def wait(self) -> Result:
        """Makes the other runs and returns the result.

        Raises:
            CannotRunError: this machine cannot make a run.
            RunFailedError: no run finished: all failed, or the experiment was stopped or closed before.
        """
        return only(self._study.wait())

    def close(self) -> None:
        """Ends the present run, drops it, and removes the testbed."""
        self._study.close()


def only(study: StudyResult) -> Result:
    """The result of a study of one point, with its checks."""
    [point] = study.points
    assert point.result is not None, "a study without a result is an error"
    return point.result.model_copy(update={"checks": study.checks})


def start(
    experiment: Source,
    *,
    mode: Mode | None = None,
    output: str | Path | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
) -> Handle:
    """Starts the first run of an experiment without a sweep. The returned `Handle` follows the runs and can stop them.

    Args:
        experiment: the path of an experiment file, its content as a mapping, or an `Experiment`.
        mode: live or sim. By default it is the experiment's own mode; if that is not set, it is live if this machine
            can measure live, and sim otherwise.
        output: new directory for the results. By default they are in a temporary directory, which is removed with the
            returned object.
        server_cpus: CPUs of the server in live runs, such as "0" or "0-1". By default WASP chooses them.
        emulator_cpus: CPUs of the emulator in live runs, which has one thread on each. By default WASP chooses one.

    Raises:
        InputError: an argument or the experiment is not valid.
        CannotRunError: this machine cannot make these runs, for example because live mode needs root.
    """
    made = _begun(experiment, mode, output, server_cpus, emulator_cpus)
    try:
        made.step(0.0)
    except BaseException:
        made.close()
        raise
    return Handle(made)


def run(
    experiment: Source,
    *,
    mode: Mode | None = None,
    output: str | Path | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> Result:
    """Makes all runs of an experiment without a sweep, and returns their result.

    A KeyboardInterrupt (Ctrl-C) ends the experiment early. The function returns what was measured so far, marked as
    interrupted. If nothing was measured, it raises the KeyboardInterrupt again.

    Args:
        experiment: the path of an experiment file, its content as a mapping, or an `Experiment`.
        mode: live or sim. By default it is the experiment's own mode; if that is not set, it is live if this machine
            can measure live, and sim otherwise.
        output: new directory for the results. By default they are in a temporary directory, which is removed with the
            returned object.
        server_cpus: CPUs of the server in live runs, such as "0" or "0-1". By default WASP chooses them.
        emulator_cpus: CPUs of the emulator in live runs, which has one thread on each. By default WASP chooses one.
        on_progress: function that is called about once a second with a `Progress`.

    Raises:
        InputError: an argument or the experiment is not valid.
        CannotRunError: this machine cannot make these runs, for example because live mode needs root.
        RunFailedError: no run finished.
    """

    def shown(study: StudyProgress) -> None:
        if on_progress is not None and (progress := _of_one(study)) is not None:
            on_progress(progress)

    return only(_begun(experiment, mode, output, server_cpus, emulator_cpus).run(on_progress=shown))


def _begun(
    experiment: Source,
    mode: Mode | None,
    output: str | Path | None,
    server_cpus: str | None,
    emulator_cpus: str | None,
) -> Study:
    document, directory = document_of(experiment), None if output is None else Path(output)
    if parse(document).sweep:
        raise InputError.at("sweep", "makes many results of one experiment; waspbench.study returns them")
    plan, found = prepare(document, directory, mode=mode, server_cpus=server_cpus, emulator_cpus=emulator_cpus)
    return Study.begin(plan, found, directory)


def resume(
    directory: str | Path, *, jobs: int | None = None, on_progress: OnProgress | None = None
) -> StudyResult | CapacityResult | CalibrationResult | TwinResult:
    """Makes the runs that are missing in a directory of results: those of an experiment, a calibration or a twin, or
    those that a search for capacity still needs. A KeyboardInterrupt ends it early, as it ends `waspbench.study`.

    Args:
        directory: the directory of `run`, `start`, ``study``, ``capacity``, ``calibrate`` or ``twin``, or of a command.
        jobs: number of runs of a simulated sweep to make at the same time, each in a process of its own. By default it
            is the number of CPUs. In other experiments, a number above 1 is an error.
        on_progress: function that is called about once a second with a `StudyProgress`.

    Raises:
        InputError: the directory has no results that can be resumed, or a version of WASP with another format wrote
            them.
        CannotRunError: this machine cannot make these runs, for example because live mode needs root.
        RunFailedError: the missing runs could not be finished. Finished runs are kept.
    """
    files = Files.of_another(Path(directory))  # a temporary directory stays while its runs are made
    found = opened(Path(directory)).run(jobs=jobs, on_progress=on_progress)
    return with_files(found, files) if files and isinstance(found, StudyResult | CapacityResult) else found


def opened(directory: Path) -> Study | CapacityStudy | Calibration | Twin:
    """What was begun in ``directory``. For the errors see `waspbench.runner.pipeline.Pipeline.open`."""
    kinds: dict[str, type[Study | CapacityStudy | Calibration | Twin]] = {
        "sweep": Study,
        "capacity": CapacityStudy,
        "calibration": Calibration,
        "twin": Twin,
    }
    return kinds[read_plan(directory).kind].open(directory)
