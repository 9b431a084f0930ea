"""The search for a server's capacity: the largest throughput over load (paper 000, section 4.4) in few runs.

A state machine that makes no run: ask `CapacitySearch.next_load`, run there, `tell` what was found, until there is no
next load. The paper varies the clients from 8 to 4,096 in powers of two and takes the maximum of noisy points, which
is too high on average; here single runs find the load, and fresh runs there (the confirmation) measure it.

1. Bracket: three loads an eighth of the range (in logarithms a third) apart, and the lowest if the first was best.
2. Refine, while something is to be gained: next is the load at which throughput could be largest. Clients that wait
   for each response cannot let throughput grow faster than their number, and a curve that bends only down lies below
   the prolonged chords of its neighbours; noise widens both. Where those bounds leave nothing to gain, a collapse
   just above the best load is looked for by bisection.
3. Confirm: fresh runs at the best load, which alone make the figure.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from waspbench.stats.intervals import mean_interval
from waspbench.stats.levels import LEVEL

NOISE = 0.03
"""Relative deviation of a run's throughput that the bounds allow for."""
SLACK = 1.5
"""Standard errors by which a chord's slope may be off."""
COLLAPSE_SLACK = 0.5
"""The same when looking for a collapse."""
WORTH = 0.03
"""Relative gain in throughput that is worth another run."""
INNER = 0.3
"""A new load keeps this part of its interval (in logarithms) from either end."""
NEAR = 0.1
"""Loads so close in logarithms lend each other weight in the choice of the best."""

LimitedBy = Literal["objective", "emulator", "failed"]
"""What spoke against a load: it did not meet the objective, the emulator was the bottleneck, or a run failed."""

More = Literal["below", "above"]
"""Below the least, or above the most of the loads that were tried."""

Phase = Literal["bracket", "refine", "confirm", "done"]


@dataclass(frozen=True)
class Reading:
    """What a run at a load found."""

    load: float
    throughput: float
    meets: bool | None = True
    """Whether it met the objective; None where it has too few transactions to tell."""
    counts: bool = True
    """Whether the server could show what it can: not if the emulator was the bottleneck or the run failed."""
    confirming: bool = False
    failed: bool = False
    tells_from: float | None = None
    """Where it has too few transactions, the load from which on a run as long may have enough: they grow no faster than
    the load.
    """
    ratio: float | None = None
    """What its figure took of the objective's limit: above 1 it missed the objective; None where that is not known."""

    @property
    def good(self) -> bool:
        """Whether it counts and met the objective."""
        return self.counts and self.meets is True

    @property
    def bad(self) -> bool:
        """Whether it does not count, or missed the objective."""
        return not self.counts or self.meets is False


@dataclass(frozen=True)
class Capacity:
    """What a search found."""

    load: float
    """Clients at which throughput is largest."""
    values: list[float]
    """Throughput of the confirming runs."""
    mean: float
    interval: tuple[float, float] | None
    edge: Literal["low", "high"] | None
    """At which end of the range the best load lies, if it does: capacity may be larger beyond."""
    limit: float | None
    """Least load at which a run failed, did not meet the objective, or had the emulator as its bottleneck; None if
    there is none.
    """
    limited_by: LimitedBy | None
    confirmed: bool
    """Whether fresh runs were made to confirm it, and all of them counted and met the objective."""
    runs: int
    """Runs made in all."""
    bound: float
    """Throughput that loads between those which were tried may have at most, by what is known of the curve."""
    more: More | None
    """On which side of them throughput may be larger by `WORTH` or more; None on neither."""


def limited_by(readings: Sequence[Reading], limit: float | None) -> LimitedBy | None:
    """What speaks against the load ``limit``; None if there is none."""
    if limit is None:
        return None
    bad = [reading for reading in readings if reading.load == limit and reading.bad]
    if any(reading.failed for reading in bad):
        return "failed"
    return "emulator" if any(not reading.counts for reading in bad) else "objective"


class BoundsError(ValueError):
    """A bound of a search is not valid.

    Attributes:
        field: the bound.
        value: what it is.
        message: what would be valid.
    """

    def __init__(self, field: str, value: float, message: str) -> None:
        super().__init__(field, value, message)
        self.field, self.value, self.message = field, value, message

    def __str__(self) -> str:
        return f"{self.field}: {self.value}: {self.message}"


class ConfirmedSearch(ABC):
    """What searches that end with fresh runs have in common: how they are asked and told.

    Call `next_load`, and `tell` for the load that it named, in turn; ``found`` when it names none. What it asks follows
    from what it was told alone, so a search is resumed by telling it its readings again.
    """

    most: int
    """Runs at most."""
    confirm: int
    """How many of them confirm what was found."""
    readings: list[Reading]

    def _check_runs(self) -> None:
        if self.confirm < 1:
            raise BoundsError("confirm", self.confirm, "must be at least 1")
        if self.most < self.confirm + 4:
            message = f"must be at least {self.confirm + 4}, the confirming runs and 4"
            raise BoundsError("most", self.most, message)

    def tell(self, reading: Reading) -> None:
        """Takes in what the run at `next_load` found.

        Raises:
            ValueError: another load was asked for, or whether it met the objective is not said and must be.
        """
        phase, asked = self._next()
        if reading.load != asked:
            raise ValueError(f"load: {reading.load}: {asked} was asked for")
        if reading.meets is None and reading.counts and not self.may_leave_open:
            raise ValueError("meets: must be said of this run")
        self.readings.append(replace(reading, confirming=phase == "confirm"))

    def phase(self) -> Phase:
        """What the next run is for."""
        return self._next()[0]

    def next_load(self) -> float | None:
        """The load of the next run; None when the search is over."""
        return self._next()[1]

    @property
    def may_leave_open(self) -> bool:
        """Whether the next run need not tell if it met the objective."""
        return False

    @abstractmethod
    def _next(self) -> tuple[Phase, float | None]:
        """What the next run is for, and its load; None when the search is over."""


@dataclass
class CapacitySearch(ConfirmedSearch):
    """Searches from ``low`` to ``high`` clients with at most ``most`` runs, ``confirm`` of them to confirm."""

    low: int = 8
    high: int = 4096
    most: int = 15
    confirm: int = 4
    readings: list[Reading] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise BoundsError("low", self.low, f"must lie from 1 to high, which is {self.high}")
        self._check_runs()

    def found(self) -> Capacity | None:
        """The capacity, once the search is over; None if no load counted and met the objective."""
        best = self._confirming()
        if self.phase() != "done" or best is None:
            return None
        confirming = [reading for reading in self.readings if reading.confirming and reading.load == best]
        good = [reading.throughput for reading in confirming if reading.good and reading.throughput > 0]
        if not good:
            return None
        limit = self._limit()
        # A confirming run, or one at a lower load, may have spoken against the load that is the answer.
        spoken_against = limit is not None and best >= limit
        known = self._good() | ({best: float(np.mean(good))} if spoken_against else {})
        curve = _Curve(dict(sorted(known.items())), limit)
        return Capacity(
            load=best,
            values=good,
            mean=float(np.mean(good)),
            interval=mean_interval(good, LEVEL),
            edge="high" if best == self.high else "low" if best == self.low else None,
            limit=limit,
            limited_by=limited_by(self.readings, limit),
            confirmed=len(good) == len(confirming) >= self.confirm,
            runs=len(self.readings),
            bound=curve.highest(),
            more=curve.more(),
        )

    def _next(self) -> tuple[Phase, float | None]:
        best = self._confirming()
        if best is None:
            left = self.most - self.confirm - len(self.readings)
            for load in self._bracket():
                if left > 0 and load not in self._seen():
                    return "bracket", load
            proposed = self._refined() if left > 0 else None
            if proposed is not None:
                return "refine", proposed
            best = self._best()
            if best is None:
                return "done", None
            return "confirm", best
        made = sum(reading.confirming and reading.load == best for reading in self.readings)
        if made >= self.confirm or len(self.readings) >= self.most:
            return "done", None
        return "confirm", best

    def _confirming(self) -> float | None:
        """The load that is being confirmed. If that fails while runs are left, there is none again."""
        confirming = [reading for reading in self.readings if reading.confirming]
        if not confirming:
            return None
        last = confirming[-1]
        if last.good:
            return last.load
        left = self.most - len(self.readings)
        return None if left > 0 and self._best() is not None else last.load

    def _seen(self) -> set[float]:
        return {reading.load for reading in self.readings}

    def _bracket(self) -> list[float]:
        """The loads of the bracket, as far as they are known."""
        step = (self.high / self.low) ** (1 / 3)
        loads: list[float] = sorted({round(self.low * step), round(self.low * step**2), self.high})
        good, limit = self._good(), self._limit()
        if self.low not in loads:
            whole = self._seen() >= set(loads)
            first_is_best = bool(good) and max(good, key=lambda load: good[load]) == min(good)
            if (whole and first_is_best) or (limit is not None and limit <= loads[0]):
                loads.append(self.low)
        return [load for load in loads if limit is None or load < limit or load in self._seen()]

    def _limit(self) -> float | None:
        """The least load that does not count or does not meet the objective; higher ones are taken not to either."""
        return min((reading.load for reading in self.readings if reading.bad), default=None)

    def _good(self) -> dict[float, float]:
        """Mean throughput by load, of the loads below the limit."""
        limit = self._limit()
        values: dict[float, list[float]] = {}
        for reading in self.readings:
            if (limit is None or reading.load < limit) and reading.throughput > 0:
                values.setdefault(reading.load, []).append(reading.throughput)
        return {load: float(np.mean(values[load])) for load in sorted(values)}

    def _best(self) -> float | None:
        """The load with the largest throughput, neighbours within a tenth lending weight against the noise."""
        good = self._good()

        def smoothed(load: float) -> float:
            weights = {other: max(0.0, 1 - abs(math.log(other / load)) / NEAR) for other in good}
            return sum(weights[other] * good[other] for other in good) / sum(weights.values())

        return max(good, key=smoothed) if good else None

    def _refined(self) -> float | None:
        """The load between two known ones where most could be gained; None when that is not worth a run."""
        good = self._good()
        if not good:
            return None
        curve = _Curve(good, self._limit())
        best = max(good, key=lambda load: good[load])
        candidates = [curve.bound(gap, SLACK) for gap in curve.gaps()]
        after = curve.after(best)
        if max((top for top, _ in candidates), default=0.0) < WORTH:
            # Nothing to gain if the curve bends only down; unless it collapses just above the best load.
            candidates = [] if after is None else [curve.bound(after, COLLAPSE_SLACK, collapse=True)]
        gain, load = max(candidates, default=(0.0, 0))
        return load if gain >= WORTH else None


_DOUBLE = math.log(2.0)


class _Curve:
    """What is known of throughput over load, in logarithms."""

    def __init__(self, good: dict[float, float], limit: float | None) -> None:
        self._loads = list(good)
        self._x = [math.log(load) for load in good]
        self._y = [math.log(value) for value in good.values()]
        self._top = max(self._y)
        self._limit = limit

    def gaps(self) -> list[int]:
        """Intervals that hold a load, each by the index of its lower end."""
        return [gap for gap in range(len(self._loads)) if self._end(gap) - self._loads[gap] > 1]

    def after(self, load: float) -> int | None:
        """The interval above ``load``, if it holds any."""
        gap = self._loads.index(load)
        return gap if gap in self.gaps() else None

    def bound(self, gap: int, slack: float, *, collapse: bool = False) -> tuple[float, float]:
        """How much more than the best so far (in logarithms) throughput could be in an interval, and where to look.

        With ``collapse`` what lies above the interval bounds nothing, because it may have fallen.
        """
        width = math.log(self._end(gap)) - self._x[gap]
        rise = min([1.0, *(self._slope(left, gap, slack) for left in range(gap))])
        rise = max(rise, 0.0)
        falls = [-self._slope(gap + 1, right, -slack) for right in range(gap + 2, len(self._loads))]
        if collapse or not falls:
            return self._y[gap] + rise * width - self._top, self._inside(gap, 0.5)
        fall = max(min(falls), 0.0)
        here, there = self._y[gap], self._y[gap + 1]
        at = (there + fall * width - here) / (rise + fall) if rise + fall > 0 else width / 2
        at = min(max(at, 0.0), width)
        top = min(here + rise * at, there + fall * (width - at))
        return top - self._top, self._inside(gap, at / width)

    def highest(self) -> float:
        """Throughput that loads between the known ones may have at most."""
        gain = max((self.bound(gap, SLACK)[0] for gap in self.gaps()), default=0.0)
        return math.exp(self._top + max(gain, 0.0))

    def more(self) -> More | None:
        """Outside of the loads that were tried, where throughput may be larger than the best so far with twice or half
        the clients: above, unless what is known of the curve bends it down enough; below, where it falls from the
        least load on by more than noise explains.
        """
        last = len(self._loads) - 1
        rise = min([1.0, *(self._slope(left, last, SLACK) for left in range(last))])
        if self._limit is None and self._y[last] + max(rise, 0.0) * _DOUBLE - self._top >= WORTH:
            return "above"
        others = range(1, last + 1)
        if not any(self._slope(0, right, SLACK) < 0 for right in others):
            return None
        fall = min(-self._slope(0, right, -SLACK) for right in others)
        return "below" if self._y[0] + fall * _DOUBLE - self._top >= WORTH else None

    def _end(self, gap: int) -> float:
        """The load that ends the interval: the next known one, or the limit, or none above the last."""
        if gap + 1 < len(self._loads):
            return self._loads[gap + 1]
        return self._loads[gap] if self._limit is None else self._limit

    def _slope(self, left: int, right: int, slack: float) -> float:
        width = self._x[right] - self._x[left]
        return (self._y[right] - self._y[left] + slack * NOISE * math.sqrt(2)) / width

    def _inside(self, gap: int, part: float) -> float:
        low, high = self._loads[gap], self._end(gap)
        load = round(low * math.pow(high / low, min(max(part, INNER), 1 - INNER)))
        return min(max(load, low + 1), high - 1)


@dataclass
class CapacitySweep:
    """The paper's way, asked and told as `CapacitySearch` is: ``runs`` runs at each power of two times ``low`` up to
    ``high``, and the largest mean of them all. The maximum of noisy means is too high on average.
    """

    low: int = 8
    high: int = 4096
    runs: int = 3
    readings: list[Reading] = field(default_factory=list)
    may_leave_open: ClassVar[bool] = False
    """As `ConfirmedSearch.may_leave_open`."""

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise BoundsError("low", self.low, f"must lie from 1 to high, which is {self.high}")

    def loads(self) -> list[int]:
        """The loads, in the order of their runs."""
        found, load = [], self.low
        while load <= self.high:
            found.append(load)
            load *= 2
        return found

    @property
    def most(self) -> int:
        """Runs that it makes."""
        return len(self.loads()) * self.runs

    def next_load(self) -> int | None:
        """The load of the next run; None when the sweep is over."""
        loads = self.loads()
        index = len(self.readings) // self.runs
        return loads[index] if index < len(loads) else None

    def tell(self, reading: Reading) -> None:
        """Takes in what the run at `next_load` found.

        Raises:
            ValueError: another load was asked for.
        """
        asked = self.next_load()
        if reading.load != asked:
            raise ValueError(f"load: {reading.load}: {asked} was asked for")
        self.readings.append(reading)

    def found(self) -> Capacity | None:
        """The capacity, once the sweep is over; None if no load counted and met the objective."""
        values: dict[float, list[float]] = {}
        bad = {reading.load for reading in self.readings if reading.bad}
        for reading in self.readings:
            if reading.load not in bad:
                values.setdefault(reading.load, []).append(reading.throughput)
        if self.next_load() is not None or not values:
            return None
        best = max(values, key=lambda load: float(np.mean(values[load])))
        limit = min((load for load in bad if load > best), default=None)
        curve = _Curve({load: float(np.mean(values[load])) for load in sorted(values)}, limit)
        return Capacity(
            load=best,
            values=values[best],
            mean=float(np.mean(values[best])),
            interval=mean_interval(values[best], LEVEL),
            edge="high" if best == self.loads()[-1] else "low" if best == self.low else None,
            limit=limit,
            limited_by=limited_by(self.readings, limit),
            confirmed=False,
            runs=len(self.readings),
            bound=curve.highest(),
            more=curve.more(),
        )
