"""Which of many curves are drawn: no more than a reader can tell apart."""

from __future__ import annotations

from collections.abc import Sequence

MOST_CURVES = 12
"""Curves of one panel at most: so many have a dash and a marker of their own."""

RULE = "first, last, highest and lowest, the others evenly spread"


def choose(worth: Sequence[float | None], most: int = MOST_CURVES) -> list[int]:
    """The places of at most ``most`` of the curves whose worth is given, in order: all of them where they are no more;
    else the first and the last, the one of the highest worth and the one of the lowest, and the others evenly spread.
    """
    count = len(worth)
    if count <= most:
        return list(range(count))
    known = [index for index in range(count) if worth[index] is not None]
    extremes = [pick(known, key=lambda index: worth[index] or 0.0) for pick in (max, min)] if known else []
    kept = list(dict.fromkeys([0, count - 1, *extremes]))[:most]
    rest = [index for index in range(count) if index not in kept]
    wanted = most - len(kept)
    kept += [rest[(2 * step + 1) * len(rest) // (2 * wanted)] for step in range(wanted)]
    return sorted(kept)


def left_out(count: int, kept: int, what: str) -> list[str]:
    """What is to be said where not all are drawn."""
    return [f"{kept} of {count} {what} are shown: {RULE}"] if kept < count else []
