"""Results as reports need them: what was found, how it was made, and on what."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waspbench.errors import Argument, InputError
from waspbench.experiment.conditions import Condition, all_of
from waspbench.experiment.metrics import percentiles_of
from waspbench.experiment.resolve import about_modelled, modelled_server, settings_used
from waspbench.experiment.sweep import Point, points, text_of
from waspbench.figures.sources import Source, load_source, short_name
from waspbench.results.capacity import CAPACITY, CapacityResult
from waspbench.results.checks import judge
from waspbench.results.chosen import split
from waspbench.results.comparing import ComparisonResult, compare_results
from waspbench.results.manifest import Manifest
from waspbench.results.named import Comparable, named
from waspbench.results.records import records_of
from waspbench.results.result import Result
from waspbench.results.store import MANIFEST, load_manifest
from waspbench.results.study import (
    StudyPlan,
    StudyPoint,
    StudyResult,
    is_study,
    point_directory,
    read_plan,
)

LETTERS = "ABCDEFGHIJKL"
"""What the sides of a comparison are called."""


@dataclass(frozen=True)
class Setup:
    """A server under test, and what it stood in."""

    server: dict[str, Any]
    """Name, version, command, configuration text; in simulation the model."""
    testbed: dict[str, Any]
    """Device, kernel settings, CPUs and labels of a live run; empty in simulation."""
    settings: dict[str, list[str]]
    """Which parts of [server] were used, and which were not."""
    where: list[str] = field(default_factory=list)
    """The points that it is of; empty without a sweep."""


@dataclass(frozen=True)
class Origin:
    """How the results in a directory were made."""

    directory: str
    """As it was named, without the points that were chosen."""
    name: str
    mode: str
    seed: int
    created: str
    """UTC, ISO 8601."""
    plan: StudyPlan | None
    """None of results that have none: those of a point, and of older versions."""
    document: dict[str, Any]
    """The experiment file, with what flags set; with every default filled in where there is no plan."""
    whole: dict[str, Any]
    """The experiment with every default filled in, as the first point had it; empty of a search."""
    machine: dict[str, Any]
    versions: dict[str, str]
    setups: list[Setup]
    points: list[Point]
    """What was to be measured at each point, whatever was chosen; none where this version cannot read the file."""

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of the file and of the command line."""
        if not self.points:
            return []
        own = [] if self.plan is None else self.plan.thresholds
        return all_of(self.points[0].experiment.thresholds, own, "thresholds")

    def is_on_the_same(self, other: Origin) -> bool:
        """Whether they were made on the machine and by the versions of others."""
        return (self.machine, self.versions) == (other.machine, other.versions)

    @property
    def labels(self) -> list[str]:
        """What the testbed could not do as it should."""
        return list(dict.fromkeys(str(label) for setup in self.setups for label in setup.testbed.get("labels", ())))


@dataclass(frozen=True)
class StudySource:
    """A bench or a sweep."""

    study: StudyResult
    origin: Origin
    name: str = ""
    """As the results were named."""

    @property
    def chosen(self) -> dict[str, Any]:
        """Values of the swept fields by which points were chosen."""
        return split(self.name)[1]

    @property
    def points(self) -> list[Point]:
        """What was to be measured at each of its points; none where this version cannot read the file."""
        chosen = {point.index for point in self.study.points}
        return [point for point in self.origin.points if point.index in chosen]

    def drawn(self, label: str = "") -> Source:
        """What figures are made of, called by a ``label``, or else by its name."""
        return Source(self.study, label or short_name(self.name), self.name)

    @property
    def made(self) -> list[tuple[StudyPoint, Result]]:
        """The points that have a result, with it."""
        return [(point, point.result) for point in self.study.points if point.result is not None]


@dataclass(frozen=True)
class SearchSource:
    """A search for capacity."""

    search: CapacityResult
    origin: Origin
    name: str = ""
    """As the results were named."""

    @property
    def chosen(self) -> dict[str, Any]:
        """Values of the swept fields by which points were chosen."""
        return split(self.name)[1]

    @property
    def points(self) -> list[Point]:
        """What was to be measured at each of its points; none where this version cannot read the file."""
        chosen = {point.index for point in self.search.points}
        return [point for point in self.origin.points if point.index in chosen]

    def drawn(self, label: str = "") -> Source:
        """What figures are made of, called by a ``label``, or else by its name."""
        return Source(self.search, label or short_name(self.name), self.name)


Side = StudySource | SearchSource
"""One of several results."""


@dataclass(frozen=True)
class ComparisonSource:
    """Several results, each of them held against the first."""

    comparisons: list[ComparisonResult]
    sides: list[Side]
    """The first, and each of the others."""

    @property
    def against_first(self) -> list[tuple[str, ComparisonResult]]:
        """The comparisons, each with the letter of the side that is held against A."""
        return list(zip(LETTERS[1:], self.comparisons, strict=False))

    @property
    def lettered(self) -> list[tuple[str, Side]]:
        """The sides, each with its letter."""
        return list(zip(LETTERS, self.sides, strict=False))

    @property
    def valid(self) -> bool:
        """Whether every side may be trusted, and can be compared."""
        return all(found.valid for found in self.comparisons)


def name_of(given: Comparable) -> str:
    """The text that names results: ``DIR`` or ``DIR@path=value``.

    Raises:
        InputError: they have no files, or are a part of what is in their directory.
    """
    found = named(given, "results")
    if isinstance(given, (str, Path)):
        return str(given)
    if found.points is not None and is_study(found.directory) and len(found.points) < read_plan(found.directory).points:
        message = "is a part of the results in its directory; name the points by a text, such as DIR@clients.rtt=50ms"
        raise InputError.at(Argument("results"), message, found.directory)
    return _point(Path(found.directory)) if found.alone else found.directory


def _point(directory: Path) -> str:
    """What names the results of one point: those of a sweep by the values of its fields, as ``DIR@path=value``."""
    study = directory.parent.parent
    if not is_study(study) or is_study(directory):
        return str(directory)
    varied = load_manifest(directory).varied
    text = f"{study}@{','.join(f'{path}={value}' for path, value in varied.items())}"
    return text if split(text) == (str(study), varied) else str(directory)


def kind_of(name: str) -> str:
    """The kind of the results that ``DIR`` or ``DIR@path=value`` names, as their plan says it; sweep without a plan.

    Raises:
        InputError: the plan cannot be read.
    """
    directory, _ = split(name)
    return read_plan(directory).kind if is_study(directory) else "sweep"


def read_study(name: str) -> StudySource:
    """The bench or sweep that ``DIR`` or ``DIR@path=value`` names, with what became of its conditions.

    Raises:
        InputError: it cannot be read, or no run is finished.
    """
    directory, _ = split(name)
    count = read_plan(directory).points if is_study(directory) else 1
    origin = _origin(directory, _manifests(directory, range(count)))
    conditions = origin.conditions
    study = load_source(name, percentiles_of(each.metric for each in conditions)).found
    assert isinstance(study, StudyResult)
    if all(point.result is None for point in study.points):
        raise InputError.at(name, f"no run is finished; {shlex.join(['wasp', 'resume', directory])} makes the rest")
    chosen = [point.index for point in study.points]
    if len(chosen) < count:
        origin = _origin(directory, _manifests(directory, chosen))
    return StudySource(study.model_copy(update={"checks": judge(study, conditions)}), origin, name)


def read_search(name: str) -> SearchSource:
    """The search that ``DIR`` or ``DIR@path=value`` names.

    Raises:
        InputError: it cannot be read, or has found nothing yet.
    """
    directory, _ = split(name)
    if not (Path(directory) / CAPACITY).exists():
        again = shlex.join(["wasp", "resume", directory])
        raise InputError.at(name, f"this search has found nothing yet; {again} goes on with it")
    search = load_source(name).found
    assert isinstance(search, CapacityResult)
    return SearchSource(search, _origin(directory, []), name)


def read_comparison(names: Sequence[str], metric: str) -> ComparisonSource:
    """The results that names stand for, each held against the first.

    Raises:
        InputError: they cannot be read, or do not belong together.
    """
    if len(names) > len(LETTERS):
        raise InputError.at(
            "DIR", f"{len(names)} results are too many; at most {len(LETTERS) - 1} are held against one"
        )
    sides: list[Side] = [read_search(name) if kind_of(name) == "capacity" else read_study(name) for name in names]
    return ComparisonSource([compare_results(names[0], name, metric) for name in names[1:]], sides)


def _manifests(directory: str, indices: Iterable[int]) -> list[Manifest]:
    """Those of the points that have one."""
    count = read_plan(directory).points if is_study(directory) else 1
    folders = [point_directory(Path(directory), index, count) for index in indices]
    return [load_manifest(folder) for folder in folders if not is_study(directory) or (folder / MANIFEST).exists()]


def _origin(name: str, manifests: Sequence[Manifest]) -> Origin:
    directory = Path(name)
    plan = read_plan(directory) if is_study(directory) else None
    made: StudyPlan | Manifest = manifests[0] if plan is None else plan
    document = manifests[0].experiment if plan is None else plan.document
    found = _points(document)
    return Origin(
        directory=name,
        name=made.name,
        mode=made.mode,
        seed=made.seed,
        created=made.created,
        plan=plan,
        document=dict(document),
        whole=manifests[0].experiment if manifests else {},
        machine=made.machine or (manifests[0].machine if manifests else {}),
        versions=made.versions,
        setups=_setups(manifests) if plan is None or plan.kind == "sweep" else _searched(directory, plan, found),
        points=found,
    )


def _points(document: Mapping[str, Any]) -> list[Point]:
    """What was to be measured; none where this version cannot read what an older one wrote."""
    try:
        return points(document)
    except InputError:
        return []


def _setups(manifests: Sequence[Manifest]) -> list[Setup]:
    return _merged(
        Setup(
            server=manifest.server,
            testbed=manifest.testbed,
            settings=manifest.settings,
            where=[text_of(manifest.varied)] if manifest.varied else [],
        )
        for manifest in manifests
    )


def _searched(directory: Path, plan: StudyPlan, found: Sequence[Point]) -> list[Setup]:
    """The servers of a search: of a live one as the first record of each point tells, or else the model."""
    setups = []
    for point in found:
        testbed = _testbed(point_directory(directory, point.index, plan.points))
        about = testbed.pop("server", None)
        testbed.pop("machine", None)
        if about is None and plan.mode == "sim":
            about = about_modelled(point.experiment, modelled_server(point.experiment, plan.models), plan.models)
        server = point.experiment.server
        where = [text_of(point.settings)] if point.settings else []
        used = settings_used("live" if plan.mode == "live" else "sim", server)
        setups.append(Setup({"kind": server.kind, **(about or {})}, testbed, used, where))
    return _merged(setups)


def _testbed(point: Path) -> dict[str, Any]:
    """What the first record of a point's runs says of the testbed; nothing where none does."""
    for folder in sorted(point.glob("load-*")):
        for record in records_of(folder):
            if record.testbed:
                return dict(record.testbed)
    return {}


def _merged(setups: Iterable[Setup]) -> list[Setup]:
    """Equal setups as one, with all the points that they are of."""
    found: dict[str, Setup] = {}
    for setup in setups:
        key = json.dumps([setup.server, setup.testbed], sort_keys=True, default=str)
        if key in found:
            found[key].where.extend(setup.where)
        else:
            found[key] = setup
    return list(found.values())
