"""One point of an experiment: started, followed second by second, stopped early; and going on with what was begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from waspbench.closeable import Closeable
from waspbench.errors import InputError
from waspbench.experiment import Mode, parse
from waspbench.results import Result
from waspbench.results.capacity import CapacityResult
from waspbench.results.files import Files
from waspbench.results.shown import with_files
from waspbench.results.study import StudyResult, read_plan
from waspbench.runner.capacity import CapacityStudy
from waspbench.runner.pipeline import OnProgress, StudyProgress
from waspbench.runner.study import Source, Study, document_of, prepare


@dataclass(frozen=True)
class Progress:
    """What is going on, as of the last second."""

    run: int
    """Number of the run, from 0, in the order in which runs are begun; that of an earlier one where it is made again.
    """
    runs: int
    """Number of runs to make, as far as is known."""
    elapsed: float
    """Seconds since the run began, warm-up included."""
    measuring: bool
    """Whether the warm-up is over."""
    throughput: float
    """``ok`` transactions in the last second."""
    in_flight: int
    """Transactions in progress."""
    completed: int
    """Transactions that ended in this run."""
    errors: int
    """Those of them that were not ``ok``."""
    pilot: int | None = None
    """Number of the pilot that it is, from 1, where lengths are to be found; None if it is measured."""
    attempt: int = 1
    """2 where the run is made again, because the first attempt failed or was disturbed."""
    earlier: tuple[str, ...] = ()
    """What was wrong with the first attempt; empty where this is the first."""


def _of_one(study: StudyProgress) -> Progress | None:
    """What ``study`` tells of the run that is being made; None where there are no figures of it."""
    run = study.latest
    if run is None or study.sample is None:
        return None
    return Progress(run.run, study.total, **study.sample, pilot=run.pilot, attempt=run.attempt, earlier=run.earlier)


class Handle(Closeable):
    """A started experiment. Call ``next_sample`` until ``done``, then ``wait``; ``stop`` at any time ends it early.

    Use it as a context manager, or call ``close``: leaving it takes the testbed away. What is finished is kept where
    ``output`` was named, and `waspbench.resume` goes on there; a directory without a finished run is removed.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    @property
    def done(self) -> bool:
        """Whether nothing is left to run."""
        return self._study.done

    def next_sample(self, timeout: float = 1.0) -> Progress | None:
        """The next second's figures; None when there are none within ``timeout`` seconds or nothing is left to run.

        Raises:
            CannotRunError: this machine cannot make the run.
            RunFailedError: no run can be made any more, such as on a full disk. What is finished is kept.
        """
        return None if self.done else _of_one(self._study.step(timeout))

    def stop(self) -> None:
        """Ends the present run as soon as possible and makes no other. What was measured is kept, and marked."""
        self._study.stop()

    def wait(self) -> Result:
        """Makes what is left and returns the result.

        Raises:
            RunFailedError: no run came to its end, because all failed or it was stopped before.
        """
        return only(self._study.wait())

    def close(self) -> None:
        """Gives up what is not finished, and takes the testbed away."""
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
    """Starts the first run of an experiment without a sweep.

    Args:
        experiment: the path of an experiment file, its content as a mapping, or an `Experiment`.
        mode: live or sim; unless given the experiment's own, else live where this machine can do it.
        output: directory to make for the results; unless given, their files go with them.
        server_cpus: CPUs of the server in a live run, such as "0" or "0-1"; chosen unless given.
        emulator_cpus: CPUs of the emulator in a live run, a thread on each; one is chosen unless given.

    Raises:
        InputError: something that is asked for is not valid.
        CannotRunError: this machine cannot do it.
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
    """Runs an experiment without a sweep and returns what it found.

    A KeyboardInterrupt ends the experiment early: what was measured is returned, marked as interrupted; if nothing was,
    the interrupt is raised again.

    Args:
        experiment: the path of an experiment file, its content as a mapping, or an `Experiment`.
        mode: live or sim; unless given the experiment's own, else live where this machine can do it.
        output: directory to make for the results; unless given, their files go with them.
        server_cpus: CPUs of the server in a live run, such as "0" or "0-1"; chosen unless given.
        emulator_cpus: CPUs of the emulator in a live run, a thread on each; one is chosen unless given.
        on_progress: called once a second.

    Raises:
        InputError: something that is asked for is not valid.
        CannotRunError: this machine cannot do it.
        RunFailedError: no run came to its end.
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
) -> StudyResult | CapacityResult:
    """Makes what is missing in a directory of results: the runs of an experiment, or those that a search for capacity
    still asks for. A KeyboardInterrupt ends it as it ends `waspbench.study`.

    Args:
        directory: what `run`, `start`, `study` or `capacity` made, or the command.
        jobs: processes side by side in simulation; the CPUs unless given.
        on_progress: called about once a second.

    Raises:
        InputError: there is nothing to go on with, or it is of another format than this version writes.
        CannotRunError: this machine cannot do it.
        RunFailedError: it could not be finished; what is finished is kept.
    """
    files = Files.of_another(Path(directory))  # a temporary directory stays while its runs are made
    found = opened(Path(directory)).run(jobs=jobs, on_progress=on_progress)
    return found if files is None else with_files(found, files)


def opened(directory: Path) -> Study | CapacityStudy:
    """What was begun in ``directory``. For the errors see `waspbench.runner.pipeline.Pipeline.open`."""
    return CapacityStudy.open(directory) if read_plan(directory).kind == "capacity" else Study.open(directory)
