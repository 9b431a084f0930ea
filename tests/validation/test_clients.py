"""What is judged of a point of the comparison of clients, from runs made up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from waspbench.cli.app import invoke
from waspbench.cli.status import Status
from waspbench.validation import clients
from waspbench.validation.clients import CLIENT_CASES, PAIRS
from waspbench.validation.page import Row
from waspbench.validation.programs import Seen

FAIR = Seen(
    responses=6_000,
    failed=0,
    rate=600.0,
    mean=180.0,
    p90=300.0,
    packets=12.0,
    cpu_us=700.0,
    busy=0.45,
    steal=0.0,
    lag_us=150.0,
    emulator=0.5,
    against=(),
)


def measured(
    monkeypatch: pytest.MonkeyPatch, kernel: Iterator[Seen], emulated: Iterator[Seen]
) -> tuple[Row, list[str]]:
    """The line of a point whose runs show this, and the order in which they were made."""
    order: list[str] = []

    def made(name: str, seen: Iterator[Seen]) -> Any:
        def run(_document: dict[str, Any], _run: int) -> Seen:
            order.append(name)
            return next(seen)

        return run

    monkeypatch.setattr(clients, "await_quiet", lambda: None)
    monkeypatch.setattr(clients, "programs", made("kernel", kernel))
    monkeypatch.setattr(clients, "emulated", made("emulated", emulated))
    found, refused = clients.pairs(CLIENT_CASES[0])
    return clients.row(CLIENT_CASES[0], found, refused), order


def varied(**fields: float) -> Iterator[Seen]:
    """Runs that vary by a little about a fair one with these figures."""
    one = replace(FAIR, **fields)  # type: ignore[arg-type]
    for number in count():
        part = 1 + 0.01 * (-1) ** number
        yield replace(one, mean=one.mean * part, p90=one.p90 * part)


@pytest.mark.parametrize(
    ("fields", "met"),
    [
        ({}, True),
        ({"mean": 188.0, "p90": 288.0, "packets": 13.0, "cpu_us": 640.0}, True),
        ({"mean": 190.0}, False),
        ({"p90": 284.0}, False),
        ({"packets": 10.7}, False),
        ({"cpu_us": 775.0}, False),
    ],
)
def test_every_ratio_must_be_within_its_bar(
    fields: dict[str, float], met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, order = measured(monkeypatch, varied(), varied(**fields))
    assert row.met is met
    assert row.unjudged == ""
    assert row.cells[4] == "42,000 / 42,000"
    assert order == ["kernel", "emulated", "emulated", "kernel"] * 3 + ["kernel", "emulated"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"steal": 0.01}, "steal"),
        ({"busy": 0.61}, "server 61 % busy"),
        ({"busy": 0.19}, "server 19 % busy"),
        ({"rate": 640.0}, "unequal rates"),
        ({"against": ("lag",)}, "lag"),
    ],
)
def test_a_disturbed_pair_does_not_count_and_is_made_again(
    fields: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(runs: int) -> Iterator[Seen]:
        for number, seen in enumerate(varied()):
            yield replace(seen, **fields) if number < runs else seen

    # The second run of a pair is not made where the first is spoilt, which is every other one.
    alone = reason != "unequal rates"
    row, order = measured(monkeypatch, varied(), spoilt(3))
    assert row.met is True
    assert len(order) == 2 * (PAIRS + 3) - alone
    row, order = measured(monkeypatch, varied(), spoilt(clients.ATTEMPTS - PAIRS + 1))
    assert row.unjudged == f"only {PAIRS - 1} of {PAIRS} pairs"
    row, order = measured(monkeypatch, varied(), spoilt(clients.ATTEMPTS))
    assert row.unjudged == f"no pair counts: {reason}"
    assert len(order) == 2 * clients.ATTEMPTS - alone * clients.ATTEMPTS // 2


@pytest.mark.parametrize(
    ("busy", "expected"), [(0.15, 355), (0.45, 140), (0.55, 97), (0.02, 2_240), (2.5, 21), (0.0, 140)]
)
def test_the_number_of_clients_follows_the_machine(busy: float, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def programs(document: dict[str, Any], _run: int) -> Seen:
        """Each client keeps the server busy for as long, which is never busier than all the time."""
        return replace(FAIR, busy=min(busy * document["clients"][0]["count"] / CLIENT_CASES[4].clients, 1.0))

    monkeypatch.setattr(clients, "await_quiet", lambda: None)
    monkeypatch.setattr(clients, "programs", programs)
    assert clients.fitted(CLIENT_CASES[4], 0).clients == expected


@pytest.mark.parametrize(("bears", "expected"), [(400, 355), (300, 284), (230, 227), (120, 112), (10, 46)])
def test_the_number_of_clients_is_no_more_than_the_emulator_bears(
    bears: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def programs(document: dict[str, Any], _run: int) -> Seen:
        count = document["clients"][0]["count"]
        return replace(FAIR, busy=0.15 * count / 140, against=("unread",) if count > bears else ())

    monkeypatch.setattr(clients, "await_quiet", lambda: None)
    monkeypatch.setattr(clients, "programs", programs)
    assert clients.fitted(CLIENT_CASES[4], 0).clients == expected


@pytest.mark.parametrize(("taken", "looks"), [([0.0], 1), ([0.2, 0.01, 0.009], 3), ([None], 1), ([0.2] * 60, 60)])
def test_a_pair_waits_until_the_hypervisor_leaves_the_machine_alone(
    taken: list[float | None], looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[float] = []
    monkeypatch.setattr(time, "sleep", passed.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(passed))
    seen = iter(taken)
    monkeypatch.setattr(clients, "stolen", lambda _now, _before: next(seen))
    clients.await_quiet()
    assert len(passed) == looks


def test_a_ratio_with_a_wide_interval_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def wild() -> Iterator[Seen]:
        for number, seen in enumerate(varied()):
            yield replace(seen, p90=seen.p90 * (1 + 0.04 * (-1) ** number))

    row, _ = measured(monkeypatch, varied(), wild())
    assert row.unjudged == "p90: interval too wide"


def test_the_command_measures_the_points_that_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    runs = varied()
    monkeypatch.setattr(clients, "require", lambda: None)
    monkeypatch.setattr(clients, "await_quiet", lambda: None)
    monkeypatch.setattr(clients, "programs", lambda document, run: next(runs))
    monkeypatch.setattr(clients, "emulated", lambda document, run: next(runs))
    assert invoke(["validate", "clients", "--size", "64KB", "--loss", "3%"]) == Status.DONE
    said = capsys.readouterr().out
    assert [line.split(" | ")[:2] for line in said.splitlines() if line.startswith("| 64KB")] == [["| 64KB", "3%"]]
    assert invoke(["validate", "clients", "-o", str(tmp_path)]) == Status.DONE
    assert "| The emulated client against the kernel's | 6 of 6 |" in (tmp_path / "validation.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "1KB"], '--size: "1KB": 20KB or 64KB or 500KB would be valid'),
        (["--loss", "2%"], '--loss: "2%": 1% or 3% would be valid'),
        (["--loss", "1%", "-o", "."], '--loss: "1%": a part of the points does not make the page'),
    ],
)
def test_what_is_no_point_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    assert invoke(["validate", "clients", *arguments]) == Status.BAD_INPUT
    assert message in capsys.readouterr().err
