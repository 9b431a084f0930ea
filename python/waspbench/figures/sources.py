"""What figures are made from: results with a label, in memory or in directories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from waspbench.errors import Argument, InputError, Problem
from waspbench.experiment.sweep import text_of
from waspbench.figures.fields import setting
from waspbench.results.chosen import check_swept, is_chosen, split
from waspbench.results.result import Result
from waspbench.results.study import StudyPoint, StudyResult, is_study, load_study, read_plan, study_of

Results = Result | StudyResult
"""Results of which figures are made; one result is a study of one point."""


class NoFigureError(InputError):
    """These results have no such figure; the message says why."""

    @classmethod
    def because(cls, why: str) -> Self:
        """The error about a figure that is asked for."""
        return cls([Problem(Argument("figure"), why)])


@dataclass(frozen=True)
class Source:
    """Results, and what a legend calls them."""

    found: StudyResult
    label: str = ""


def source_of(results: Results | Source) -> Source:
    """Results in memory, called by the name of their experiment."""
    if isinstance(results, Source):
        return results
    return Source(study_of(results) if isinstance(results, Result) else results, results.name)


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
        raise InputError.at(text, "is a search for capacity, of which there are no figures yet")
    found = load_study(directory, judged_percentiles=judged_percentiles)
    return Source(_with_points(found, chosen, text) if chosen else found, _short_name(directory, chosen))


def _short_name(directory: str, chosen: Mapping[str, Any]) -> str:
    """What names results, without the directories above them and the time that a default name begins with."""
    name = re.sub(r"^\d{8}T\d{6}Z-(?=.)", "", Path(directory).name or Path(directory).resolve().name)
    return ", ".join([name, *_settings(chosen)])


def _settings(varied: Mapping[str, Any]) -> list[str]:
    return [setting(path, value) for path, value in varied.items()]


def called(study: StudyResult) -> str:
    """The name of an experiment in a title, with its point if it has one of a sweep, and where nothing was measured
    that.
    """
    point = _settings(study.points[0].varied) if len(study.points) == 1 else []
    return f"{', '.join([study.name, *point])}{' (simulated)' if study.mode == 'sim' else ''}"


def _with_points(found: StudyResult, chosen: Mapping[str, Any], text: str) -> StudyResult:
    check_swept(text, chosen, (point.varied for point in found.points))
    kept = [point for point in found.points if is_chosen(point.varied, chosen)]
    if not kept:
        raise InputError.at(text, f"has no point with {text_of(chosen)}")
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


def only_study(sources: Sequence[Source]) -> StudyResult:
    """The study that is the only source.

    Raises:
        NoFigureError: there are several.
    """
    if len(sources) > 1:
        raise NoFigureError.because(f"is of one result, and {len(sources)} are given")
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
            f"is of one point, and these results have {len(study.points)}; choose one: DIR@path=value with "
            f"{', '.join(swept)}"
        )
    results = finished(study)
    if not results:
        raise NoFigureError.because("needs a finished run, and there is none")
    return results[0][1]


def point_name(point: StudyPoint) -> str:
    """A point in the words of a legend; nothing without a sweep."""
    return ", ".join(_settings(point.varied))
