"""What notes tell of a modelled server that is a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from waspbench import Result, run

BASE: dict[str, Any] = {
    "name": "notes",
    "mode": "sim",
    "workload": {"size": "1KiB"},
    "clients": [{"count": 40, "rtt": "20ms"}],
    "measure": {"runs": 1, "warmup": "1s", "duration": "4s"},
}


def measured(tmp_path: Path, http: dict[str, Any] | None = None, **model: Any) -> Result:
    clients = [BASE["clients"][0] | ({"http": http} if http else {})]
    return run(BASE | {"server": {"model": model}, "clients": clients}, output=tmp_path / "out")


def notes_of(result: Result) -> list[str]:
    return [note for note in result.notes if "modelled server" in note]


def test_full_queues_are_told(tmp_path: Path) -> None:
    result = measured(tmp_path, {"requests_per_connection": 1}, per_connection="5ms", accept_queue=2)
    dropped = result.runs[0].fates["accept queue full"]
    assert dropped > 0
    assert notes_of(result) == [
        f"the modelled server dropped {dropped:,d} packets that open connections, because its accept queue was full "
        "(server.model.accept_queue=2)"
    ]


def test_connections_that_wait_for_processes_are_told(tmp_path: Path) -> None:
    model: dict[str, Any] = {"concurrency": "process", "processes": 8, "per_ack": "1us"}
    [note] = notes_of(measured(tmp_path, **model))
    assert note.startswith("clients may keep 40 connections open, and the modelled server has 8 processes")


def test_connections_of_a_request_each_do_not_hold_processes(tmp_path: Path) -> None:
    model: dict[str, Any] = {"concurrency": "process", "processes": 8, "per_ack": "1us"}
    assert notes_of(measured(tmp_path, {"requests_per_connection": 1}, **model)) == []


def test_packets_without_costs_are_told(tmp_path: Path) -> None:
    [note] = notes_of(measured(tmp_path, concurrency="event", per_ack="0us"))
    assert note.startswith("packets cost the modelled server no CPU time")
    assert notes_of(measured(tmp_path / "costly", concurrency="event", per_segment="1us")) == []
