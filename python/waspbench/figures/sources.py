"""What figures are made from: results with a label, in memory or in directories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from waspbench.errors import Argument, InputError, Problem
from waspbench.experiment.sweep import text_of
from waspbench.figures.fields import setting
from waspbench.results.capacity import CapacityResult, PointCapacity, load_capacity
from waspbench.results.chosen import check_swept, is_chosen, split
from waspbench.results.comparing import ComparisonResult
from waspbench.results.named import Comparable
from waspbench.results.result import Result
from waspbench.results.study import StudyPoint, StudyResult, is_study, load_study, read_plan, study_of

Found = StudyResult | CapacityResult | ComparisonResult
"""Results of which figures are made; one result is a study of one point."""

Results = Result | Found
"""Results of every kind."""


class NoFigureError(InputError):
    """These results have no such figure; the message says why."""

    @classmethod
    def because(cls, why: str) -> Self:
        """The error about a figure that is asked for."""
        return cls([Problem(Argument("figure"), why)])


@dataclass(frozen=True)
class Source:
    """Results, and what a legend calls them."""

    found: Found
    label: str = ""
    given: Comparable | None = None
    """They as they were given, where they can be compared: ``DIR`` or ``DIR@path=value``, or in memory with files."""

    @property
    def complete(self) -> bool:
        """Whether nothing of them is left to be run."""
        return isinstance(self.found, ComparisonResult) or self.found.complete


def source_of(results: Results | Source) -> Source:
    """Results in memory, called by the name of their experiment."""
    if isinstance(results, Source):
        return results
    if isinstance(results, ComparisonResult):
        return Source(results, short_name(results.b))
    found = study_of(results) if isinstance(results, Result) else results
    return Source(found, results.name, None if results.directory is None else results)


def load_source(text: str, judged_percentiles: Iterable[str] = ()) -> Source:
    """The results that ``DIR`` or ``DIR@path=value,path=value`` names, called by the last part of their path. They have
    the percentiles ``judged_percentiles`` besides those that results always have.

    Raises:
        InputError: there are none, or no such points of them.
    """
    directory, chosen = split(text)
    if not Path(directory).is_dir():
        raise InputError.at(directory, "there is no such directory")
    if is_study(directory) and read_plan(directory).kind == "capacity":
        searched = load_capacity(directory)
        return Source(_with_searches(searched, chosen, text) if chosen else searched, short_name(text), text)
    found = load_study(directory, judged_percentiles=judged_percentiles)
    return Source(_with_points(found, chosen, text) if chosen else found, short_name(text), text)


def short_name(text: str) -> str:
    """What names the results ``DIR`` or ``DIR@path=value``, without the directories above them and the time that a
    default name begins with.
    """
    directory, chosen = split(text)
    name = re.sub(r"^\d{8}T\d{6}Z-(?=.)", "", Path(directory).name or Path(directory).resolve().name)
    return ", ".join([name, *_settings(chosen)])


def settings_of(varied: Mapping[str, Any]) -> str:
    """The values of swept fields in words."""
    return ", ".join(_settings(varied))


def _settings(varied: Mapping[str, Any]) -> list[str]:
    return [setting(path, value) for path, value in varied.items()]


def called(found: StudyResult | CapacityResult) -> str:
    """The name of an experiment in a title, with its point if it has one of a sweep, and where nothing was measured
    that.
    """
    point = _settings(found.points[0].varied) if len(found.points) == 1 else []
    return f"{', '.join([found.name, *point])}{' (simulated)' if found.mode == 'sim' else ''}"


_Point = TypeVar("_Point", StudyPoint, PointCapacity)


def _kept(points: Sequence[_Point], chosen: Mapping[str, Any], text: str) -> list[_Point]:
    """The points that are chosen.

    Raises:
        InputError: there are none.
    """
    check_swept(text, chosen, (point.varied for point in points))
    kept = [point for point in points if is_chosen(point.varied, chosen)]
    if not kept:
        raise InputError.at(text, f"has no point with {text_of(chosen)}")
    return kept


def _with_searches(found: CapacityResult, chosen: Mapping[str, Any], text: str) -> CapacityResult:
    kept = _kept(found.points, chosen, text)
    complete = found.complete or all(point.outcome is not None for point in kept)
    return found.model_copy(
        update={
            "points": [point.model_copy(update={"varied": _without(point.varied, chosen)}) for point in kept],
            "complete": complete,
            "valid": complete and all(point.valid for point in kept),
            "name": ", ".join([found.name, *_settings(chosen)]),
        }
    )


def _with_points(found: StudyResult, chosen: Mapping[str, Any], text: str) -> StudyResult:
    kept = _kept(found.points, chosen, text)
    results = [point.result for point in kept]
    complete = all(result is not None and not result.interrupted for result in results)
    # What was chosen by no longer varies.
    rest = [point.model_copy(update={"varied": _without(point.varied, chosen)}) for point in kept]
    return found.model_copy(
        update={
            "points": rest,
            "complete": complete,
            "valid": complete and all(result is not None and result.valid for result in results),
            "name": ", ".join([found.name, *_settings(chosen)]),
        }
    )


def _without(varied: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in varied.items() if path not in chosen}


def studies(sources: Sequence[Source]) -> list[tuple[str, StudyResult]]:
    """The sources, each with its label.

    Raises:
        NoFigureError: one is a search for capacity or a comparison.
    """
    made = []
    for source in sources:
        if not isinstance(source.found, StudyResult):
            what = "a search for capacity" if isinstance(source.found, CapacityResult) else "a comparison"
            raise NoFigureError.because(f"is of runs, and {source.label} is {what}")
        made.append((source.label, source.found))
    return made


def only_study(sources: Sequence[Source]) -> StudyResult:
    """The study that is the only source.

    Raises:
        NoFigureError: there are several, or it is none.
    """
    found = studies(sources)
    if len(found) > 1:
        raise NoFigureError.because(f"is of one result, and {len(found)} are given")
    return found[0][1]


def only_search(sources: Sequence[Source]) -> CapacityResult:
    """The search for capacity that is the only source.

    Raises:
        NoFigureError: there are several, or it is none.
    """
    if len(sources) > 1:
        raise NoFigureError.because(f"is of one search for capacity, and {len(sources)} results are given")
    if not isinstance(sources[0].found, CapacityResult):
        raise NoFigureError.because("is of a search for capacity (wasp capacity)")
    return sources[0].found


def finished(study: StudyResult) -> list[tuple[StudyPoint, Result]]:
    """The points that have figures."""
    return [(point, point.result) for point in study.points if point.result is not None]


def only_point(study: StudyResult) -> Result:
    """The result of a study's only point.

    Raises:
        NoFigureError: it has several, or none that is finished.
    """
    if len(study.points) > 1:
        swept = list(dict.fromkeys(path for point in study.points for path in point.varied))
        raise NoFigureError.because(
            f"is of one point, and these results have {len(study.points)}; choose one (DIR@path=value, or "
            f"study.at in Python) with {', '.join(swept)}"
        )
    results = finished(study)
    if not results:
        raise NoFigureError.because("needs a finished run, and there is none")
    return results[0][1]


def point_name(point: StudyPoint | PointCapacity) -> str:
    """A point in the words of a legend; nothing without a sweep."""
    return settings_of(point.varied)
