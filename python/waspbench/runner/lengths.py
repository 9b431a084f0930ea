"""Finding lengths of warm-up and measured interval that do (``auto``): a state machine that says what pilot to make
next, and makes none itself. Ask `LengthSearch.next`, tell `LengthSearch.tell`.

A pilot is a run that is in no figure. What it is too short for makes the next one longer. Once one is long enough, a
run twice as long has to agree: chance lets a short run pass where a long one does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from waspbench.results.lengths import FoundLengths, Pilot, PilotGroup, Want, rounded, spent

LONGEST = 1800.0
"""Longest warm-up, and longest measured interval, in seconds that are found."""

SETTLING = 300.0
"""Longest warm-up in seconds that is tried for throughput to settle: what takes longer may never end."""

MOST = 7200.0
"""Seconds of all pilots together after which the search gives up."""

GROWTH = 1.5
"""Ratio at least of a pilot's length to that of the one before, without a warm-up that is given: all together then take
five times the last but one at most.
"""

MOST_GROWTH = 10.0
"""Ratio at most by which an interval grows: a short pilot knows little of how long a much longer one should be."""

AGREED = 0.05
"""Relative difference of throughput, and of mean response time, up to which two pilots agree."""

SETTLES = {
    "warmup": "throughput to settle",
    "opening": "all connections to be opened",
    "windows": "congestion windows to converge",
}
"""What a longer warm-up helps against, by code of the reason, in words."""

SHOWS = {
    "few": "enough transactions to end",
    "too_few": "enough transactions to end",
    "silent": "a transaction of each group to end",
    "cycles": "clients that go in step",
    "near_capacity": "a queue near its capacity",
    "censored": "the longest transactions",
}
"""The same of a longer interval."""


@dataclass(frozen=True)
class PilotLengths:
    """Those of a pilot, in seconds."""

    warmup: float
    duration: float

    @property
    def total(self) -> float:
        """Of both."""
        return self.warmup + self.duration


class LengthSearch:
    """Which pilots to make until the lengths in ``fields`` (of ``measure``: warmup, duration) are found. A warm-up that
    is not among them stays as in ``first``; an interval that is not is the pilots' own.
    """

    def __init__(self, fields: Sequence[str], first: PilotLengths) -> None:
        self.fields = tuple(fields)
        self.next = first
        """Lengths of the next pilot."""
        self.pilots: list[Pilot] = []
        """Those that were made."""
        self.found: FoundLengths | None = None
        self.given_up: str | None = None
        """Why no lengths were found, where the search ended without any."""
        self._unconfirmed: Pilot | None = None

    @property
    def over(self) -> bool:
        """Whether no other pilot is to be made."""
        return self.found is not None or self.given_up is not None

    def tell(self, pilot: Pilot) -> None:
        """What the next pilot said."""
        self.pilots.append(pilot)
        before, self._unconfirmed = self._unconfirmed, None
        unlike = None if before is None else differing(before, pilot)
        if pilot.wants:
            self._lengthen(pilot)
        elif before is not None and unlike is None:
            self._end(before)
        elif unlike is not None and self._is_longest(pilot):
            self._give_up(f"runs of {rounded(pilot.length_s / 2)} and of {rounded(pilot.length_s)} differ in {unlike}")
        else:
            self._confirm(pilot, unlike)

    def _end(self, pilot: Pilot) -> None:
        warmup = pilot.warmup_s if "warmup" in self.fields else None
        interval = pilot.duration_s if "duration" in self.fields else None
        self.found = FoundLengths(warmup_s=warmup, duration_s=interval, why=pilot.hopeless, pilots=self.pilots)

    def _is_longest(self, pilot: Pilot) -> bool:
        """Whether a length of the pilot is more than may be found."""
        found = {"warmup": pilot.warmup_s, "duration": pilot.duration_s}
        return any(found[field] > LONGEST for field in self.fields)

    def _confirm(self, pilot: Pilot, unlike: str | None) -> None:
        """Tries a run twice as long."""
        self._unconfirmed = pilot
        warmup = 2 * pilot.warmup_s if "warmup" in self.fields else pilot.warmup_s
        self._try(PilotLengths(warmup, 2 * pilot.duration_s), unlike or "a run twice as long")

    def _lengthen(self, pilot: Pilot) -> None:
        refused = next((why for want in pilot.wants if (why := self._refused(pilot, want)) is not None), None)
        if refused is not None:
            self._give_up(refused)
            return
        warmup = self._longer_warmup(pilot)
        following = PilotLengths(warmup, self._longer_interval(pilot, warmup))
        self._try(following, (SETTLES | SHOWS)[pilot.wants[0].code])

    def _longer_warmup(self, pilot: Pilot) -> float:
        if "warmup" not in self.fields:
            return pilot.warmup_s
        wanted = [min(want.warmup_s or 0.0, longest_warmup(want)) for want in pilot.wants]
        return max([pilot.warmup_s, *map(math.ceil, wanted)])

    def _longer_interval(self, pilot: Pilot, warmup: float) -> float:
        own = pilot.duration_s
        wanted = max(_interval(pilot, want) for want in pilot.wants)
        # An interval as long as the warm-up shows what has not settled in it.
        least = max(warmup, GROWTH * pilot.length_s - warmup) if "warmup" in self.fields else GROWTH * own
        return max(own, min(math.ceil(max(least, min(wanted, MOST_GROWTH * own))), LONGEST))

    def _refused(self, pilot: Pilot, want: Want) -> str | None:
        """Why no length that may be found does for what a pilot was too short for."""
        limit, words = longest_warmup(want), (SETTLES | SHOWS)[want.code]
        if want.code in SETTLES and want.warmup_s is None and want.duration_s is None:
            return f"no warm-up of up to 2h is enough for {words}"
        warmup = want.warmup_s or 0.0
        if "warmup" in self.fields and (warmup > 2 * limit or warmup > pilot.warmup_s >= limit):
            return f"{rounded(limit)} are not enough for {words}"
        if _interval(pilot, want) > pilot.duration_s >= LONGEST:
            return f"{rounded(LONGEST)} are not enough for {words}"
        return None

    def _try(self, lengths: PilotLengths, what: str) -> None:
        if sum(pilot.length_s for pilot in self.pilots) + lengths.total > MOST:
            self._give_up(f"pilot runs of {rounded(MOST)} are not enough for {what}")
        else:
            self.next = lengths

    def _give_up(self, why: str) -> None:
        fields, given = " and ".join(self.fields), " and ".join(f"measure.{field}" for field in self.fields)
        self.given_up = f"{fields} auto: {why}, after {spent(self.pilots)}; give {given}"


def longest_warmup(want: Want) -> float:
    """Seconds of the longest warm-up for it."""
    return SETTLING if want.code == "warmup" else LONGEST


def _interval(pilot: Pilot, want: Want) -> float:
    """Seconds of the interval that would do, or may; 0 where a longer one is not what helps."""
    unknown = want.warmup_s is None and want.duration_s is None
    return 2 * pilot.duration_s if unknown else want.duration_s or 0.0


def differing(one: Pilot, other: Pilot) -> str | None:
    """In what two pilots differ by more than 5 % and more than chance explains; None if they agree."""
    if one.hopeless or other.hopeless:
        return None if one.hopeless and other.hopeless else "whether any length helps"
    for mine, theirs in zip(one.groups, other.groups, strict=True):
        where = f" of group {mine.name}" if len(one.groups) > 1 else ""
        for name, differs in (("throughput", _throughput_differs), ("mean response time", _mean_differs)):
            if differs(mine, theirs):
                return f"the {name}{where}"
    return None


def _throughput_differs(one: PilotGroup, other: PilotGroup) -> bool:
    return _differ(one.throughput, other.throughput, one.throughput_error, other.throughput_error)


def _mean_differs(one: PilotGroup, other: PilotGroup) -> bool:
    return _differ(one.mean_ms or 0.0, other.mean_ms or 0.0, one.mean_error, other.mean_error)


def _differ(one: float, other: float, error: float | None, others: float | None) -> bool:
    if not one or not other:
        return one != other
    return abs(one / other - 1) > max(AGREED, math.hypot(error or 0.0, others or 0.0))


def longer(own: float, wants: Sequence[Want]) -> float:
    """Seconds of the measured interval to try next, of up to 30 min, after one of ``own`` seconds with ``wants``."""
    wanted = max(want.duration_s or 2 * own for want in wants)
    return float(math.ceil(min(max(wanted, GROWTH * own), LONGEST)))
