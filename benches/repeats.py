"""Repeated measurements on a machine that others disturb: what of them counts."""

from collections.abc import Callable, Sequence
from typing import TypeVar

REPEATS = 5
"""Measurements whose median is a figure: a neighbour's noise moves a single one by a tenth."""
RETRIES = 3
"""Measurements made once more at most, in place of those that do not count."""
ENOUGH = 3
"""Of these at least must count, or the figure is not judged."""

T = TypeVar("T")


def repeated(times: int, measure: Callable[[int], T], counts: Callable[[T], bool]) -> list[T]:
    """Measures until ``times`` measurements count, `RETRIES` times more at most. ``measure`` is given the number of the
    measurement.
    """
    done: list[T] = []
    while len(done) < times + RETRIES and sum(map(counts, done)) < times:
        done.append(measure(len(done)))
    return done


def first_that_counts(measure: Callable[[], T], counts: Callable[[T], bool]) -> T:
    """The first measurement that counts, or the last of all retries."""
    return repeated(1, lambda _: measure(), counts)[-1]


def too_few(counted: int, done: Sequence[object]) -> str | None:
    """What is to be said where too few measurements count."""
    return None if counted >= min(ENOUGH, len(done)) else f"only {counted} of {len(done)} measurements count"
