"""What observed links did in the measured intervals of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from waspbench.results.columns import settings, swept
from waspbench.results.estimates import Estimate, estimate_of
from waspbench.results.formats import Record
from waspbench.results.summary import RunLink, RunSummary
from waspbench.tabular import Column, Figures, Listing, decimals, percent, rate_text, whole

if TYPE_CHECKING:
    from waspbench.results.study import StudyResult


class WaitingTime(Record):
    """Times that packets waited in the queue of a link in milliseconds, without transmission.

    All but max are means over the runs, and None if a run has none.
    """

    mean: Estimate | None
    """Mean."""
    p50: Estimate | None
    """Median."""
    p90: Estimate | None
    """90th percentile."""
    p99: Estimate | None
    """99th percentile."""
    max: float | None
    """Longest time in any run; None if no run has one."""


class ObservedLink(Record):
    """One direction of an observed link in the measured intervals, cross traffic included.

    The access links of a group are one entry.
    """

    link: str
    """Name of the link, or of the group whose access links are observed."""
    direction: str
    """Direction: up, down, forward or backward."""
    links: int
    """Number of links: the clients of the group, or 1."""
    rate_bps: int | None
    """Rate of each link in bits a second, or the mean rate of its trace; None without a rate."""
    carried_bps: Estimate
    """Bits per second that the link carried; of several links their mean."""
    utilization: Estimate | None
    """carried_bps / rate_bps; None without a rate, and with a trace."""
    waiting_ms: WaitingTime
    """Times that packets waited in the queue, of all these links together."""
    mean_queue_bytes: Estimate
    """Mean number of bytes in the queue; of several links their mean."""
    max_queue_bytes: int
    """Largest number of bytes in the queue of any of these links in any run."""
    packets: int
    """Packets that arrived at these links, summed over the runs."""
    duplicated: int
    """Copies that these links made."""
    lost: int
    """Packets that the loss model dropped."""
    dropped: int
    """Packets that were dropped for another reason, copies among them."""
    marked: int
    """Packets that the queue marked."""


def observed_links(runs: Sequence[RunSummary]) -> list[ObservedLink]:
    """What observed links did in all runs, which observe the same; runs that were stopped before their interval have
    nothing.
    """
    told = [{(link.link, link.direction): link for link in run.observed} for run in runs if run.observed]
    return [_of_all([links[place] for links in told]) for place in (told[0] if told else ())]


def _of_all(runs: Sequence[RunLink]) -> ObservedLink:
    waits = [run.waiting_ms for run in runs]
    longest = [wait.max for wait in waits if wait.max is not None]
    return ObservedLink(
        link=runs[0].link,
        direction=runs[0].direction,
        links=runs[0].links,
        rate_bps=runs[0].rate_bps,
        carried_bps=estimate_of([run.carried_bps for run in runs]),
        utilization=_estimate([run.utilization for run in runs]),
        waiting_ms=WaitingTime(
            mean=_estimate([wait.mean for wait in waits]),
            p50=_estimate([wait.p50 for wait in waits]),
            p90=_estimate([wait.p90 for wait in waits]),
            p99=_estimate([wait.p99 for wait in waits]),
            max=max(longest, default=None),
        ),
        mean_queue_bytes=estimate_of([run.mean_queue_bytes for run in runs]),
        max_queue_bytes=max(run.max_queue_bytes for run in runs),
        packets=sum(run.packets for run in runs),
        duplicated=sum(run.duplicated for run in runs),
        lost=sum(run.lost for run in runs),
        dropped=sum(run.dropped for run in runs),
        marked=sum(run.marked for run in runs),
    )


def _estimate(values: Sequence[float | None]) -> Estimate | None:
    """The mean over the runs; None where a run has no value."""
    known = [value for value in values if value is not None]
    return estimate_of(known) if len(known) == len(values) else None


LEAST_UTILIZATION = 0.1
LEAST_WAIT_MS = 0.1
"""A link that lost and dropped nothing has a line from either of these on."""


def is_told(link: ObservedLink) -> bool:
    """Whether there is enough to say of a link for a line in a table."""
    if link.lost or link.dropped or link.marked:
        return True
    used = link.utilization.mean if link.utilization else 0.0
    waited = link.waiting_ms.p99.mean if link.waiting_ms.p99 else 0.0
    return link.rate_bps is not None and (used >= LEAST_UTILIZATION or waited >= LEAST_WAIT_MS)


def listing(study: StudyResult) -> Listing | None:
    """The table with a line for each observed link of each point of which there is enough to say; None where there is
    none. A figure ``x`` has its interval beside it as ``x_ci90``.
    """
    results = [(point.varied, point.result) for point in study.points if point.result is not None]
    rows = [
        {**settings(varied), **_row(link)} for varied, result in results for link in result.observed if is_told(link)
    ]
    if not rows:
        return None
    shown = [name for name in _COLUMNS if any(row[name] != _USUAL.get(name) for row in rows)]
    points = swept(varied for varied, _ in results) if len(study.points) > 1 else {}
    return Listing({**points, **{name: _COLUMNS[name] for name in shown}}, rows)


def _row(link: ObservedLink) -> Figures:
    wait = link.waiting_ms
    estimates = {
        "carried_bps": link.carried_bps,
        "utilization": link.utilization,
        "mean_ms": wait.mean,
        "p50_ms": wait.p50,
        "p99_ms": wait.p99,
        "mean_queue_bytes": link.mean_queue_bytes,
    }
    came = link.packets + link.duplicated
    return {
        "link": f"{link.link} {link.direction}",
        "links": link.links,
        "rate_bps": link.rate_bps,
        **{name: found and found.mean for name, found in estimates.items()},
        **{f"{name}_ci90": found and found.ci90 for name, found in estimates.items()},
        "max_ms": wait.max,
        "max_queue_bytes": link.max_queue_bytes,
        **{name: getattr(link, name) / came if came else 0.0 for name in ("lost", "dropped", "marked")},
    }


def interval(name: str, row: Figures) -> str:
    """The interval of a figure in a row of `listing`, in words; empty where there is none."""
    found = row.get(f"{name}_ci90")
    return "" if found is None else " to ".join(_COLUMNS[name].text(end) for end in found)


def _mega(bps: float) -> str:
    return f"{bps / 1e6:,.2f}"


def _kib(size: float) -> str:
    return f"{size / 1024:,.1f}"


_USUAL = {"links": 1, "lost": 0, "marked": 0}
"""Columns that are left out where all rows have the usual value."""

_COLUMNS = {
    "link": Column("link", left=True),
    "links": Column("links", whole),
    "rate_bps": Column("rate", rate_text),
    "carried_bps": Column("Mbit/s", _mega),
    "utilization": Column("use %", percent()),
    "mean_ms": Column("wait ms", decimals(2)),
    "p50_ms": Column("wait p50", decimals(2)),
    "p99_ms": Column("wait p99", decimals(2)),
    "max_ms": Column("wait max", decimals(2)),
    "mean_queue_bytes": Column("queue KiB", _kib),
    "max_queue_bytes": Column("max KiB", _kib),
    "lost": Column("lost %", percent(2)),
    "dropped": Column("dropped %", percent(2)),
    "marked": Column("marked %", percent(2)),
}
