"""The directory of an experiment with many runs, made one by one and kept one by one.

DIR/study.json                 what is to be done; from it and the runs that are there, ``wasp resume`` goes on
DIR/journal.jsonl              when each run ended and how long it took
DIR/points/0000/               a results directory of its own for each point of the sweep; without a sweep DIR is it
DIR/points/0000/runs/run-0.json     a finished run (see `waspbench.results.records`)
DIR/points/0000/lengths.json        pilots of a point whose lengths are to be found (``auto``)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, computed_field

from waspbench.errors import Argument, InputError, check_choice
from waspbench.experiment import Mode
from waspbench.experiment.metrics import PERCENTILES
from waspbench.experiment.sweep import settings_of, text_of
from waspbench.results.check import Check
from waspbench.results.chosen import check_swept, is_chosen
from waspbench.results.columns import no_line, settings, swept, with_groups
from waspbench.results.files import Files
from waspbench.results.formats import FORMAT, Record, json_of, read_document
from waspbench.results.lines import listing_by_request
from waspbench.results.records import failure_without_figures, records_of
from waspbench.results.result import Result
from waspbench.results.shown import WithTables, owned, with_files
from waspbench.results.store import MANIFEST, load, load_manifest
from waspbench.tabular import Figures, Listing

if TYPE_CHECKING:
    import polars as pl

STUDY = "study.json"
JOURNAL = "journal.jsonl"


StudyKind = Literal["sweep", "capacity", "calibration", "twin"]


class StudyPlan(Record):
    """``study.json``."""

    format: int = FORMAT
    id: str
    """Names these results wherever their directory is moved."""
    created: str
    """UTC, ISO 8601."""
    kind: StudyKind = "sweep"
    """sweep, capacity, calibration or twin."""
    name: str
    """Name of the experiment."""
    mode: Mode
    """live or sim."""
    seed: int
    """Seed from which every random choice follows."""
    document: dict[str, Any]
    """The experiment file, with what the command line set."""
    points: int
    """Number of points."""
    traces: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of each rate trace, by its path."""
    files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of each file that named requests use, by its path."""
    models: dict[str, str] = Field(default_factory=dict)
    """Content of each model file (server.model.file), by its path."""
    directory: str = ""
    """Directory in which the experiment began; paths of files are relative to it."""
    thresholds: list[str] = Field(default_factory=list)
    """Conditions from the command line, beside those of the file."""
    server_cpus: str | None = None
    emulator_cpus: str | None = None
    search: dict[str, Any] = Field(default_factory=dict)
    """How capacity is searched, whether a calibration is quick, and the limit of a twin, for these kinds."""
    machine: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)


class StudyPoint(Record):
    """One point of a sweep."""

    index: int
    """Number of the point, from 0."""
    varied: dict[str, Any]
    """Values of the swept fields, by path."""
    result: Result | None
    """Its result; None while no run of the point has finished."""
    failure: str | None = None
    """Why the runs of the point failed, if that is why it has no result; None otherwise."""


class StudyResult(WithTables):
    """The results of an experiment with a sweep. Its JSON is what ``wasp run --json`` prints of a sweep.

    In frames of the tables (``transactions()`` and so on) the first column is the number of the ``point``.
    """

    name: str
    """Name of the experiment."""
    mode: Mode
    """live or sim."""
    seed: int
    """Seed of all random choices."""
    results: str = ""
    """Directory of the results; empty if none was named."""
    complete: bool
    """Whether every point has all its runs."""
    valid: bool
    """Whether it is complete and every point is valid."""
    points: list[StudyPoint] = Field(default_factory=list)
    """The points of the sweep, in its order; without a sweep there is one point."""
    checks: list[Check] = Field(default_factory=list)
    """Results of the experiment's conditions (``assert``), and of conditions from the command line; empty in results
    that are read again."""

    @property
    def listing(self) -> Listing:
        """The table with a line for each point, and for each group of clients if there are several."""
        made = [point.result.line for point in self.points if point.result is not None]
        nothing = no_line(made[0].percentiles_ms if made else PERCENTILES)
        rows = [
            (self._about(point), nothing, {})
            if point.result is None
            else (self._about(point), point.result.line, point.result.group_lines)
            for point in self.points
        ]
        return with_groups(rows, self.percentiles, swept(point.varied for point in self.points))

    @property
    def listing_by_request(self) -> Listing:
        """The table with a line for each named request and for whole sessions at each point, of all clients or of each
        group. It has no lines if requests have no names.
        """
        made = [(self._about(point), point.result) for point in self.points if point.result is not None]
        return listing_by_request(made, self.percentiles, swept(point.varied for point in self.points))

    @staticmethod
    def _about(point: StudyPoint) -> Figures:
        """What the lines of a point are about."""
        return {"point": point.index, **settings(point.varied)}

    @computed_field  # type: ignore[prop-decorator]
    @property
    def percentiles(self) -> list[str]:
        """Names of the percentiles that tables show."""
        return next((point.result.percentiles for point in self.points if point.result), list(PERCENTILES))

    def to_frame(
        self, rows: Literal["points", "runs"] = "points", *, by_group: bool = False, by_request: bool = False
    ) -> pl.DataFrame:
        """A data frame of polars with a row for each point: the swept fields, the figures with their 90 % confidence
        intervals, and whether they are valid. Its ``to_pandas()`` returns a frame of pandas.

        Args:
            rows: ``points`` for a row for each point of the sweep, or ``runs`` for a row for each run, whose figures
                have no intervals.
            by_group: whether each group of clients has a row, too, in addition to the row of all clients.
            by_request: whether each named request has a row, too, and whole sessions if clients make some: of all
                clients, and of each group if ``by_group``.

        Raises:
            InputError: ``rows`` has another value.
        """
        from waspbench.results.frames.runs import point_frame, run_frame  # which take polars to be imported

        made = check_choice("rows", rows, {"points": point_frame, "runs": run_frame})
        return made(self, by_group=by_group, by_request=by_request)

    def at(self, varied: Mapping[str, Any]) -> Result:
        """The result of the point where the swept fields have these values, such as ``{"clients.rtt": "20ms"}``. The
        values are as in the experiment: ``3%`` is not ``0.03``.

        Raises:
            InputError: no point has these values, or several points have them, or the point has no result.
        """
        argument = Argument("varied")
        check_swept(argument, varied, (point.varied for point in self.points))
        found = [point for point in self.points if is_chosen(point.varied, varied)]
        if len(found) != 1:
            names = "; ".join(text_of(point.varied) for point in found or self.points)
            count = f"{len(found)} points have" if found else "no point has"
            raise InputError.at(argument, f"{count} these values: {names}", dict(varied))
        if found[0].result is None:
            raise InputError.at(argument, found[0].failure or "no run of this point is finished", dict(varied))
        return found[0].result

    def _with_files(self, files: Files) -> Self:
        """These results with files that no directory was named for, and so those of each point."""

        def own(point: StudyPoint) -> StudyPoint:
            found = point.result
            if found is None or found.directory is None:
                return point
            return point.model_copy(update={"result": with_files(found, files.at(found.directory))})

        made = super()._with_files(files)
        return made.model_copy(update={"points": [own(point) for point in self.points]})

    def to_json(self) -> str:
        """The results as one JSON object, with the lines of ``listing`` as its field ``table``."""
        return json_of(self, self.listing.rows)


def check_kind(path: str | Path, kind: StudyKind) -> None:
    """Makes sure that what is in the directory ``path``, if anything, is of this kind.

    Raises:
        InputError: there is no such directory, or something else in it.
    """
    if not os.path.isdir(path):
        raise InputError.at(str(path), "there is no such directory")
    if is_study(path) and read_plan(path).kind != kind:
        raise InputError.at(str(path), held(path))


def held(path: str | Path) -> str:
    """What is in the directory of a study, in words, and what reads it."""
    plan = read_plan(path)
    if plan.kind in ("calibration", "twin"):
        return f"holds a {plan.kind}, which wasp show prints and load_{plan.kind} reads"
    if plan.kind == "capacity":
        return "holds a search for capacity, which load_capacity reads"
    return f"holds {'a sweep' if plan.points > 1 else 'an experiment'}, which load_study reads"


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
    """Reads the results in a directory: those of a sweep, or of a single point. It reads manifests and histograms only,
    never the transactions.

    Args:
        path: the directory.
        percentiles: names of the percentiles that tables show, such as ``p99.9``. By default they are those of the
            experiment.
        judged_percentiles: names of further percentiles, which ``ResponseTime.at`` returns, and tables do not show.

    Raises:
        InputError: the directory has no results, or a newer version of WASP wrote them, or a file of them is missing or
            not valid.
    """
    directory = Path(path)
    check_kind(directory, "sweep")
    read = partial(load, percentiles=percentiles, judged_percentiles=list(judged_percentiles))
    if not is_study(directory):
        return study_of(read(directory), load_manifest(directory).varied)
    plan = read_plan(directory)
    points = [_load_point(directory, index, plan.points, read) for index in range(plan.points)]
    if any(point.result is None for point in points):
        varied = settings_of(plan.document.get("sweep") or {})
        points = [point.model_copy(update={"varied": each}) for point, each in zip(points, varied, strict=True)]
    return owned(study_result(plan, directory, points))


def study_of(only: Result, varied: dict[str, Any] | None = None) -> StudyResult:
    """A study of one point."""
    made = StudyResult(
        name=only.name,
        mode=only.mode,
        seed=only.seed,
        results=only.results or "",
        complete=not only.interrupted,
        valid=only.valid,
        points=[StudyPoint(index=0, varied=varied or {}, result=only)],
    )
    made._files = only._files
    return made


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
