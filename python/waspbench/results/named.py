"""Results that are compared, in memory or by a text, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waspbench.errors import Argument, InputError
from waspbench.results.capacity import CapacityResult
from waspbench.results.chosen import split
from waspbench.results.result import Result
from waspbench.results.study import StudyResult

Comparable = Result | StudyResult | CapacityResult | str | Path
"""Results that can be compared: in memory, or by a text that names them, such as ``DIR`` or ``DIR@path=value``."""


@dataclass(frozen=True)
class Named:
    """Results in a directory."""

    directory: str
    chosen: dict[str, Any]
    """Values of the swept fields that choose points."""
    label: str
    """What they are called."""
    alone: bool = False
    """Whether it is a result by itself, whatever its sweep made vary."""
    points: Mapping[int, Mapping[str, Any]] | None = None
    """The points that count, by number, with the values of their swept fields; None if all do."""
    percentiles: tuple[str, ...] | None = None
    """Names of the percentiles that their tables show; None for those that the experiment asked for."""

    def is_same(self, other: Named) -> bool:
        """Whether they are the same results as others."""
        parts = [named.points.keys() for named in (self, other) if named.points is not None]
        places = [(Path(named.directory).resolve(), named.chosen) for named in (self, other)]
        return places[0] == places[1] and (len(parts) < 2 or parts[0] == parts[1])


def named(given: Comparable, argument: str) -> Named:
    """Results that were given for an argument.

    Raises:
        InputError: they are none, or have no files; or a text is not valid.
    """
    if isinstance(given, (str, Path)):
        directory, chosen = split(str(given))
        return Named(directory, chosen, str(given))
    if not isinstance(given, (Result, StudyResult, CapacityResult)):
        raise InputError.at(Argument(argument), "must be results, or a text or path that names them", repr(given))
    if given.directory is None:
        message = "these results have no files, from which they are compared; make them with an output to keep them"
        raise InputError.at(Argument(argument), message, given.name)
    return Named(
        str(given.directory),
        {},
        given.results or given.name,
        alone=isinstance(given, Result),
        points=None if isinstance(given, Result) else {point.index: point.varied for point in given.points},
        percentiles=tuple(given.percentiles),
    )
