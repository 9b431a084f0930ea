"""What is left out of tables for lack of transactions, and the notes that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waspbench.results.estimates import needed, too_few

LEAST = 100
"""``ok`` transactions of all runs from which the response times of one of several groups or requests say something."""


def lacking(percentiles: Sequence[str], transactions: int) -> tuple[str, ...]:
    """Those of the ``percentiles`` for which so many transactions are too few."""
    return tuple(name for name in percentiles if too_few(name, transactions))


def left_out(percentiles: Sequence[str], kind: str = "transactions") -> str:
    """That these percentiles are left out, and how many ``ok`` transactions, or others of a kind, they need."""
    counts = listed([f"{needed(name):,}" for name in percentiles])
    is_out, needs = ("is", "it needs") if len(percentiles) == 1 else ("are", "they need")
    return f"{listed(percentiles)} {is_out} left out: {needs} {counts} ok {kind}"


def notes_of_parts(
    kind: str, counts: Mapping[str, int], percentiles: Sequence[str], of_all: tuple[str, ...]
) -> list[str]:
    """Which of the ``percentiles`` are left out of parts of a result, such as groups, where it is not the same as
    ``of_all``. ``counts`` are the ``ok`` transactions of each part by its name; parts with fewer than `LEAST` have no
    response times, which another note says.
    """
    by_lack: dict[tuple[str, ...], list[str]] = {}
    for name, count in counts.items():
        lack = lacking(percentiles, count)
        if count >= LEAST and lack and lack != of_all:
            by_lack.setdefault(lack, []).append(name)
    return [f"{named(kind, names)}: {left_out(lack)}" for lack, names in by_lack.items()]


def named(kind: str, names: Sequence[str]) -> str:
    """Parts of a ``kind`` by their names: ``groups a, b``."""
    return f"{kind}{'' if len(names) == 1 else 's'} {', '.join(names)}"


def listed(texts: Sequence[str]) -> str:
    """Texts as a sentence lists them: ``a, b and c``."""
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
