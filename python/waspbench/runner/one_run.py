"""One run: the engine, and in live mode the testbed around it."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

from waspbench import _core, live
from waspbench.closeable import Closeable
from waspbench.results import Invalid, RunSummary, access_log
from waspbench.testbed import Bed, Presence, Program, ProgramSpec, Spec, Testbed, aside, long_backlog


class OneRun(Closeable):
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

    @property
    def server_ended(self) -> bool:
        """Whether the server under test ended during the run."""
        return self._ended is not None

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
                    update={"invalid": [*summary.invalid, Invalid.of_package("failed", message)]}
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
        """Gives up what is not finished. The log is put where it is to be kept, because it may show what went wrong,
        unless there is one of another attempt, whose figures may be kept.
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
