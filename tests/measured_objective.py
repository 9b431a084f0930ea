"""How often the interval of a search for the largest load under an objective covers the truth, and in how many runs.

The servers are queues whose p99 over load is known; each run's p99 is off by a log-normal factor, and in a run of ten
seconds too few transactions may end to tell it. Every search has a seed of its own and finds the same each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random

from scipy.special import bdtrc

from waspbench.runner.readings import CHANCE
from waspbench.stats.capacity import CapacitySearch, Reading
from waspbench.stats.objective import Crossing, ObjectiveSearch
from waspbench.stats.quantiles import values_needed

SEEDS = 100
SECONDS = 10
"""Measured interval of a run."""
LOW, HIGH = 8, 4096
KINDS = ("clients", "clients without pauses", "rate")
NOISES = (0.0, 0.05, 0.15)


@dataclass(frozen=True)
class Server:
    """A server whose p99, in seconds, and throughput follow from the load."""

    p99: Callable[[float], float]
    throughput: Callable[[float], float]
    truth: float
    """The load at which p99 is a second."""
    whole: bool
    """Whether the load is a number of clients."""


def closed(random: Random) -> Server:
    """Clients that think, before one queue: mean value analysis (M. Reiser and S. Lavenberg, 1980), and the p99 of an
    exponential response time with that mean.
    """
    service, think = 10 ** random.uniform(-3.3, -1.5), 10 ** random.uniform(0.0, 1.0)
    times, rates, queue = [0.0], [0.0], 0.0
    for clients in range(1, HIGH + 1):
        response = service * (1 + queue)
        rates.append(clients / (response + think))
        queue = rates[-1] * response
        times.append(response * math.log(100))
    above = next((clients for clients, time in enumerate(times) if time >= 1), None)
    if above is None or not 20 < above < 3500:
        return closed(random)
    part = (1 - times[above - 1]) / (times[above] - times[above - 1])
    return Server(lambda load: times[round(load)], lambda load: rates[round(load)], above - 1 + part, whole=True)


def busy(random: Random) -> Server:
    """Clients without pauses before one queue, in which all wait: a response takes a service time for each client."""
    service, round_trip = 10 ** random.uniform(-3.3, -1.5), random.uniform(0.01, 0.3)
    truth = (1 - round_trip) / service
    rates = (1 / service, 1 / (round_trip + service))
    return Server(
        lambda load: round_trip + load * service, lambda load: min(rates[0], load * rates[1]), truth, whole=True
    )


def opened(random: Random) -> Server:
    """An M/M/1 queue: p99 is ln 100 / (mu - load), and without bound where the queue has none."""
    while True:
        rate = 10 ** random.uniform(1.0, 3.6)
        truth = rate - math.log(100)
        if 10 < truth < 4000:
            break

    def p99(load: float) -> float:
        return math.log(100) / (rate - load) if load < rate - 1e-3 else 5000 * load / rate

    return Server(p99, lambda load: min(load, rate), truth, whole=False)


@dataclass(frozen=True)
class Search:
    """One search under an objective, and one for throughput before the same server."""

    found: Crossing
    truth: float
    runs_for_throughput: int

    @property
    def covered(self) -> bool:
        """Whether the interval has both ends and covers the truth."""
        low, high = self.found.interval or (0.0, None)
        return high is not None and low <= self.truth <= high

    @property
    def width(self) -> float:
        """Of the interval: its upper end over its lower one."""
        low, high = self.found.interval or (0.0, None)
        return math.inf if high is None or not low else high / low


@cache
def searches(kind: str, noise: float, count: int = SEEDS) -> tuple[Search, ...]:
    """Searches with p99 < 1 s as the objective, each before a server of its own; ``noise`` is the deviation of the
    logarithm of a run's p99, and of its throughput as well.
    """
    return tuple(_search(kind, noise, seed) for seed in range(count))


def surely_missed(ended: int, p99: float, random: Random) -> bool:
    """Whether too many of these transactions took longer than a second for chance, if their times are exponential."""
    longer = sum(random.random() < math.exp(-math.log(100) / p99) for _ in range(ended))
    return longer > 1 and float(bdtrc(longer - 1, ended, 0.01)) < CHANCE


def _search(kind: str, noise: float, seed: int) -> Search:
    random = Random(seed)
    server = {"clients": closed, "clients without pauses": busy, "rate": opened}[kind](random)
    machine = ObjectiveSearch(LOW, HIGH, whole=server.whole)
    while (load := machine.next_load()) is not None:
        value = server.p99(load) * math.exp(noise * random.gauss(0, 1))
        ended = round(SECONDS * server.throughput(load))
        untold = machine.may_leave_open and ended < values_needed(0.99) and not surely_missed(ended, value, random)
        meets, enough = (None, load * values_needed(0.99) / max(ended, 1)) if untold else (value < 1, None)
        machine.tell(Reading(load, server.throughput(load), meets, ratio=value, tells_from=enough))
    found = machine.found()
    assert found is not None
    other = CapacitySearch(LOW, HIGH)
    while (load := other.next_load()) is not None:
        other.tell(Reading(load, server.throughput(load) * math.exp(noise * random.gauss(0, 1))))
    return Search(found, server.truth, len(other.readings))
