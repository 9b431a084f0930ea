"""Experiments for a validation, and its figures over many seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from waspbench.runner.batch import Simulated
from waspbench.stats import mean_interval

NO_WORK = {"cores": 1, "per_connection": "0ms", "per_request": "0ms", "per_kib": "0ms"}
"""A server whose CPU takes no time."""

EXACT: dict[str, Any] = {"timer_slack": "none", "timer_granularity": "1ms", "segmentation_offload": False}
"""Timers that end when they are due, and segments that leave one by one, as formulas have it."""


def scenario(
    *,
    rtt: float,
    size: str,
    down: Mapping[str, Any] | None,
    server: Mapping[str, Any],
    client: Mapping[str, Any],
    count: int,
    warmup: float,
    duration: float,
    kept: bool = False,
    up: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """An experiment of one group behind a path that only delays and loses. Times are in seconds."""
    loss = {way: dict(side) for way, side in (("up", up), ("down", down)) if side is not None}
    group = {
        "name": "clients",
        "count": count,
        "rtt": f"{round(rtt * 1e6)}us",
        "http": {"timeout": "24h"} if kept else {"timeout": "24h", "requests_per_connection": 1},
        "tcp": dict(client),
    }
    return {
        "name": "validation",
        "workload": {"size": size},
        "server": {"tcp": dict(server), "model": NO_WORK},
        "clients": [group | ({"loss": loss} if loss else {})],
        "measure": {"warmup": f"{round(warmup * 1e3)}ms", "duration": f"{round(duration * 1e3)}ms", "runs": 1},
    }


def response_time(run: Simulated) -> float:
    """The mean response time in seconds."""
    found = run.summary.response_time_ms.mean
    assert found is not None, "a run of a valid scenario has transactions"
    return found / 1e3


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return sum(values) / len(values)


def shown(values: Sequence[float], digits: int = 3) -> str:
    """The mean with its interval."""
    interval = mean_interval(values)
    middle = _digits(mean(values), digits)
    return (
        middle if interval is None else f"{middle} ({_digits(interval[0], digits)} to {_digits(interval[1], digits)})"
    )


def _digits(value: float, digits: int) -> str:
    """With so many significant digits, or all that are before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
