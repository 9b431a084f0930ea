"""Short transfers: the round trips of slow start without loss, Cardwell's model with it."""

from __future__ import annotations

import math
from typing import Any

from waspbench.runner.batch import simulate
from waspbench.stats import mean_interval, theory
from waspbench.validation.bulk import MSS
from waspbench.validation.figure import Figure, Point
from waspbench.validation.page import Bar, Row, Table
from waspbench.validation.simulation import EXACT, mean, response_time, scenario, shown

KB = 1000
SIZES = (1 * KB, 20 * KB, 64 * KB, 500 * KB)
HEAD = 100
"""More than the head of the modelled server's response takes."""

RTT, INITIAL_WINDOW, SYN_TIMEOUT, MIN_RTO, WINDOW = 0.1, 1, 3.0, 1.0, 44
"""``WINDOW`` segments are 64 KiB, all that is advertised without window scaling."""

SERVER = EXACT | {
    "recovery": "reno",
    "congestion": "reno",
    "ack_counting": "acks",
    "sack": False,
    "timestamps": False,
    "window_scaling": False,
    "limited_transmit": False,
    "initial_window": INITIAL_WINDOW,
    "initial_rto": f"{SYN_TIMEOUT:g}s",
    "min_rto": f"{MIN_RTO:g}s",
    "syn_linear_timeouts": 0,
}
CLIENT = EXACT | {
    "sack": False,
    "timestamps": False,
    "window_scaling": False,
    "delayed_ack": "0ms",
    "initial_rto": f"{SYN_TIMEOUT:g}s",
    "syn_linear_timeouts": 0,
}


def segments_of(size: int) -> int:
    """Segments of a response, its head included."""
    return math.ceil((size + HEAD) / MSS)


def slow_start() -> Table:
    """The time without loss against the count of round trips."""
    cases = [(size, window) for window in (1, 2, 10) for size in SIZES]

    def document(size: int, window: int) -> dict[str, Any]:
        return scenario(
            rtt=RTT,
            size=f"{size}B",
            down=None,
            server=EXACT | {"initial_window": window, "timestamps": False},
            client=EXACT | {"delayed_ack": "0ms", "timestamps": False},
            count=4,
            warmup=2,
            duration=20,
        )

    rows = []
    made = simulate([document(*case) for case in cases])
    for (size, window), [run] in zip(cases, made, strict=True):
        middle, most = run.summary.response_time_ms.mean, run.summary.response_time_ms.max
        rounds = theory.doubling_rounds(segments_of(size), window)
        expected = 1e3 * RTT * (1 + rounds)
        equal = middle == expected and most is not None and abs(most / expected - 1) < 1e-3
        cells = (f"{size // KB} KB", str(window), str(rounds), f"{expected:.9g} ms", f"{middle:.9g} ms")
        rows.append(Row(cells, equal))
    return Table(
        "slow-start",
        "Slow start without loss",
        "Response time (from `connect()` to the last byte) over a path of 100 ms without loss, every segment "
        "acknowledged, from a server whose work takes no time; the window doubles each round trip, after one for "
        "the handshake.",
        "equal to the nanosecond in the mean, the greatest time within 0.1 %.",
        ("size", "initial window", "rounds", "expected", "measured"),
        rows,
    )


def cardwell(transactions: int = 3_000) -> Table:
    """Response times under loss against Cardwell's model."""
    runs, count = 5, 16
    cases = [(size, loss) for size in SIZES for loss in (0.001, 0.003, 0.01)]

    def path(loss: float) -> theory.Path:
        return theory.Path(loss, RTT, MIN_RTO + RTT, 1, WINDOW)

    def expected(size: int, loss: float) -> float:
        return theory.cardwell(path(loss), segments_of(size), INITIAL_WINDOW, SYN_TIMEOUT)

    def document(size: int, loss: float) -> dict[str, Any]:
        return scenario(
            rtt=RTT,
            size=f"{size}B",
            down={"model": "independent", "rate": f"{100 * loss:g}%"},
            server=SERVER,
            client=CLIENT,
            count=count,
            warmup=10,
            duration=max(20.0, transactions * expected(size, loss) / count / runs),
        )

    made = simulate([document(*case) for case in cases], runs)
    found = {case: [response_time(run) for run in all_runs] for case, all_runs in zip(cases, made, strict=True)}
    rows, marks, bar = [], [], Bar.within(0.25)
    for size, loss in cases:
        model, values = expected(size, loss), found[size, loss]
        ratio = mean(values) / model
        cells = (f"{size // KB} KB", f"{100 * loss:g} %", f"{shown(values)} s", f"{model:.3g} s", f"{ratio:.2f}")
        rows.append(Row(cells, bar.met(ratio)))
        marks.append(Point(model, mean(values), mean_interval(values), f"{100 * loss:g} %"))
    return Table(
        "cardwell",
        "Short transfers under loss against Cardwell's model",
        f"Mean response time of `reno` over a path of {RTT * 1e3:g} ms that loses what the server sends "
        f"independently; every segment acknowledged (b = 1, no T_delack). w1 = {INITIAL_WINDOW} segments, W_m = "
        f"{WINDOW}, T0 = {MIN_RTO + RTT:g} s, SYN timeout {SYN_TIMEOUT:g} s, E[d_ss] = min(d, equation 5); the "
        f"SYN-ACK can be lost, the client's packets cannot. {runs} runs.",
        "within 25 % of the model.",
        ("size", "p", "measured", "Cardwell", "ratio"),
        rows,
        figure=Figure(tuple(marks), "response time, s", bar.low, bar.high),
    )
