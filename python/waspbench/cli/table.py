"""Results as plain text that fits 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from waspbench.cli.drawing import drawing
from waspbench.colour import paint
from waspbench.results import Result, Waits, errors, wording
from waspbench.results.columns import GROUP, every, of_groups
from waspbench.results.ecn import ecn_of, ecn_text
from waspbench.results.estimates import ResponseTime
from waspbench.results.lines import key_of_row, told_of_sessions
from waspbench.results.parts import WHOLE_SESSIONS
from waspbench.results.result import OpenLoop
from waspbench.results.workload import arrival_text, asked_text, workload_lines
from waspbench.tabular import NONE, Column, Figures, Listing, aligned, decimals, filled, percent

WIDTH = 80
_LABEL = 16

_WIDEST = 20
"""Characters of a column of results side by side, beyond which words go on below."""


def report(result: Result, below: Sequence[str] = ()) -> str:
    """The table that ``wasp bench`` prints; ``below`` are the lines of the tables of observed links and of the server's
    work.
    """
    lines = [
        title(result),
        "",
        *_labelled("workload", workload_lines(result.scenario, result.site)),
    ]
    lines += [] if result.asked is None else _wrapped("asked for", asked_text(result.asked))
    by_group = (result.asked_by_group or {}).items()
    lines += _labelled("asked for", [f"{name}: {asked_text(asked)}" for name, asked in by_group])
    if result.lengths is not None and result.lengths.why is None:
        lines += _wrapped("lengths", result.lengths.text)
    lines += [*_figures(result), *_groups(result), *_requests(result), *below, *drawing(result), "", *_verdict(result)]
    if result.results:
        lines.append(_row("results", result.results))
    return "\n".join(lines) + "\n"


def title(result: Result) -> str:
    """What was measured, in one or two lines."""
    return textwrap.fill(wording.title(result), WIDTH - 1, subsequent_indent="  ")


def _figures(result: Result) -> list[str]:
    time, cpu, emulator = result.response_time_ms, result.server_cpu, result.emulator
    lines = [
        _row("throughput", f"{result.throughput.mean:,.1f} /s{_interval(result.throughput.ci90)}"),
        _row("goodput", f"{result.goodput_bps.mean / 1e6:,.2f} Mbit/s{_interval(result.goodput_bps.ci90, 1e-6, 2)}"),
        _row("response time", f"mean {_ms(time.mean)}{_interval(time.ci90)}"),
        *_percentiles(time, result.percentiles),
        *_open_loop(result.open_loop, arrival_text(result.scenario)),
        *_wrapped("outcomes", _outcomes(result)),
        *([] if not result.errors else [_row("errors", f"{100 * result.errors:.2f} %")]),
        _row(
            "server CPU",
            f"{_percent(cpu.busy)} busy"
            + ("" if cpu.others is None else f", {_percent(cpu.others)} by other programs")
            + ("" if cpu.steal is None else f", {_percent(cpu.steal)} stolen"),
        ),
    ]
    if emulator.cpu is not None:
        lines.append(_row("emulator", f"{_percent(emulator.cpu)} busy, lag {_waits(emulator.lag_us)}"))
        if emulator.unread_us.p99 is not None:
            lines.append(_row("", f"frames unread for at most {_waits(emulator.unread_us)}"))
        if emulator.others is not None and emulator.run_delay is not None:
            others, delay = _percent(emulator.others), _percent(emulator.run_delay)
            lines.append(_row("", f"{others} of its CPU used by other programs, run delay {delay}"))
    lines += _wrapped("network down", wording.direction(result.network.down))
    lines += _wrapped("network up", wording.direction(result.network.up))
    used = ecn_of(result.runs)
    lines += [] if used is None else _wrapped("ECN", ecn_text(used))
    for traffic in result.cross_traffic:
        lines += _wrapped("cross traffic", wording.carried(traffic))
    return lines


def _percentiles(time: ResponseTime, names: Sequence[str]) -> list[str]:
    """The percentiles ``names``, each with its interval; side by side where no interval exists."""
    if all(time.ci90_at(name) is None for name in names):
        shown = [f"{name} {_ms(time.at(name))}" for name in (*names, "max")]
        return [_row("", line) for line in filled(shown, WIDTH - 1 - _LABEL, "   ")]
    widest = max(map(len, names)) + 2
    lines = [_row("", f"{name:<{widest}}{_ms(time.at(name))}{_interval(time.ci90_at(name))}") for name in names]
    return [*lines, _row("", f"{'max':<{widest}}{_ms(time.max)}")]


def _groups(result: Result) -> list[str]:
    """A line for each group of clients, where there are several."""
    if len(result.groups) < 2:
        return []
    rows = [row for row in result.listing.rows if row["group"] is not None]
    return ["", *Listing({"group": GROUP, **of_groups(result.percentiles)}, rows).terminal()]


def _requests(result: Result) -> list[str]:
    """A line for each named request, and what became of those that were not ok."""
    listing = result.listing_by_request
    if not listing.rows:
        return []
    columns = {name: column for name, column in listing.columns.items() if name != "outcomes"}
    requests = [row for row in listing.rows if row["request"] != WHOLE_SESSIONS]
    failed = [row for row in requests if (row["errors"] or 0.0) > errors.NOTED]
    told = [f"{key_of_row(row).said}: {errors.text(row['outcomes'] or {}, row['statuses'])}" for row in failed]
    told += told_of_sessions(result)
    return ["", *Listing(columns, listing.rows).terminal(), *(line for text in told for line in _wrapped("", text))]


def _outcomes(result: Result) -> str:
    counts = errors.text(result.outcomes, result.statuses)
    return counts + (f"; {result.retried:,d} of them made once more" if result.retried else "")


def _open_loop(loop: OpenLoop | None, offered: str) -> list[str]:
    if loop is None:
        return []
    time = loop.from_start_ms
    shed = f", {loop.shed:,d} shed" if loop.shed else ""
    return [
        _row(offered, f"{loop.arrivals.mean:,.1f} /s offered, of which {loop.begun.mean:,.1f} /s began{shed}"),
        _row(
            "from the start", f"mean {_ms(time.mean)}   p50 {_ms(time.p50)}   p99 {_ms(time.p99)}   max {_ms(time.max)}"
        ),
    ]


def _verdict(result: Result) -> list[str]:
    said = [line for note in result.notes for line in _wrapped("note", note)]
    if result.valid:
        return [_row("valid", "; ".join(filter(None, ["yes", wording.hidden(result)]))), *said]
    lines = [_row("valid", paint("NO: do not trust these figures", "bad"))]
    for reason in result.invalid_reasons:
        where = "" if reason.run is None else f"run {reason.run + 1}: "
        lines += _wrapped("", f"- {where}{reason.message} [{reason.code}]")
    if result.advice is not None:
        lines += _wrapped("advice", result.advice.text)
    return lines + said


_BESIDE: dict[str, Column] = {
    "lost_down": Column("lost packets down (%)", percent(2)),
    "lost_up": Column("lost packets up (%)", percent(2)),
    "lag_us": Column("emulator lag p99 (us)", decimals(0)),
    "unread_us": Column("frames unread p99 (us)", decimals(0)),
}
"""The last lines of results side by side."""


def compare(named: Mapping[str, Result]) -> str:
    """Results side by side, the last against the first."""
    rows = [_beside(result) for result in named.values()]
    percentiles = next(iter(named.values())).percentiles
    several = len(rows) > 1
    found = []
    for name, column in {**every(percentiles), **_BESIDE}.items():
        figures = [row.get(name) for row in rows]
        if any(figure is not None for figure in figures):
            cells = [textwrap.fill(column.cell(name, row), _WIDEST) for row in rows]
            change = [_change(figures[0], figures[-1])] if several else []
            found.append([column.label or column.head, *cells, *change])
    heads = ["", *named, *(["change"] if several else [])]
    return "\n".join(aligned(heads, found, [not head for head in heads])) + "\n"


def _beside(result: Result) -> Figures:
    network, emulator = result.network, result.emulator
    return {
        **result.line.figures,
        "lost_down": network.down.loss_rate,
        "lost_up": network.up.loss_rate,
        "lag_us": emulator.lag_us.p99,
        "unread_us": emulator.unread_us.p99,
    }


def _change(first: Any, last: Any) -> str:
    if not isinstance(first, float) or not isinstance(last, float) or first == 0:
        return ""
    ratio = last / first
    return f"{ratio:.1f} x" if ratio >= 2 else f"{100 * (ratio - 1):+.0f} %"


def _row(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}".rstrip()


def _wrapped(label: str, text: str) -> list[str]:
    return _labelled(label, [text])


def _labelled(label: str, texts: Iterable[str]) -> list[str]:
    """Texts below each other, the first of them with the label."""
    lines = [line for text in texts for line in textwrap.wrap(text, WIDTH - 1 - _LABEL) or ["none"]]
    return [_row(label if index == 0 else "", line) for index, line in enumerate(lines)]


def _interval(interval: tuple[float, float] | None, scale: float = 1.0, digits: int = 1) -> str:
    if interval is None:
        return ""
    low, high = (value * scale for value in interval)
    return f"   (90 %: {low:,.{digits}f} to {high:,.{digits}f})"


def _ms(value: float | None) -> str:
    return NONE if value is None else f"{value:,.1f} ms"


def _us(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f} us"


def _waits(waits: Waits) -> str:
    return f"p50 {_us(waits.p50)}, p99 {_us(waits.p99)}, max {_us(waits.max)}"


def _percent(part: float | None) -> str:
    return NONE if part is None else f"{100 * part:.1f} %"
