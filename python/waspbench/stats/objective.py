"""The search for the largest load that meets an objective, in few runs, with the interval of where it ceases to.

A state machine that makes no run, asked and told as `waspbench.stats.capacity.CapacitySearch` is. A run tells what its
figure took of the limit, so that runs on both sides of the crossing say together where it lies.

1. Ascend from the lowest load by factors of four until a run misses the objective. A run that has too few transactions
   to tell is passed over, as are loads at which there would be too few as well, and its load is tried again only if
   nothing else bounds the crossing from below. One run at twice the load that missed it says whether the objective is
   met again there; where that is the lowest load, whether it is the load that misses it.
2. Refine between the largest load that met it and the least that missed it: where the chord of the figure over load
   crosses the limit, or in the middle (in logarithms) where one of the two figures says only the side.
3. Confirm with fresh runs a little below the crossing. A run that misses the objective sends the search down.

The interval is that of the crossing (`waspbench.stats.crossing`), widened to the loads between which the runs
themselves locate it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from waspbench.stats.capacity import BoundsError, ConfirmedSearch, LimitedBy, Phase, Reading, limited_by
from waspbench.stats.crossing import STEEP, Line

ASCENT = 4.0
"""Factor between the loads of the ascent."""
BEYOND = 2.0
"""Factor from the first load of the ascent that missed the objective to the one where it is looked for again."""
INNER = 0.2
"""A new load keeps this part of its interval (in logarithms) from either end."""
FINE = 1.1
"""Factor between the loads that bound the crossing from which no other run is made before the confirmation."""
MARGIN = 2.5
"""Deviations of a run by which the line meets the objective where the confirmation begins."""
EXTREME = math.log(10.0)
"""Logarithm of a figure over its limit from which it tells only the side."""
STEP = 1.1
"""Factor whose root the confirmation goes down by from a load that missed the objective, at least."""
DOWN = 1.3
"""Factor by which it begins lower at most, where noise asks for it."""
DOUBLED = 1.8
"""Growth of throughput with twice the load from which nothing is full at either."""
RESERVE = 1
"""Runs that are kept beside those of a confirmation, for one that sends the search down."""

Outcome = Literal["found", "not reached", "emulator", "none"]
"""How a search ended: with a load above which the objective is missed; with the highest load, which still meets it;
with a load above which the emulator was the limit and no run told of the server; or with no load that is shown to meet
the objective.
"""


@dataclass(frozen=True)
class Crossing:
    """What a search for the largest load that meets an objective found."""

    outcome: Outcome
    load: float | None
    """The largest load that met the objective, below the first that missed it; None if none did."""
    interval: tuple[float, float | None] | None
    """The loads between which the objective ceases to be met (90 %); the upper one is None where it was not reached."""
    limit: float | None
    """Least load at which a run missed the objective, failed, or had the emulator as its bottleneck."""
    limited_by: LimitedBy | None
    again: float | None
    """Least load above the interval at which the objective was met again."""
    confirmed: bool
    """Whether all fresh runs at ``load`` met the objective."""
    runs: int
    refined: bool
    """Whether the crossing was narrowed down as far as a search does; else it was out of runs before."""
    at_any: bool
    """Whether no load was found because the objective is missed at any: with twice the lowest one throughput is twice
    as large, and the figure grows so little that it is above its limit without load, too, if it grows ever faster.
    """


@dataclass
class ObjectiveSearch(ConfirmedSearch):
    """Searches from ``low`` to ``high`` with at most ``most`` runs, ``confirm`` of them fresh ones at the end.
    ``whole`` says that loads are whole numbers.
    """

    low: float
    high: float
    most: int = 15
    confirm: int = 4
    whole: bool = True
    readings: list[Reading] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high:
            raise BoundsError("low", self.low, f"must lie from above 0 to high, which is {self.high:g}")
        self._check_runs()

    @property
    def may_leave_open(self) -> bool:
        """Whether the next run need not tell if it met the objective: one of the ascent, at a load that is new."""
        phase, load = self._next()
        return phase == "bracket" and load is not None and not self._at(load)

    def found(self) -> Crossing | None:
        """What was found, once the search is over."""
        if self.phase() != "done":
            return None
        limit, load = self._limit(), self._answer()
        by = limited_by(self.readings, limit)
        outcome = self._outcome(load)
        at_load = [reading for reading in self.readings if reading.load == load and reading.confirming]
        interval = None if load is None else self._whole(*self._interval(load, outcome))
        return Crossing(
            outcome=outcome,
            load=load,
            interval=interval,
            limit=limit,
            limited_by=by,
            again=self._again(interval),
            confirmed=len(at_load) >= self.confirm and all(reading.good for reading in at_load),
            runs=len(self.readings),
            refined=outcome != "found" or self._refined() is None,
            at_any=outcome == "none" and self._at_any(),
        )

    def _outcome(self, load: float | None) -> Outcome:
        if load is None:
            return "none"
        if any(above > load for above in self._missed()):
            return "found"
        return "not reached" if self._limit() is None else "emulator"

    def _at_any(self) -> bool:
        """Whether the objective is missed at any load, as far as the lowest one and twice as much tell."""
        here, there = self._at(self.low), self._at(round(BEYOND * self.low))
        told = [reading.ratio for reading in [*here, *there] if reading.counts and reading.ratio is not None]
        if not there or len(told) < len(here) + len(there):
            return False
        grew = there[-1].throughput >= DOUBLED * sum(reading.throughput for reading in here) / len(here)
        # The figure of a queue is a convex function of the load: down to no load it falls by no more than it rose.
        return grew and 2 * sum(told[: len(here)]) / len(here) - told[-1] > 1

    # What is next.

    def _next(self) -> tuple[Phase, float | None]:
        last = self.readings[-1] if self.readings else None
        if last is not None and last.confirming and last.good:
            made = sum(reading.confirming and reading.load == last.load for reading in self.readings)
            over = made >= self.confirm or len(self.readings) >= self.most
            return ("done", None) if over else ("confirm", last.load)
        left = self.most - self.confirm - len(self.readings)
        if left > 0 and (load := self._climbing()) is not None:
            return "bracket", load
        if left > RESERVE and (load := self._refined()) is not None:
            return "refine", load
        load = self._to_confirm() if len(self.readings) < self.most else None
        return ("done", None) if load is None else ("confirm", load)

    def _ladder(self) -> list[float]:
        """The loads of the ascent."""
        loads, load = [self.low], self._rounded(self.low * ASCENT)
        while load < self.high:
            loads.append(load)
            load = self._rounded(load * ASCENT)
        return loads if self.high == self.low else [*loads, self.high]

    def _climbing(self) -> float | None:
        """The next load of the ascent; or the lowest again, where nothing else would be tried; or one beyond the first
        that missed the objective; or that one again, where the objective is met beyond; or one that has not told, where
        no other met it.
        """
        for load in self._ladder():
            here = self._at(load)
            if not here and load < self._telling():
                continue
            if not here:
                return load
            if not here[-1].bad:
                continue
            if load == self.low and len(here) == 1:
                return load
            if not here[-1].counts and not here[-1].failed:
                break  # the emulator would be the limit of higher loads as well
            above = [other for at, other in self._last().items() if at > load]
            if load < self.high and not above and not (load == self.low and here[-1].failed):
                return self._beyond(load)
            if any(other.good for other in above) and len(here) == 1:
                return load
            break
        return self._open()

    def _beyond(self, load: float) -> float:
        """The load above one that missed the objective at which it is looked for again."""
        return min(self._rounded(load * BEYOND), self.high)

    def _open(self) -> float | None:
        """The largest load of the ascent below the limit that has not told whether it meets the objective, where no
        other load below the limit has met it, or where there is no limit and this is the highest.
        """
        lower, limit = self._bounds()
        passed_over = [load for load in self._ladder() if not self._at(load) and (limit is None or load < limit)]
        below = max([*passed_over, *([untold] if (untold := self._untold(limit)) is not None else [])], default=None)
        if below is None or (lower is not None and (limit is not None or lower > below)):
            return None
        return below

    def _telling(self) -> float:
        """The least load at which a run of the ascent can tell, by those that could not; but no more than the most."""
        return min(self.high, max((reading.tells_from or 0.0 for reading in self.readings), default=0.0))

    def _untold(self, limit: float | None) -> float | None:
        """The largest load below ``limit`` that has not told whether it meets the objective."""
        untold = [load for load, reading in self._last().items() if not reading.good and not reading.bad]
        return max((load for load in untold if limit is None or load < limit), default=None)

    def _at(self, load: float) -> list[Reading]:
        """The runs at a load before the confirmation."""
        return [reading for reading in self.readings if reading.load == load and not reading.confirming]

    def _refined(self) -> float | None:
        """The load that says most of the crossing; None when it is known well enough."""
        lower, limit = self._bounds()
        if lower is None or limit is None or limit / lower <= FINE or (self.whole and limit - lower <= 1):
            return None
        part = min(max(self._part(lower, limit), INNER), 1 - INNER)
        load = self._rounded(lower * (limit / lower) ** part)
        return min(max(load, lower + 1), limit - 1) if self.whole else load

    def _part(self, lower: float, limit: float) -> float:
        """Where the crossing lies between two loads, as a part of their distance in logarithms: on the line through the
        loads that missed the objective, because a queue that has begun to grow does so with each client; else on the
        chord of the figure over load; else in the middle. Where two runs lay on one side, the curve is bent, and the
        next is farther towards the other.
        """
        at = self._prolonged(lower, limit) or self._on_chord(lower, limit)
        if at is None:
            return 0.5
        part = math.log(at / lower) / math.log(limit / lower)
        climbed = {*self._ladder(), *(self._beyond(load) for load in self._ladder())}
        last = [reading.good for reading in self.readings[-2:] if reading.load not in climbed]
        if len(last) < 2 or last[0] != last[1]:
            return part
        return (part + 1) / 2 if last[0] else part / 2

    def _on_chord(self, lower: float, limit: float) -> float | None:
        """Where the line from the largest load that met the objective to the least that missed it meets the limit."""
        here, there = self._ratio(lower), self._ratio(limit)
        if here is None or there is None or not here < 1 < there < math.exp(EXTREME):
            return None
        return lower + (limit - lower) * (1 - here) / (there - here)

    def _prolonged(self, lower: float, limit: float) -> float | None:
        """Where the line through the two least loads that missed the objective meets the limit, prolonged downwards."""
        beyond = sorted(load for load in self._failing() if load > limit)
        here, there = self._ratio(limit), self._ratio(beyond[0]) if beyond else None
        if here is None or there is None or there <= here:
            return None
        at = limit - (beyond[0] - limit) * (here - 1) / (there - here)
        return at if lower < at < limit else None

    def _ratio(self, load: float) -> float | None:
        """What the figure took of its limit in the last run at a load."""
        return self._last()[load].ratio

    def _to_confirm(self) -> float | None:
        """The load for fresh runs: the largest that met the objective, and where the line through the nearest runs
        lies as far below the limit as noise asks for; None if there is none left. Where none below the limit has met
        it, and one has not told, it is a step below the one that missed it.
        """
        lower, limit = self._bounds()
        if lower is None:
            below = self._untold(limit)
            if below is None or limit is None:
                return below
            return max(below, self._rounded(limit / STEP, down=True))
        if limit is None:
            return lower
        if limit <= self.low:
            return None
        line = self._line(lower, limit)
        tried = any(reading.confirming for reading in self.readings)
        start = limit / STEP**0.5 if tried else lower
        load = start if line is None else min(start, max(line.load_below(MARGIN), start / DOWN))
        load = self._rounded(min(load, limit - 1) if self.whole else load, down=True)
        return max(load, self.low)

    # What is known.

    def _rounded(self, load: float, *, down: bool = False) -> float:
        if self.whole:
            return math.floor(load) if down else round(load)
        if not down:
            return float(f"{load:.3g}")
        digit = math.floor(math.log10(load)) - 2
        return float(f"{math.floor(load / 10.0**digit)}e{digit}")

    def _last(self) -> dict[float, Reading]:
        """The last run at each load."""
        return {reading.load: reading for reading in self.readings}

    def _missed(self) -> list[float]:
        """The loads of runs that were too much for the server: they missed the objective, or failed."""
        return [reading.load for reading in self.readings if reading.bad and (reading.counts or reading.failed)]

    def _failing(self) -> list[float]:
        """The loads whose last run missed the objective, or did not count."""
        return [load for load, reading in self._last().items() if reading.bad]

    def _limit(self) -> float | None:
        return min(self._failing(), default=None)

    def _bounds(self) -> tuple[float | None, float | None]:
        """The largest load that met the objective below the first that missed it, and that one."""
        limit = self._limit()
        met = [reading.load for reading in self.readings if reading.good and (limit is None or reading.load < limit)]
        return max(met, default=None), limit

    def _answer(self) -> float | None:
        confirming = [reading for reading in self.readings if reading.confirming]
        if confirming and confirming[-1].good:
            return confirming[-1].load
        return self._bounds()[0]

    def _told(self) -> list[tuple[float, float]]:
        """Load, and figure over limit, of the runs that tell it."""
        return [
            (reading.load, reading.ratio)
            for reading in self.readings
            if reading.counts and reading.meets is not None and reading.ratio
        ]

    def _line(self, low: float, high: float) -> Line | None:
        """The line through the runs near the middle between two loads."""
        points = [(math.log(load), math.log(ratio)) for load, ratio in self._told()]
        return Line.through(points, math.log(math.sqrt(low * high)))

    def _interval(self, load: float, outcome: Outcome) -> tuple[float, float | None]:
        """The crossing's interval, widened to the answer and to the loads between which the runs do not agree."""
        if outcome != "found":
            return load, None
        missed = self._missed()
        top = min(set(self._ladder()) & set(missed) & set(self._failing()), default=max(missed))
        met = [reading.load for reading in self.readings if reading.good and reading.load <= top]
        least = min(missed)
        low = min(load, max((each for each in met if each < least), default=self.low))
        high = min((each for each in missed if each > max(met)), default=top)
        line = self._line(low, high)
        if line is None:
            return low, high
        surely = self._surely()
        ends = line.interval() or surely
        ends = max(ends[0], surely[0]), min(ends[1], surely[1])
        return min(low, ends[0]), max(high, ends[1])

    def _whole(self, low: float, high: float | None) -> tuple[float, float | None]:
        """An interval with ends that are loads."""
        return (math.floor(low), high and math.ceil(high)) if self.whole else (low, high)

    def _surely(self) -> tuple[float, float]:
        """The largest load that met the objective, and the least that missed it, by more than noise can; or else the
        bounds of the search.
        """
        missed = min((load for load, ratio in self._told() if ratio >= math.exp(STEEP)), default=self.high)
        met = (load for load, ratio in self._told() if ratio <= math.exp(-STEEP) and load < missed)
        return max(met, default=self.low), missed

    def _again(self, interval: tuple[float, float | None] | None) -> float | None:
        if interval is None or interval[1] is None:
            return None
        top = interval[1]
        return min((reading.load for reading in self.readings if reading.good and reading.load > top), default=None)
