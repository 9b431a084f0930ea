"""The directory of an experiment with many runs, made one by one and kept one by one.

DIR/study.json                 what is to be done; from it and the runs that are there, ``wasp resume`` goes on
DIR/journal.jsonl              when each run ended and how long it took
DIR/points/0000/               a results directory of its own for each point of the sweep; without a sweep DIR is it
DIR/points/0000/runs/run-0.json     a finished run (see `waspbench.results.records`)
DIR/points/0000/lengths.json        pilots of a point whose lengths are to be found (``auto``)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, computed_field

from waspbench.errors import InputError
from waspbench.experiment.metrics import PERCENTILES
from waspbench.experiment.sweep import settings_of
from waspbench.results.check import Check
from waspbench.results.columns import no_line, settings, swept, with_groups
from waspbench.results.formats import FORMAT, Record, json_of, read_document
from waspbench.results.records import failure_without_figures, records_of
from waspbench.results.result import Result
from waspbench.results.store import MANIFEST, load, load_manifest
from waspbench.tabular import Listing

STUDY = "study.json"
JOURNAL = "journal.jsonl"


class StudyPlan(Record):
    """``study.json``."""

    format: int = FORMAT
    id: str
    """Names these results wherever their directory is moved."""
    created: str
    """UTC, ISO 8601."""
    kind: str = "sweep"
    """sweep or capacity."""
    name: str
    mode: str
    seed: int
    document: dict[str, Any]
    """The experiment file, with what the command line set."""
    points: int
    """Number of points."""
    thresholds: list[str] = Field(default_factory=list)
    """Conditions from the command line, beside those of the file."""
    server_cpus: str | None = None
    emulator_cpus: str | None = None
    search: dict[str, Any] = Field(default_factory=dict)
    """How capacity is searched, for that kind."""
    machine: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)


class StudyPoint(Record):
    """One point of a sweep."""

    index: int
    varied: dict[str, Any]
    """Values of the swept fields, by path."""
    result: Result | None
    """Its figures; None while no run of it is finished."""
    failure: str | None = None
    """Why it has none, where its runs failed."""


class StudyResult(Record):
    """What an experiment with a sweep found. Its JSON is what ``wasp run --json`` prints for one."""

    name: str
    mode: str
    seed: int
    results: str
    """Directory; empty where none is kept."""
    complete: bool
    """Whether every point has all its runs."""
    valid: bool
    """Whether it is complete and every point is valid."""
    points: list[StudyPoint] = Field(default_factory=list)
    checks: list[Check] = Field(default_factory=list)
    """What became of the experiment's conditions (``assert``), and of those from the command line; none where results
    are read again.
    """

    @property
    def listing(self) -> Listing:
        """A table with a line for each point, and for each group of clients at it where there are several."""
        made = [point.result.line for point in self.points if point.result is not None]
        nothing = no_line(made[0].percentiles_ms if made else PERCENTILES)
        rows = [
            ({"point": point.index, **settings(point.varied)}, nothing, {})
            if point.result is None
            else ({"point": point.index, **settings(point.varied)}, point.result.line, point.result.group_lines)
            for point in self.points
        ]
        return with_groups(rows, self.percentiles, swept(point.varied for point in self.points))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def percentiles(self) -> list[str]:
        """Names of the percentiles that tables show."""
        return next((point.result.percentiles for point in self.points if point.result), list(PERCENTILES))

    def to_json(self) -> str:
        """The result as one JSON object, the rows of its `listing` included."""
        return json_of(self, self.listing.rows)


def point_directory(study: Path, index: int, points: int) -> Path:
    """Where the results of a point are: the study's own directory if it is the only one."""
    return study if points == 1 else study / "points" / f"{index:04d}"


def is_study(path: str | Path) -> bool:
    """Whether a directory has a plan."""
    return (Path(path) / STUDY).is_file()


def read_plan(path: str | Path) -> StudyPlan:
    """The plan of the study in the directory ``path``.

    Raises:
        InputError: there is none, or it is not valid or newer than this version.
    """
    file = Path(path) / STUDY
    try:
        text = file.read_bytes()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not os.path.isdir(path):
            raise InputError.at(str(path), "there is no such directory") from None
        raise InputError.at(str(file), f"cannot be read: {error.strerror}") from None
    return read_document(StudyPlan, text, str(file), "plan")


def load_study(
    path: str | Path, *, percentiles: Sequence[str] | None = None, judged_percentiles: Iterable[str] = ()
) -> StudyResult:
    """The results in the directory at ``path``, of a sweep or of a single point. For the arguments see
    `waspbench.results.load`.

    Only manifests and histograms are read, never the transactions.

    Raises:
        InputError: there are none, or something in them is not valid, missing, or newer than this version.
    """
    directory = Path(path)
    read = partial(load, percentiles=percentiles, judged_percentiles=list(judged_percentiles))
    if not is_study(directory):
        return study_of(read(directory), load_manifest(directory).varied)
    plan = read_plan(directory)
    points = [_load_point(directory, index, plan.points, read) for index in range(plan.points)]
    if any(point.result is None for point in points):
        varied = settings_of(plan.document.get("sweep") or {})
        points = [point.model_copy(update={"varied": each}) for point, each in zip(points, varied, strict=True)]
    return study_result(plan, directory, points)


def study_of(only: Result, varied: dict[str, Any] | None = None) -> StudyResult:
    """A study of one point."""
    return StudyResult(
        name=only.name,
        mode=only.mode,
        seed=only.seed,
        results=only.results or "",
        complete=not only.interrupted,
        valid=only.valid,
        points=[StudyPoint(index=0, varied=varied or {}, result=only)],
    )


def study_result(plan: StudyPlan, directory: Path, points: Sequence[StudyPoint]) -> StudyResult:
    """The result of a study's points."""
    results = [point.result for point in points]
    complete = all(result is not None and not result.interrupted for result in results)
    return StudyResult(
        name=plan.name,
        mode=plan.mode,
        seed=plan.seed,
        results=str(directory),
        complete=complete,
        valid=complete and all(result is not None and result.valid for result in results),
        points=list(points),
    )


def _load_point(directory: Path, index: int, points: int, read: Callable[[Path], Result]) -> StudyPoint:
    point = point_directory(directory, index, points)
    if not (point / MANIFEST).exists():
        failure = failure_without_figures(records_of(point))
        return StudyPoint(index=index, varied={}, result=None, failure=failure)
    return StudyPoint(index=index, varied=load_manifest(point).varied, result=read(point))
