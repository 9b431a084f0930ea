"""A twin: the same experiment live and in simulation, and where the two differ.

DIR/study.json       what is to be done
DIR/live, DIR/sim    the two sides, each a directory of results like any other
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from waspbench import _core
from waspbench.errors import Argument, InputError
from waspbench.experiment import Mode
from waspbench.results.columns import settings, swept
from waspbench.results.formats import Record
from waspbench.results.reasons import Reason
from waspbench.results.result import Result
from waspbench.results.shown import AtAGlance
from waspbench.results.study import StudyPlan, StudyPoint, StudyResult, check_kind, is_study, load_study, read_plan
from waspbench.results.twin_figures import FIGURES, TwinRow, TwinVerdict, rows_of
from waspbench.results.twin_notes import notes_of
from waspbench.tabular import NONE, Column, Figures, Listing, decimals

if TYPE_CHECKING:
    import polars as pl

CHANCE: Final = 0.1
"""Share of figures that agree whose 90 % interval does not contain 1."""
SIDES: Final[tuple[Mode, ...]] = ("live", "sim")
"""The modes of the sides, in the order in which they are made, and the names of their directories."""


class TwinPoint(Record):
    """Both sides at one point of a sweep."""

    index: int
    """Number of the point, from 0."""
    varied: dict[str, Any]
    """Values of the swept fields, by path."""
    runs: tuple[int, int]
    """Number of live and of simulated runs."""
    rows: list[TwinRow]
    """The figures: of all clients, then of each group if there are several."""
    outcomes: tuple[dict[str, int], dict[str, int]]
    """Number of live and of simulated transactions by outcome."""
    reasons: tuple[list[Reason], list[Reason]]
    """Why the live result is not valid, and why the simulated one is not."""
    failures: tuple[str | None, str | None]
    """Why all live runs failed, and why all simulated runs did; None if they did not. There are no rows then."""
    valid: bool
    """Whether both results are valid."""


class TwinResult(AtAGlance):
    """An experiment live and in simulation. Its JSON is what ``wasp twin --json`` prints."""

    name: str
    """Name of the experiment."""
    seed: int
    """Seed of all random choices."""
    results: str
    """Directory of the results; live and sim below it are those of the two sides."""
    within: str | None
    """How far simulation may be from the live runs, such as 15%; None if nothing is judged."""
    verdict: TwinVerdict | None
    """outside if a figure is; else undecided if a figure is, a side is not valid, or nothing could be judged; else
    within. None if nothing is judged."""
    complete: bool
    """Whether both sides have all their runs."""
    valid: bool
    """Whether both sides are valid."""
    points: list[TwinPoint] = Field(default_factory=list)
    """The points of which both sides have results, and those of which all runs of a side failed."""
    notes: list[str] = Field(default_factory=list)
    """What else is to be known of the two sides."""

    @property
    def listing(self) -> Listing:
        """The table with a line for each figure at each point."""
        rows = [
            {**settings(point.varied), **row.model_dump(), "row": row} for point in self.points for row in point.rows
        ]
        several = any(row["group"] is not None for row in rows)
        limit = {} if self.within is None else {"verdict": Column(f"within {self.within}", _said, alarms=_alarms)}
        return Listing(
            {
                **swept(point.varied for point in self.points),
                **({"group": Column("group", left=True, of_row=lambda row: row["group"] or "all")} if several else {}),
                **_COLUMNS,
                **limit,
            },
            rows,
        )

    @property
    def differences(self) -> list[tuple[TwinPoint, TwinRow]]:
        """Where the sides differ, the largest difference first: figures outside of the limit; without a limit, those
        whose interval does not contain 1.
        """
        found = [(point, row) for point in self.points for row in point.rows if self._differs(row)]
        return sorted(found, key=lambda item: -_distance(item[1]))

    def _differs(self, row: TwinRow) -> bool:
        return row.differs if self.within is None else row.verdict == "outside"

    def to_frame(self) -> pl.DataFrame:
        """A data frame of polars with a row for each figure at each point. Its ``to_pandas()`` returns a frame of
        pandas.
        """
        from waspbench.results.frames.twins import twin_frame  # which takes polars to be imported

        return twin_frame(self)

    def to_json(self) -> str:
        """The result as one JSON object."""
        return self.model_dump_json(indent=2)


def share_of(text: str) -> float:
    """The limit in ``text``, such as ``15%``, as a share.

    Raises:
        InputError: the text is no such share.
    """
    try:
        share = _core.parse_probability(text)
    except (TypeError, ValueError):
        share = 0.0
    if not 0 < share < 1:
        raise InputError.at(Argument("within"), "must be a share above 0% and below 100%, such as 15%", text)
    return float(share)


def load_twin(path: str | Path) -> TwinResult:
    """Reads the results of an experiment live and in simulation.

    Args:
        path: the directory.

    Raises:
        InputError: the directory has no such results, no live run is finished, or a newer version of WASP wrote it.
    """
    directory = Path(path)
    check_kind(path, "twin")
    if not is_study(directory):
        raise InputError.at(str(path), "has no twin, which wasp twin makes")
    made = {name: load_study(directory / name) for name in SIDES if is_study(directory / name)}
    if not any(point.result for stage in made.values() for point in stage.points):
        raise InputError.at(str(path), f"no run is finished; wasp resume {path} makes what is missing")
    return twin_of(read_plan(directory), directory, made.get("live"), made.get("sim"))


def twin_of(plan: StudyPlan, directory: Path, live: StudyResult | None, sim: StudyResult | None) -> TwinResult:
    """Both sides of an experiment, at each point that both have."""
    within: str | None = plan.search.get("within")
    share = None if within is None else share_of(within)
    sides = [side for side in (live, sim) if side is not None]
    both = len(sides) == len(SIDES)
    pairs = list(zip(*(side.points for side in sides), strict=True)) if both else []
    points = [_point(one, other, share) for one, other in pairs if _is_made(one) and _is_made(other)]
    found = [
        (one.varied, one.result, other.result)
        for one, other in pairs
        if one.result is not None and other.result is not None
    ]
    valid = both and all(side.valid for side in sides)
    return TwinResult(
        name=plan.name,
        seed=plan.seed,
        results=str(directory),
        within=within,
        verdict=None if share is None else _verdict(points, valid=valid),
        complete=both and all(side.complete for side in sides),
        valid=valid,
        points=points,
        notes=[*_unjudged(plan), *notes_of(found)],
    )


def _unjudged(plan: StudyPlan) -> list[str]:
    """What a twin does not judge, though the file asks for it."""
    return ["the conditions of the file (assert) are not judged by a twin"] if plan.document.get("assert") else []


def _is_made(point: StudyPoint) -> bool:
    """Whether a side has nothing left to do at a point."""
    return point.result is not None or point.failure is not None


def _point(live: StudyPoint, sim: StudyPoint, share: float | None) -> TwinPoint:
    one, other = live.result, sim.result
    return TwinPoint(
        index=live.index,
        varied=live.varied,
        runs=(_runs(one), _runs(other)),
        rows=[] if one is None or other is None else rows_of(one, other, share),
        outcomes=(_outcomes(one), _outcomes(other)),
        reasons=(_reasons(one), _reasons(other)),
        failures=(live.failure, sim.failure),
        valid=one is not None and other is not None and one.valid and other.valid,
    )


def _runs(side: Result | None) -> int:
    return 0 if side is None else len(side.runs)


def _outcomes(side: Result | None) -> dict[str, int]:
    return {} if side is None else side.outcomes


def _reasons(side: Result | None) -> list[Reason]:
    return [] if side is None else side.invalid_reasons


def _verdict(points: Sequence[TwinPoint], *, valid: bool) -> TwinVerdict:
    """What the figures of all points say together."""
    verdicts = {row.verdict for point in points for row in point.rows}
    if "outside" in verdicts:
        return "outside"
    return "within" if valid and "within" in verdicts and "undecided" not in verdicts else "undecided"


def _distance(row: TwinRow) -> float:
    """How far a ratio is from 1, in either direction."""
    return math.inf if not row.ratio else abs(math.log(row.ratio))


def verdict_text(result: TwinResult) -> str:
    """What the limit says, in a line; without a limit, how many figures differ."""
    rows = [row for point in result.points for row in point.rows]
    if result.within is None:
        known = [row for row in rows if row.ratio_ci90 is not None or row.differs]
        if not known:
            return "no figure has an interval on both sides: two runs or more of each have one"
        chance = CHANCE * len(known)
        return f"{len(result.differences)} of {len(known)} figures differ; by chance, about {chance:.1g} would"
    numbers = {name: sum(row.verdict == name for row in rows) for name in ("within", "outside", "undecided")}
    said = ", ".join(f"{number} {name}" for name, number in numbers.items())
    return f"{(result.verdict or 'undecided').upper()} {result.within}: of the figures {said}"


def interval_text(row: TwinRow) -> str:
    """The interval of a ratio."""
    return NONE if row.ratio_ci90 is None else " to ".join(f"{end:.3f}" for end in row.ratio_ci90)


def _shown(name: str, row: Figures) -> str:
    """A figure of a side as tables show it."""
    figure, value = FIGURES[row["figure"]], row[name]
    return NONE if value is None else decimals(figure.digits)(value * figure.scale)


_SAID: dict[TwinVerdict, str] = {"within": "yes", "outside": "NO", "undecided": "undecided", "not judged": NONE}


def _said(verdict: TwinVerdict) -> str:
    return _SAID[verdict]


def _alarms(row: Figures) -> bool:
    return bool(row["verdict"] == "outside")


_COLUMNS = {
    "figure": Column("figure", lambda name: FIGURES[name].label, left=True),
    "live": Column("live", of_row=lambda row: _shown("live", row)),
    "sim": Column("sim", of_row=lambda row: _shown("sim", row)),
    "ratio": Column("sim/live", decimals(3)),
    "ratio_ci90": Column("90 %", of_row=lambda row: interval_text(row["row"])),
}
