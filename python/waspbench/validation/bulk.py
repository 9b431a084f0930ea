"""Bulk transfers under loss: the rate against PFTK, the variants against each other, CUBIC's window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from waspbench.results import RunSummary
from waspbench.runner.batch import simulate
from waspbench.stats import mean_interval, theory
from waspbench.validation.figure import Figure, Point
from waspbench.validation.page import Bar, Row, Table
from waspbench.validation.simulation import EXACT, mean, scenario, shown

MSS = 1460
BULK = "100GB"
WIDE = EXACT | {"receive_buffer": "64MiB", "send_buffer": "64MiB", "timestamps": False}
RENO = WIDE | {"congestion": "reno", "ack_counting": "acks", "limited_transmit": False, "min_rto": "1s"}
DELAYED = WIDE | {"delayed_ack": "200ms", "quickack_segments": 0}
EVERY_SEGMENT = WIDE | {"delayed_ack": "0ms", "quickack_segments": 0}

FLOWS, RUNS, WARMUP = 8, 5, 20.0


@dataclass(frozen=True)
class _Point:
    loss: float
    rtt: float
    recovery: str
    duration: float


def _loss(rate: float) -> dict[str, object]:
    return {"model": "independent", "rate": f"{100 * rate:g}%"}


def _bulk(point: _Point) -> dict[str, Any]:
    sack = point.recovery in ("sack", "rack")
    return scenario(
        rtt=point.rtt,
        size=BULK,
        down=_loss(point.loss),
        server=RENO | {"recovery": point.recovery, "sack": sack},
        client=DELAYED | {"sack": sack},
        count=FLOWS,
        warmup=WARMUP,
        duration=point.duration,
        kept=True,
    )


def _all_runs(points: Sequence[_Point]) -> dict[_Point, list[RunSummary]]:
    """Every run of every point."""
    made = simulate([_bulk(point) for point in points], RUNS)
    return {point: [run.summary for run in runs] for point, runs in zip(points, made, strict=True)}


def _rate(summary: RunSummary) -> float:
    """Segments that a sender sent in a second."""
    return summary.network.down.packets / summary.interval_s / FLOWS


def _duration(loss: float, rtt: float, events: int) -> float:
    """Seconds in which all flows of all runs meet about so many losses."""
    expected = theory.pftk(theory.Path(loss, rtt, 1.0 + rtt, 2))
    return max(30.0, events / (expected * loss * FLOWS * RUNS))


def pftk(events: int = 3_500) -> Table:
    """Reno's rate against PFTK."""
    points = [
        _Point(loss, rtt, "reno", _duration(loss, rtt, events))
        for rtt in (0.05, 0.1)
        for loss in (0.001, 0.003, 0.01, 0.03)
    ]
    rows, marks, bar = [], [], Bar.within(0.25)
    for point, runs in _all_runs(points).items():
        tcp = [run.server_tcp for run in runs if run.server_tcp is not None]
        met = sum(one.first_timeouts + one.fast_retransmits for one in tcp)
        firsts = sum(one.first_timeouts for one in tcp)
        rto = sum(one.first_timeouts_ms for one in tcp) / firsts / 1e3 if firsts else 1.0 + point.rtt
        rates = [_rate(run) for run in runs]
        expected = theory.pftk(theory.Path(point.loss, point.rtt, rto, 2))
        ratio = mean(rates) / expected
        cells = (
            f"{point.rtt * 1e3:g} ms",
            f"{100 * point.loss:g} %",
            f"{met:,}",
            f"{rto:.2f} s",
            shown(rates),
            f"{expected:.3g}",
            f"{ratio:.2f}",
        )
        rows.append(Row(cells, bar.met(ratio) and met >= 2_000))
        marks.append(Point(expected, mean(rates), mean_interval(rates), f"{point.rtt * 1e3:g} ms"))
    return Table(
        "pftk",
        "Bulk transfers of Reno against PFTK",
        f"{FLOWS} senders `reno` that count acknowledgments, without limited transmit and with a window that nothing "
        "else limits, send without end to receivers that acknowledge every second segment (b = 2); data segments "
        f"are lost independently; {RUNS} runs. Expected is the sending rate of the full model of PFTK with p the "
        "loss rate and T0 the mean length of the first timeouts that happened.",
        "within 25 % of the model, with at least 2,000 loss events a point.",
        ("RTT", "p", "loss events", "T0", "segments/s a sender", "PFTK", "ratio"),
        rows,
        "A loss event is a fast retransmission or the first of a row of timeouts. Acknowledgments are not lost.",
        Figure(tuple(marks), "segments/s", bar.low, bar.high),
    )


VARIANTS = ("reno", "newreno", "sack", "rack")


def variants(events: int = 3_000) -> Table:
    """The variants on common loss streams."""
    paths = [(loss, rtt) for rtt in (0.05, 0.1) for loss in (0.003, 0.01, 0.03)]
    points = [_Point(loss, rtt, variant, _duration(loss, rtt, events)) for loss, rtt in paths for variant in VARIANTS]
    rates = {
        (point.loss, point.rtt, point.recovery): [_rate(run) for run in runs]
        for point, runs in _all_runs(points).items()
    }
    rows = []
    for loss, rtt in paths:
        by = {variant: rates[loss, rtt, variant] for variant in VARIANTS}
        pairs = [("newreno", "reno"), ("sack", "newreno"), ("rack", "sack")]
        ratios = {pair: [a / b for a, b in zip(by[pair[0]], by[pair[1]], strict=True)] for pair in pairs}
        held = all(mean(ratios[pair]) >= 0.95 for pair in pairs[:2]) if loss >= 0.01 else None
        cells = (f"{rtt * 1e3:g} ms", f"{100 * loss:g} %", shown(by["reno"]), *(shown(ratios[pair]) for pair in pairs))
        rows.append(Row(cells, held))
    return Table(
        "variants",
        "Recovery variants on common loss streams",
        "As before, for each variant on the same draws: packet n of a connection meets the same decision whatever "
        f"sends it. Ratios are of sending rates, run by run, {RUNS} runs.",
        "at 1 % and above, SACK at least 0.95 of NewReno, and NewReno at least 0.95 of Reno.",
        ("RTT", "p", "reno, segments/s", "newreno / reno", "sack / newreno", "rack / sack"),
        rows,
    )


def cubic(losses: int = 40) -> Table:
    """CUBIC's mean window against RFC 9438."""
    paths = [(1e-4, 0.1), (1e-4, 0.2), (1e-5, 0.1), (1e-5, 0.2), (1e-3, 0.02)]

    def document(loss: float, rtt: float) -> dict[str, Any]:
        expected = max(theory.cubic_window(loss, rtt), theory.aimd_window(loss))
        epoch = rtt / loss / expected
        return scenario(
            rtt=rtt,
            size=BULK,
            down={"model": "periodic", "every": round(1 / loss)},
            server={"recovery": "rack", "congestion": "cubic", "cubic": "rfc9438", "hystart": False}
            | WIDE
            | {"receive_buffer": "1MiB"},
            client=EVERY_SEGMENT | {"receive_buffer": "12MiB"},
            count=1,
            warmup=15 * epoch,
            duration=losses * epoch,
            kept=True,
        )

    bar, rows, marks = Bar.within(0.2), [], []
    made = simulate([document(*path) for path in paths])
    for (loss, rtt), [run] in zip(paths, made, strict=True):
        measured = run.summary.network.down.packets / run.summary.interval_s * rtt
        concave, linear = theory.cubic_window(loss, rtt), theory.aimd_window(loss)
        expected, region = (concave, "cubic") if concave > linear else (linear, "Reno-friendly")
        ratio = measured / expected
        cells = (
            f"{rtt * 1e3:g} ms",
            f"1 in {1 / loss:,.0f}",
            region,
            f"{measured:.4g}",
            f"{expected:.4g}",
            f"{ratio:.2f}",
        )
        rows.append(Row(cells, bar.met(ratio)))
        marks.append(Point(expected, measured, None, region))
    return Table(
        "cubic",
        "CUBIC's window against RFC 9438",
        "One sender `cubic` of RFC 9438 (HyStart++ off) with `rack`, every segment acknowledged, exactly one packet of "
        f"every 1/p lost; the mean window is the sending rate times the round-trip time over {losses} periods after "
        "15. Expected is the formula of section 5.1, or that of Reno's window, sqrt(3/2p), where that is larger.",
        "within 20 %.",
        ("RTT", "loss", "region", "mean window, segments", "RFC 9438", "ratio"),
        rows,
        "Nothing is random here, so there is no interval.",
        Figure(tuple(marks), "window, segments", bar.low, bar.high),
    )
