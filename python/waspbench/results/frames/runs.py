"""Frames of experiments: a row a run, or a row a point. Their figures are those of checks and of drawn figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from waspbench.experiment.metrics import Known, Metric
from waspbench.results.checks import estimate, known_in_result, lacking, run_value
from waspbench.results.frames.columns import (
    POINT,
    FrameColumn,
    column_name,
    frame_of,
    meaning_of,
    metrics,
    outcome_columns,
    swept_columns,
    with_interval,
)
from waspbench.results.parts import WHOLE_SESSIONS, part_of, part_of_run
from waspbench.results.result import Result
from waspbench.results.study import StudyResult, study_of
from waspbench.results.summary import Emulator, RunSummary

_ALL = Metric("throughput")
"""A figure of all clients."""


@dataclass(frozen=True)
class _PointRow:
    """A point of a study or a run of it, or there one group of clients, one named request, or whole sessions."""

    index: int
    """Number of the point."""
    varied: Mapping[str, Any]
    result: Result | None
    run: RunSummary | None = None
    """The run that the row is about; None where it is about all."""
    of: Metric = _ALL
    """A figure of what the row is about."""
    failure: str | None = None
    """Why there is no result, where its runs failed."""

    @property
    def group(self) -> str | None:
        """Name of the group; None for all clients."""
        return self.of.group

    @property
    def outcomes(self) -> Mapping[str, int] | None:
        """How its transactions, or sessions, ended."""
        if self.result is None:
            return None
        part = part_of(self.result, self.of) if self.run is None else part_of_run(self.run, self.of)
        return None if part is None else part.outcomes

    @property
    def whole(self) -> Result | RunSummary | None:
        """The run or the result with all its clients."""
        return self.result if self.run is None else self.run

    @property
    def of_all(self) -> Result | RunSummary | None:
        """The same in the row of all clients; None in others."""
        return self.whole if self.of == _ALL else None

    def figure(self, of: Metric) -> float | None:
        """A figure."""
        asked = self._asked(of)
        if self.result is None or asked is None:
            return None
        if self.run is None:
            return estimate(self.result, asked)[0]
        return None if lacking(self.run, asked) else run_value(self.run, asked)

    def ends(self, of: Metric) -> tuple[float, float] | None:
        """The ends of its interval."""
        asked = self._asked(of)
        return None if self.result is None or asked is None else estimate(self.result, asked)[1]

    def _asked(self, of: Metric) -> Metric | None:
        if of.name == "server_cpu" and self.of != _ALL:
            return None
        if self.of.sessions and of.all and not of.is_percentile:
            return None
        return replace(self.of, name=of.name, all=of.all)

    @property
    def reasons(self) -> list[str]:
        """Codes of the reasons why its figures must not be trusted, or why it has none."""
        if self.result is None:
            return ["failed" if self.failure else "interrupted"]
        run = None if self.run is None else self.run.run
        found = [reason.code for reason in self.result.invalid_reasons if reason.is_about(run, self.group)]
        return list(dict.fromkeys(found))

    @property
    def valid(self) -> bool:
        """Whether its figures may be trusted."""
        return not self.reasons


GROUP = FrameColumn(
    "group", "String", "Name of the group of clients; null in the row of all clients.", lambda row: row.group
)

_GROUPS = (
    GROUP,
    FrameColumn(
        "background", "Boolean", "Whether the group is background load, which the row of all clients leaves out. Null "
        "in that row.",
        lambda row: _background(row),
    ),
)  # fmt: skip
"""The columns of rows that may be about a group."""

_REQUESTS = (
    FrameColumn(
        "request", "String", "Name of the request; null in the row of all requests. The row of whole sessions has "
        f"`{WHOLE_SESSIONS}`.",
        lambda row: WHOLE_SESSIONS if row.of.sessions else row.of.request,
    ),
)  # fmt: skip
"""The columns of rows that may be about a named request."""

_CLIENTS = FrameColumn(
    "client_count",
    "Int64",
    "Number of clients. The row of all clients leaves out background groups.",
    lambda row: _clients(row),
)

_RUN = FrameColumn("run", "UInt32", "Number of the run, from 0.", lambda row: row.run.run)
_INTERVAL = FrameColumn(
    "interval_s", "Float64", "Length of the measured interval in seconds.", lambda row: row.run.interval_s
)
_RUNS = FrameColumn(
    "runs", "UInt32", "Number of finished runs.", lambda row: 0 if row.result is None else len(row.result.runs)
)


def _background(row: _PointRow) -> bool | None:
    groups = [] if row.result is None else row.result.groups
    return next((group.background for group in groups if group.name == row.group), None)


def _clients(row: _PointRow) -> int | None:
    groups = [] if row.result is None else row.result.clients
    own = [
        int(group["count"])
        for group in groups
        if (not group.get("background") if row.group is None else group["name"] == row.group)
    ]
    return sum(own) if own else None


def _verdict(of: str) -> list[FrameColumn]:
    return [
        FrameColumn("valid", "Boolean", f"Whether the figures of the {of} are valid.", lambda row: row.valid),
        FrameColumn(
            "reasons", "String", "Codes of the reasons why they are not valid, separated by commas; empty if they "
            "are valid.",
            lambda row: ", ".join(row.reasons),
        ),
    ]  # fmt: skip


def _network() -> list[FrameColumn]:
    """What the emulated network and the emulator did; of all clients together."""
    return [
        FrameColumn(
            "lost_down", "Float64", "Share of the packets to the clients that the loss models dropped.",
            lambda row: None if row.of_all is None else row.of_all.network.down.loss_rate,
        ),
        FrameColumn(
            "lost_up", "Float64", "Share of the packets from the clients that the loss models dropped.",
            lambda row: None if row.of_all is None else row.of_all.network.up.loss_rate,
        ),
        FrameColumn(
            "lag_p99_us", "Float64", "How late the emulator was with packets: 99th percentile in microseconds. Null in "
            "simulation.",
            lambda row: _emulator(row).lag_us.p99,
        ),
    ]  # fmt: skip


def _emulator(row: _PointRow) -> Emulator:
    return (None if row.of_all is None else row.of_all.emulator) or Emulator()


def run_columns(
    percentiles: Sequence[str],
    *,
    by_group: bool = False,
    by_request: bool = False,
    before: Iterable[FrameColumn] = (),
) -> list[FrameColumn]:
    """The columns of frames with a row a run, those of the point ``before``."""
    return [
        *before,
        _RUN,
        *(_GROUPS if by_group else ()),
        *(_REQUESTS if by_request else ()),
        _CLIENTS,
        _INTERVAL,
        *(FrameColumn(column_name(of), "Float64", meaning_of(of), _figure(of)) for of in metrics(percentiles)),
        *outcome_columns(lambda row: row.outcomes),
        *_network(),
        *_verdict("run"),
    ]


def point_columns(
    percentiles: Sequence[str],
    *,
    by_group: bool = False,
    by_request: bool = False,
    swept: Iterable[FrameColumn] = (),
) -> list[FrameColumn]:
    """The columns of frames with a row a point, and those of its ``swept`` fields."""
    return [
        POINT,
        *swept,
        *(_GROUPS if by_group else ()),
        *(_REQUESTS if by_request else ()),
        _CLIENTS,
        _RUNS,
        *(column for of in metrics(percentiles) for column in _estimated(of)),
        *outcome_columns(lambda row: row.outcomes),
        *_network(),
        *_verdict("point"),
    ]


def _figure(of: Metric) -> Callable[[_PointRow], float | None]:
    return lambda row: row.figure(of)


def _estimated(of: Metric) -> Iterator[FrameColumn]:
    """A figure over runs, with its interval if it can have one."""
    column = FrameColumn(column_name(of), "Float64", meaning_of(of), _figure(of))
    if of.name == "max":
        yield column
    else:
        yield from with_interval(column, lambda row: row.ends(of))


def run_frame(results: Result | StudyResult, *, by_group: bool = False, by_request: bool = False) -> pl.DataFrame:
    """A row for each run, of a study at each point; in it for each group of clients, too, if ``by_group``, and for each
    named request and whole sessions if ``by_request``.
    """
    study = study_of(results) if isinstance(results, Result) else results
    before = [] if isinstance(results, Result) else [POINT, *swept_columns([each.varied for each in study.points])]
    rows = [
        _PointRow(point.index, point.varied, point.result, run, of)
        for point in study.points
        if point.result is not None
        for run in point.result.runs
        for of in _parts(point.result, by_group=by_group, by_request=by_request)
    ]
    columns = run_columns(study.percentiles, by_group=by_group, by_request=by_request, before=before)
    return frame_of(columns, rows)


def point_frame(study: StudyResult, *, by_group: bool = False, by_request: bool = False) -> pl.DataFrame:
    """A row for each point; at it for each group of clients, too, if ``by_group``, and for each named request and whole
    sessions if ``by_request``.
    """
    rows = [
        _PointRow(point.index, point.varied, point.result, of=of, failure=point.failure)
        for point in study.points
        for of in _parts(point.result, by_group=by_group, by_request=by_request)
    ]
    swept = swept_columns([point.varied for point in study.points])
    columns = point_columns(study.percentiles, by_group=by_group, by_request=by_request, swept=swept)
    return frame_of(columns, rows)


def _parts(result: Result | None, *, by_group: bool, by_request: bool) -> Iterator[Metric]:
    """What there are rows of: all clients and the groups, each with its requests and sessions."""
    known = Known({}) if result is None else known_in_result(result)
    for group in [None, *(known.groups if by_group else ())]:
        yield replace(_ALL, group=group)
        if by_request:
            names = known.requests if group is None else known.groups[group]
            yield from (replace(_ALL, group=group, request=name) for name in names)
            yield from [replace(_ALL, group=group, sessions=True)] if group in known.sessions else []
