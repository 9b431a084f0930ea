"""An experiment from start to result: for each run a fresh testbed (live), the engine, and the results directory.

A `Handle` is driven by whoever holds it: nothing runs beside the engine's own thread, so that Python stays out of the
way of what is measured.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from waspbench import _core, live
from waspbench.closing import Closing
from waspbench.errors import InputError, RunFailedError, WaspError
from waspbench.experiment import Experiment, Mode, accept, load, parse, resolve
from waspbench.experiment.units import AUTO
from waspbench.outcome import manifest_of, result_of
from waspbench.results import Invalid, Reason, Result, RunSummary, Store, access_log, populations_of
from waspbench.results.manifest import now
from waspbench.results.store import LostTablesError
from waspbench.stats import Populations
from waspbench.testbed import Bed, Presence, Program, ProgramSpec, Spec, Testbed, aside, long_backlog
from waspbench.workload.serving import check_log

T = TypeVar("T")

Source = Experiment | Mapping[str, Any] | str | Path
"""An experiment, the content of an experiment file, or the path of one."""


@dataclass(frozen=True)
class Progress:
    """What is going on, as of the last second."""

    run: int
    """Number of the run, from 0."""
    runs: int
    """Number of runs to make."""
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


class OneRun(Closing):
    """One run: the engine, and in live mode the testbed around it. Use it as a context manager, or call `close`."""

    def __init__(self, scenario: dict[str, Any], spec: Spec | None, log_path: Path | None = None) -> None:
        """Starts it. ``log_path`` is where the server's access log is to be kept, if it writes one."""
        self._log_path = log_path
        self._log: BinaryIO | None = None
        self._finished = False
        self._bed: Bed | None = None
        self._presence: Presence | None = None
        self._ended: str | None = None
        self._held = ExitStack()
        self.description: dict[str, Any] = {}
        self.began_ns = 0
        """When the engine was started, in nanoseconds of CLOCK_MONOTONIC."""
        options: dict[str, Any] = {}
        try:
            if spec is not None:
                self._presence = self._held.enter_context(Presence())
                self._held.enter_context(long_backlog())
                self._bed = bed = spec.start()
                self._held.callback(bed.close)
                scenario = {**scenario, "network": {**scenario["network"], "prefix": bed.prefix}, **bed.clock()}
                self.description = bed.describe()
                options = {
                    "device": bed.device_fds,
                    "device_name": bed.device_name,
                    "namespace": bed.namespace(),
                    "emulator_cpus": list(spec.placement.emulator),
                    "server_cpus": bed.server_cpus,
                    "server_pids": bed.server_pids(),
                    **_programs_end(bed),
                }
            self.began_ns = time.monotonic_ns()
            self._engine = _core.start(json.dumps(scenario), **options)
            if spec is not None:
                # Not before: the engine's thread inherits what this one has.
                self._held.enter_context(aside(spec.placement))
                self._log = bed.access_log()
        except BaseException:
            self._take_away()
            raise

    @property
    def done(self) -> bool:
        """Whether the engine is at its end."""
        return self._engine.done()

    def next_sample(self, timeout: float) -> _core.Sample | None:
        """The next second's figures, None when there are none within ``timeout`` seconds.

        When the server under test ends, so does the run; its summary says why.
        """
        sample = self._engine.next_sample(timeout)
        if self._ended is None and self._bed is not None:
            self._ended = self._bed.server_failure()
            if self._ended is not None:
                self._engine.stop()
        return sample

    def stop(self) -> None:
        """Lets the run end as soon as possible."""
        self._engine.stop()

    def start_program(self, spec: ProgramSpec) -> Program:
        """Starts a program among the clients of a run in mode shim. What it wrote is to be read before `finish`."""
        assert isinstance(self._bed, Testbed)
        return self._bed.start_program(spec)

    def await_program(self, program: Program, timeout: float) -> bool:
        """Waits until a program has ended; False if it has not within so many seconds."""
        assert isinstance(self._bed, Testbed)
        return self._bed.await_program(program, timeout)

    def finish(self) -> tuple[RunSummary, dict[str, _core.ArrowTable]]:
        """Waits for the end, and returns the summary and the tables."""
        try:
            outcome = self._engine.wait()
            self._finished = True
            summary = RunSummary.model_validate_json(outcome.summary())
            if self._bed is not None:
                summary = live.accounted(summary.model_copy(update={"notes": self._notes()}), self._bed)
            if self._ended is not None:
                message = f"the server ended during the run: {self._ended}"
                summary = summary.model_copy(
                    update={"invalid": [*summary.invalid, Invalid(code="failed", message=message)]}
                )
            return summary, outcome.tables()
        finally:
            self._take_away()

    def _notes(self) -> list[str]:
        """What else is to be known of a live run."""
        assert self._presence is not None
        shared = ["another live run shared this machine"] if self._presence.met() else []
        return [*self.description["labels"], *shared]

    def keep_log(self) -> list[str]:
        """Puts the server's access log, if there is one, where it is to be kept; after `finish`, and after the tables,
        for which there must be room first. Returns what is to be noted of it.
        """
        log, self._log = self._log, None
        if log is None:
            return []
        with log:
            return [] if self._log_path is None else access_log.keep(log, self._log_path)

    def close(self) -> None:
        """Gives up what is not finished. The log is kept all the same, because it may show what went wrong, unless
        there is one of another attempt, whose figures may be kept.
        """
        try:
            if not self._finished:
                self._give_up()
        finally:
            if self._log_path is not None and self._log_path.exists():
                self._log_path = None
            self.keep_log()

    def _give_up(self) -> None:
        self._finished = True
        self._engine.stop()
        try:
            with suppress(_core.EngineError):  # whatever it says, nobody will use this run
                self._engine.wait()
        finally:
            self._take_away()

    def _take_away(self) -> None:
        self._bed = None
        self._held.close()


def _programs_end(bed: Bed) -> dict[str, Any]:
    """What the engine is told of the device of clients that are programs."""
    if not isinstance(bed, Testbed) or (device := bed.client_device) is None:
        return {}
    return {"client_device": device[0], "client_device_name": device[1], "client_namespace": bed.client_namespace()}


class Handle(Closing):
    """A started experiment. Call ``next_sample`` until ``done``, then ``wait``; ``stop`` at any time ends it early.

    Use it as a context manager, or call ``close``: leaving it takes the testbed away and removes results that were
    not finished.
    """

    def __init__(self, experiment: Experiment, mode: Mode, spec: Spec | None, store: Store | None) -> None:
        self.experiment = experiment
        self.mode = mode
        self._spec = spec
        self._store = store
        self._created = now()
        self._run: OneRun | None = None
        self._description: dict[str, Any] = {}
        self._summaries: list[RunSummary] = []
        self._populations: list[Populations] = []
        self._stopped = False
        self._result: Result | None = None
        self._guarded(self._begin)

    @property
    def done(self) -> bool:
        """Whether nothing is left to run."""
        return self._run is None

    def next_sample(self, timeout: float = 1.0) -> Progress | None:
        """The next second's figures; None when there are none within ``timeout`` seconds or nothing is left to run.

        Raises:
            RunFailedError: the run could not be finished. Earlier runs are kept.
        """
        run, number = self._run, len(self._summaries)
        if run is None:
            return None
        sample = self._guarded(lambda: run.next_sample(timeout))
        if sample is None and run.done:
            self._guarded(self._end)
        return None if sample is None else Progress(number, self.experiment.measure.runs, **sample)

    def stop(self) -> None:
        """Ends the present run as soon as possible and makes no other."""
        self._stopped = self._stopped or not self.done or len(self._summaries) < self.experiment.measure.runs
        if self._run is not None:
            self._run.stop()

    def wait(self) -> Result:
        """Makes what is left and returns the result.

        Raises:
            RunFailedError: a run could not be finished, or nothing was measured before ``stop``. Earlier runs are kept.
        """
        while not self.done:
            self.next_sample()
        if self._result is None:
            if not self._summaries:
                raise RunFailedError("stopped before anything was measured")
            self._finish(self._cut_short())
        assert self._result is not None
        return self._result

    def close(self) -> None:
        """Stops, takes the testbed away, and removes results that were not finished."""
        run, self._run = self._run, None
        try:
            if run is not None:
                run.close()
        finally:
            if self._store is not None and self._result is None:
                self._store.discard()

    def _guarded(self, step: Callable[[], T]) -> T:
        """Takes a step of the run. If it fails the run is given up, and what was measured before is kept."""
        try:
            with live.running():
                return step()
        except WaspError as error:
            raise self._failed(error) from None

    def _failed(self, error: WaspError) -> WaspError:
        run, self._run = self._run, None
        if run is not None:
            with suppress(WaspError), live.running():  # the first failure is the one to report
                run.close()
        if not self._summaries:
            if self._store is not None:
                self._store.discard()
            return error
        self._finish(Reason(run=None, code="failed", message=str(error)))
        kept = None if self._store is None else self._store.path
        return RunFailedError(str(error), kept)

    def _begin(self) -> None:
        number = len(self._summaries)
        scenario = resolve(self.experiment, number, mode=self.mode)
        self._run = OneRun(scenario, self._spec, None if self._store is None else self._store.log_path(number))
        self._description = self._run.description

    def _end(self) -> None:
        """Takes the run's records in, and starts the next run if there is one."""
        run, self._run = self._run, None
        assert run is not None
        with run:
            summary, tables = run.finish()
            number = len(self._summaries)
            if summary.interval_s > 0:
                self._keep(summary.model_copy(update={"run": number}), tables, run)
        if summary.failure is not None:
            raise RunFailedError(summary.failure)
        if not self._stopped and len(self._summaries) < self.experiment.measure.runs:
            self._begin()

    def _keep(self, summary: RunSummary, tables: dict[str, Any], run: OneRun) -> None:
        """Adds a run to what is kept: its figures even where some of its tables cannot be written.

        Raises:
            RunFailedError: they cannot.
        """
        populations = populations_of(tables["histogram"])
        usable = True
        try:
            if self._store is not None:
                self._store.add(summary.run, tables)
        except LostTablesError as error:
            usable = error.usable
            raise
        finally:
            if usable:
                self._summaries.append(summary)
                self._populations.append(populations)
                self._summaries[-1] = summary.noted(run.keep_log())

    def _cut_short(self) -> Reason | None:
        if not self._stopped:
            return None
        wanted, made = self.experiment.measure.runs, len(self._summaries)
        return Reason(
            run=None, code="interrupted", message=f"stopped before all {wanted} runs were made: {made} measured"
        )

    def _finish(self, missing: Reason | None) -> None:
        """Combines the runs and finishes the results directory."""
        scenario = resolve(self.experiment, 0, mode=self.mode)
        result = result_of(
            self.experiment,
            scenario,
            self._summaries,
            self._populations,
            testbed=self._description,
            missing=missing,
            interrupted=missing is not None,
            place=str(self._store.path) if self._store else None,
        )
        if self._store is not None:
            manifest = manifest_of(
                self.experiment,
                result,
                created=self._created,
                testbed=self._description,
                tables=self._store.tables(),
            )
            self._store.finish(manifest)
        self._result = result


def start(
    experiment: Source,
    *,
    mode: Mode | None = None,
    output: str | Path | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
) -> Handle:
    """Starts the first run of an experiment.

    Args:
        experiment: what to run.
        mode: live or sim; unless given the experiment's own, else live where this machine can do it.
        output: directory to make for the results; without it they are only returned.
        server_cpus: CPUs of the server in a live run, such as "0" or "0-1"; chosen unless given.
        emulator_cpus: CPUs of the emulator in a live run, a thread on each; one is chosen unless given.

    Raises:
        InputError: something that is asked for is not valid.
        CannotRunError: this machine cannot do it.
        RunFailedError: the run could not be started.
    """
    asked = check(experiment)
    _single(asked)
    chosen, _ = live.choose_mode(mode, asked)
    live.check_access_log(asked, chosen)
    if asked.server.access_log and output is None:
        raise InputError.at("server.access_log", "is kept with the results; name a directory for them (output)", True)
    placement = live.placement(chosen, server_cpus, emulator_cpus)
    spec = None if placement is None else live.spec(asked, placement)
    return Handle(asked, chosen, spec, None if output is None else Store(Path(output)))


def check(experiment: Source) -> Experiment:
    """The experiment that ``experiment`` means, accepted by the engine too.

    Raises:
        InputError: it is not valid.
    """
    if isinstance(experiment, (str, Path)):
        experiment = load(experiment)
    elif not isinstance(experiment, Experiment):
        experiment = parse(experiment)
    accept(experiment, experiment.mode or "sim")
    check_log(experiment)
    return experiment


def _single(experiment: Experiment) -> None:
    """Refuses what takes more than one point of a fixed number of runs."""
    for field, used in (
        ("sweep", experiment.sweep),
        ("measure.until", experiment.measure.until),
        ("measure.warmup", experiment.measure.warmup == AUTO),
        ("measure.duration", experiment.measure.duration == AUTO),
    ):
        if used:
            raise InputError.at(field, "only wasp run and waspbench.study follow it")


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """A second Ctrl-C must not throw away what is being written because of the first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run(
    experiment: Source,
    *,
    mode: Mode | None = None,
    output: str | Path | None = None,
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Runs an experiment and returns what it found. For the arguments and errors see `start`.

    ``on_progress`` is called once a second. A KeyboardInterrupt ends the experiment early: what was measured is
    returned, marked as interrupted; if nothing was, the interrupt is raised again.
    """
    with start(experiment, mode=mode, output=output, server_cpus=server_cpus, emulator_cpus=emulator_cpus) as handle:
        try:
            while not handle.done:
                progress = handle.next_sample()
                if progress is not None and on_progress is not None:
                    on_progress(progress)
        except KeyboardInterrupt:
            handle.stop()
            try:
                with _deaf_to_interrupts():
                    return handle.wait()
            except RunFailedError:
                raise KeyboardInterrupt from None
        return handle.wait()
