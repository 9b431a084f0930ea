"""An engine that does nothing: it answers like the real one, at once, with figures that follow from the scenario.

It tells a part of what the real one does, and nothing else (tests/test_fake_core.py). `FakeEngine.install` puts it in
the place of the engine's part of ``waspbench._core``; parsers stay the real ones.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

import polars as pl
import pytest

from waspbench import _core
from waspbench.results.tables import TABLES

STARTED = inspect.signature(_core.start)
"""What the real engine is started with."""

OUTCOMES = {"ok": 6400, "reset": 1, "refused": 0}


def direction(packets: int, lost: int) -> dict[str, Any]:
    return {
        "packets": packets,
        "lost": lost,
        "loss_rate": lost / packets,
        "dropped": 1,
        "dropped_early": 0,
        "marked": 0,
        "corrupted": 0,
        "duplicated": 0,
        "held": 0,
        "reordered": 0,
        "expected_loss_rate": 0.03,
        "expected_standard_error": 0.001,
        "stationary_loss_rate": 0.03,
    }


def summary_of(scenario: dict[str, Any], interval: float, invalid: list[dict[str, str]]) -> dict[str, Any]:
    """Throughput is 640 + 10 a run."""
    run = scenario["run"]
    return {
        "interval_s": interval,
        "throughput": 640.0 + 10 * run,
        "goodput_bps": 5_242_880.0,
        "outcomes": OUTCOMES,
        "statuses": {"200": 6400},
        "by_group": [
            {"name": group["name"], "outcomes": OUTCOMES, "statuses": {"200": 6400}}
            for group in scenario["clients"][:1]
        ],
        "retried": 2,
        "response_time_ms": {"mean": 100.0 + run, "p50": 100.0, "p90": 110.0, "p99": 300.0, "max": 301.0 + run},
        "server_cpu": {"busy": 0.42, "steal": None, "processes_s": None},
        "emulator": None,
        "network": {"up": direction(7000, 210), "down": direction(8000, 240)},
        "fates": {"delivered": 14_548, "random loss": 450, "queue full": 2},
        "packets": {"made": 15_000, "in_flight": 0},
        "device": None,
        "tcpext": None,
        "groups": [group["name"] for group in scenario["clients"]],
        "little": {"integral_s": 1.0, "records_s": 1.0},
        "invalid": invalid,
    }


def typed(table: str, columns: dict[str, list[Any]]) -> pl.DataFrame:
    """A table of a run, which has some of its columns."""
    kinds = {name: getattr(pl, kind) for name, kind, _ in TABLES[table][1]}
    return pl.DataFrame(columns, schema={name: kinds[name] for name in columns})


def tables_of(scenario: dict[str, Any]) -> dict[str, pl.DataFrame]:
    run = scenario["run"]
    late = 1 + run % 64  # pilots have large numbers
    return {
        "transactions": typed(
            "transactions", {"client": [0, 1], "request": [0, 0], "end_ns": [run, 2], "outcome": ["ok", "reset"]}
        ),
        "series": typed("series", {"second": [0, 1], "ok": [10, 20]}),
        "histogram": typed(
            "histogram",
            {
                "group": [None, None],
                "population": ["ok", "ok"],
                "lower_ns": [100_000_000, 300_000_000],
                "upper_ns": [100_131_071, 300_220_000],
                "count": [6400 - 127 - late, 127 + late],
            },
        ),
    }


class FakeResult:
    def __init__(self, scenario: dict[str, Any], interval: float, invalid: list[dict[str, str]]) -> None:
        self._scenario, self._interval, self._invalid = scenario, interval, invalid

    def summary(self) -> str:
        return json.dumps(summary_of(self._scenario, self._interval, self._invalid))

    def tables(self) -> dict[str, pl.DataFrame]:
        return tables_of(self._scenario)


class FakeHandle:
    """A run of three samples."""

    def __init__(self, engine: FakeEngine, scenario: dict[str, Any]) -> None:
        self._engine, self._scenario = engine, scenario
        self._second = 0
        self._stopped = False

    def next_sample(self, timeout_s: float) -> dict[str, Any] | None:
        if self._engine.interrupt_at == (self._scenario["run"], self._second):
            self._engine.interrupt_at = None
            raise KeyboardInterrupt
        if self.done():
            return None
        self._second += 1
        return {
            "elapsed": float(self._second),
            "measuring": self._second > 1,
            "throughput": 640.0,
            "in_flight": 256,
            "completed": 640 * self._second,
            "errors": 0,
        }

    def done(self) -> bool:
        return self._stopped or self._second == 3

    def stop(self) -> None:
        self._stopped = True

    def wait(self) -> FakeResult:
        if self._engine.fail_in == self._scenario["run"]:
            raise _core.EngineError("the packet device failed: gone")
        interval = max(self._second - 1.0, 0.0) if self._stopped else 10.0
        stopped = [{"code": "stopped", "message": f"stopped after {interval:.0f}s of 10s measured"}]
        return FakeResult(self._scenario, interval, self._engine.invalid + (stopped if self._stopped else []))


class FakeEngine:
    """What the fake engine was asked, and what it shall do."""

    def __init__(self) -> None:
        self.scenarios: list[dict[str, Any]] = []
        self.options: list[dict[str, Any]] = []
        self.interrupt_at: tuple[int, int] | None = None
        self.fail_in: int | None = None
        self.invalid: list[dict[str, str]] = []
        self.refusal: tuple[str, str] | None = None

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(_core, "start", self.start)
        patch.setattr(_core, "check_scenario", self.check_scenario)
        patch.setattr(_core, "profile", lambda: "release")

    def start(self, scenario: str, **options: Any) -> FakeHandle:
        STARTED.bind(scenario, **options)
        self.scenarios.append(json.loads(scenario))
        self.options.append(options)
        return FakeHandle(self, self.scenarios[-1])

    def check_scenario(self, scenario: str) -> None:
        if self.refusal is not None:
            field, message = self.refusal
            refused = _core.ScenarioError(f"{field}: {message}")
            refused.field, refused.message = field, message
            raise refused
