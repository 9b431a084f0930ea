"""Live runs against the yardstick: the same requests by WASP and by wrk, in turns, compared pair by pair."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import waspbench
import wrk
from repeats import repeated
from usage import cpu_times, cpu_use, product, share
from waspbench import live as testbeds
from waspbench.experiment import Experiment, parse, path_of
from waspbench.testbed import Placement, TestbedSpec, cpus, live_support, long_backlog
from waspbench.testbed.errors import CannotDoIt

CLIENTS = 64
FILE_SIZE = "1KiB"

_STEAL = 0.02
"""Part of the CPUs' time that the hypervisor may take, as in a run of WASP."""
_LOOK = 0.5
"""Seconds to see what else the machine is doing."""


@dataclass(frozen=True)
class Workload:
    """Requests of one kind."""

    name: str
    goal: float
    """What the median ratio should reach."""
    requests_per_connection: int | None
    """None keeps connections for ever."""
    headers: tuple[str, ...]
    """What makes wrk do the same."""


KEEP_ALIVE = Workload("keep-alive", 1.0, None, ())
ONE_PER_CONNECTION = Workload("one request a connection", 1.3, 1, ("Connection: close",))


@dataclass(frozen=True)
class Side:
    """One generator's run."""

    requests_per_s: float
    server_busy: float | None
    """Part of its time that the server's CPU was busy, from 0 to 1."""
    server_us_per_request: float | None
    """CPU microseconds on the server's CPU for each request, kernel included."""
    generator_busy: float | None
    """Part of the time that the generator's thread was on its CPU, from 0 to 1, kernel included."""
    generator_us_per_request: float | None
    steal: float | None
    """Part of the server's CPU that the hypervisor took."""
    lag_p99_us: float | None
    """How late WASP wrote packets; None for wrk."""
    complaints: tuple[str, ...]
    """Why not to trust the run."""


@dataclass(frozen=True)
class Pair:
    """Two runs, one after the other."""

    wasp: Side
    wrk: Side
    others_busy: float
    """Part of their time that all CPUs were busy just before, from 0 to 1: what else this machine was doing."""

    @property
    def counts(self) -> bool:
        """Whether nothing speaks against either run."""
        return not (self.wasp.complaints or self.wrk.complaints)

    @property
    def ratio(self) -> float:
        """WASP's requests to wrk's."""
        return self.wasp.requests_per_s / self.wrk.requests_per_s


@dataclass(frozen=True)
class Comparison:
    """All pairs of a workload."""

    workload: Workload
    pairs: tuple[Pair, ...]

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Median, least and greatest of the paired ratios that count, or of all if none does."""
        ratios = [pair.ratio for pair in self.pairs if pair.counts] or [pair.ratio for pair in self.pairs]
        return median(ratios), min(ratios), max(ratios)


@dataclass(frozen=True)
class Duel:
    """What is the same for all pairs."""

    placement: Placement
    seconds: int
    warm_up: int
    """Seconds that WASP runs before each measurement; wrk has its own."""

    def compare(self, workload: Workload, pairs: int, say: Callable[[str], None]) -> Comparison:
        """Runs WASP and wrk in turns, the other one first each time, until so many ``pairs`` count or no retry is left.

        Raises:
            CannotDoIt: something is missing.
            TestbedError, RunFailedError: a run failed.
        """

        def pair(number: int) -> Pair:
            first, second = (self._wasp, self._wrk) if number % 2 == 0 else (self._wrk, self._wasp)
            others = _busy_now()
            sides = {run: run(workload) for run in (first, second)}
            found = Pair(sides[self._wasp], sides[self._wrk], others)
            so = "" if found.counts else ", does not count"
            say(f"{workload.name}, pair {number + 1}: ratio {found.ratio:.2f}{so}")
            return found

        return Comparison(workload, tuple(repeated(pairs, pair, lambda found: found.counts)))

    def _wasp(self, workload: Workload) -> Side:
        show = cpus.show_list
        result = waspbench.run(
            self._experiment(workload),
            mode="live",
            server_cpus=show(self.placement.server),
            emulator_cpus=show(self.placement.emulator),
        )
        if result.interrupted:
            raise KeyboardInterrupt
        complaints = [reason.message for reason in result.invalid_reasons]
        complaints += [f"{count} {outcome}" for outcome, count in result.outcomes.items() if count and outcome in _BAD]
        return _side(
            result.throughput.mean,
            len(self.placement.server),
            result.server_cpu.busy,
            result.server_cpu.steal,
            result.emulator.cpu,
            lag_p99_us=result.emulator.lag_us.p99,
            complaints=complaints,
        )

    def _wrk(self, workload: Workload) -> Side:
        with long_backlog(), wrk.Yardstick(self.spec(workload)) as yardstick:
            found = yardstick.measure(path_of(FILE_SIZE), self.seconds, CLIENTS, workload.headers)
        return _side(
            found.requests_per_s,
            len(self.placement.server),
            found.server.busy,
            found.server.steal,
            found.client_busy,
            complaints=[*([f"{found.errors} errors"] if found.errors else []), *_stolen(found.server.steal)],
        )

    def spec(self, workload: Workload) -> TestbedSpec:
        """The testbed of both sides."""
        return testbeds.managed(self._experiment(workload), self.placement)

    def _experiment(self, workload: Workload) -> Experiment:
        http = {"requests_per_connection": workload.requests_per_connection}
        document: dict[str, Any] = {
            "name": "perf",
            "server": {"kind": "nginx", "congestion": "cubic"},
            "workload": {"kind": "single", "size": FILE_SIZE},
            "clients": [{"count": CLIENTS, "rtt": "0ms", "http": http}],
            "measure": {"warmup": f"{self.warm_up}s", "duration": f"{self.seconds}s", "runs": 1},
        }
        return parse(document)


_BAD = ("http_error", "malformed", "refused", "reset", "timed_out", "truncated")


def require() -> None:
    """Finds out whether live runs and their yardstick can be made here.

    Raises:
        CannotDoIt: names what is missing.
    """
    support = live_support()
    if not support.ok:
        raise CannotDoIt(support.why)
    wrk.require()


def _busy_now() -> float:
    before = cpu_times()
    time.sleep(_LOOK)
    return cpu_use(before, before, cpu_times()).busy


def _stolen(steal: float | None) -> list[str]:
    return [f"the hypervisor took {share(steal)} of the CPUs"] if steal is not None and steal > _STEAL else []


def _side(
    rate: float,
    server_cpus: int,
    busy: float | None,
    steal: float | None,
    generator: float | None,
    *,
    lag_p99_us: float | None = None,
    complaints: list[str],
) -> Side:
    per_request = 1e6 / rate if rate else None
    return Side(
        requests_per_s=rate,
        server_busy=busy,
        server_us_per_request=product(busy, server_cpus, per_request),
        generator_busy=generator,
        generator_us_per_request=product(generator, per_request),
        steal=steal,
        lag_p99_us=lag_p99_us,
        complaints=tuple(complaints),
    )
