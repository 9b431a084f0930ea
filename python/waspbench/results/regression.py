"""Whether B is slower than A by more than a limit, which is what a job asks that watches changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from waspbench.errors import Argument, InputError
from waspbench.results.check import Check
from waspbench.stats.comparison import Ends, within

if TYPE_CHECKING:
    from waspbench.results.comparing import Compared, ComparisonResult
    from waspbench.results.differences import Difference

CAPACITY = "capacity"
"""The figure of two searches for throughput: that of the runs that confirmed it. Searches for clients or a rate are
compared by what they found, and the figure is called as what they looked for.
"""

LEAST_RUNS = 5
"""Runs on either side below which nothing is decided. Few runs may all share a disturbance, such as a machine that was
slower for a minute, which their interval cannot know.
"""


@dataclass(frozen=True)
class Limit:
    """How much slower B may be: lower in throughput or capacity, or longer in time."""

    text: str
    """As it was given, such as ``slower:5%``."""
    share: float


def limit_of(text: str) -> Limit:
    """The limit in ``text``, such as ``slower:5%``.

    Raises:
        InputError: it is none.
    """
    found = re.fullmatch(r"slower\s*:\s*([0-9]+(?:\.[0-9]+)?)\s*%", text.strip())
    if found is None:
        message = "must be slower: and a share in per cent, such as slower:5%"
        raise InputError.at(Argument("fail_on"), message, text)
    return Limit(text.strip(), float(found[1]) / 100)


def judge(result: ComparisonResult, limit: Limit, *, larger_is_faster: bool) -> list[Check]:
    """A check for each point, and one for the points that are not compared, if there are any.

    It passes where the upper end of the slowdown's 90 % interval is at most the limit, and fails where the lower end is
    above it. Elsewhere it is undecided, and so it is below `LEAST_RUNS` runs a side, and where a result is not valid.

    Raises:
        InputError: no slowdown can be above the limit.
    """
    if larger_is_faster and limit.share >= 1:
        message = f"must be below 100 %: a {result.metric} cannot be lower by more than all of it"
        raise InputError.at(Argument("fail_on"), message, limit.text)
    condition = f"{result.metric} {limit.text}"
    apart = [*result.not_comparable, *(_modes(each) for each in result.differences if each.field == "mode")]
    more = f" (--confirm {LEAST_RUNS} of wasp capacity)" if result.metric == CAPACITY else ""
    checks = [
        _check(index, point, condition, limit.share, apart, more, larger_is_faster)
        for index, point in enumerate(result.points)
    ]
    missing = [*(f"{point} is on one side only" for point in result.unmatched), *result.lacking]
    if missing:
        why = f"{'; '.join(missing[:3])}{f'; and {len(missing) - 3} more' if len(missing) > 3 else ''}"
        checks.append(_made(len(checks), None, condition, None, (None, None), passed=None, why=f"not compared: {why}"))
    return checks


def _check(
    index: int, point: Compared, condition: str, limit: float, apart: list[str], more: str, larger_is_faster: bool
) -> Check:
    low, high = point.ratio_ends
    ratio = None if any(point.at_least) else point.ratio
    if larger_is_faster:
        value = None if ratio is None else 1 - ratio
        ends = (None if high is None else 1 - high, None if low is None else 1 - low)
    else:
        value = None if ratio is None else ratio - 1
        ends = (None if low is None else low - 1, None if high is None else high - 1)
    passed, why = _verdict(point, ends, limit, apart, more)
    return _made(index, point, condition, value, ends, passed=passed, why=f"{_shown(value, ends)}{why}")


def _made(
    index: int,
    point: Compared | None,
    condition: str,
    value: float | None,
    ends: Ends,
    *,
    passed: bool | None,
    why: str,
) -> Check:
    return Check(
        point=index,
        varied={} if point is None else point.varied,
        condition=condition,
        value=value,
        ci90=None if ends == (None, None) else ends,
        judged=ends[0] if passed is False else ends[1],
        passed=passed,
        why=why,
    )


def _modes(mode: Difference) -> str:
    return f"A is {mode.a}, B is {mode.b}"


def _verdict(point: Compared, ends: Ends, limit: float, apart: list[str], more: str) -> tuple[bool | None, str]:
    """Whether it passes, and why so; ``more`` says how a person gets more runs."""
    if apart:
        return None, f"the two cannot be compared: {'; '.join(apart)}"
    if not point.valid:
        return None, f"{untrusted(point)} must not be trusted; wasp show says why"
    if point.test != "interval" and min(point.runs) < LEAST_RUNS:
        return None, f"of {point.runs[0]} and {point.runs[1]} runs; at least {LEAST_RUNS} a side are needed{more}"
    passed = within(ends, limit)
    if passed is not None:
        return passed, "its upper end is at most the limit" if passed else "its lower end is above the limit"
    low, high = ends
    if low is None and high is None:
        return None, "it has no interval: A is not clearly different from zero, or both are only lower bounds"
    if low is None or high is None:
        side = "B" if low is None else "A"
        return None, f"{side} is only a lower bound"
    return None, "the limit lies within the interval; more runs make it narrower"


def untrusted(point: Compared) -> str:
    """Which side is not valid, or both."""
    sides = [side for side, line in zip("AB", point.lines, strict=True) if line.valid is False]
    return " and ".join(sides) or "at least one of the two"


def _shown(value: float | None, ends: Ends) -> str:
    """The slowdown in words."""
    low, high = (None if end is None else f"{100 * end:+.1f}" for end in ends)
    said = "" if value is None else f" {100 * value:+.1f} %"
    if low is not None and high is not None:
        said += f" (90 %: {low} to {high} %)"
    elif high is not None:
        said += f" (90 %: at most {high} %)"
    elif low is not None:
        said += f" (90 %: at least {low} %)"
    return f"slowdown{said}; " if said else ""
