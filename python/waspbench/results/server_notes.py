"""What is to be said of results with a modelled server that is a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from waspbench.experiment.model_files import model_of
from waspbench.results.summary import RunSummary

_RECEIVED = ("syn", "data", "ack", "duplicate_ack", "interrupt")
_OF_PACKETS = tuple(f"per_{kind}" for kind in (*_RECEIVED, "timer", "frame", "segment", "retransmission"))
_PROCESSES = 128
"""Processes of a server that does not say how many, as in the engine."""


def notes_of_server(scenario: Mapping[str, Any], runs: Sequence[RunSummary]) -> list[str]:
    """What its queues dropped, whether connections wait for processes, and whether packets cost anything."""
    model = (scenario.get("server") or {}).get("model") or {}
    return [*_dropped(model, runs), *(_of_machine(scenario, model) if model.get("concurrency") else ())]


def notes_of_model_file(server: Mapping[str, Any]) -> list[str]:
    """Whether the calibration that wrote the model file of a modelled server is not valid."""
    path = (server.get("model") or {}).get("file")
    if path is None:
        return []
    fit = model_of(server["files"][path], path).fit or {}
    if fit.get("valid") is not False:
        return []
    return [f"{path}: the calibration that wrote this model is not valid: {fit.get('why') or 'unknown'}"]


def _dropped(model: Mapping[str, Any], runs: Sequence[RunSummary]) -> list[str]:
    queues = {"accept queue full": "accept_queue", "syn queue full": "syn_queue"}
    counts = {field: sum(run.fates.get(fate, 0) for run in runs) for fate, field in queues.items()}
    return [
        f"the modelled server dropped {count:,d} packets that open connections, because its {field.replace('_', ' ')} "
        f"was full (server.model.{field}={model.get(field)})"
        for field, count in counts.items()
        if count
    ]


def _of_machine(scenario: Mapping[str, Any], model: Mapping[str, Any]) -> list[str]:
    notes = []
    groups = [(group.get("count", 1), group.get("http") or {}) for group in scenario.get("clients", ())]
    keeping = [group for group in groups if group[1].get("requests_per_connection") != 1]
    connections = sum(count * (http.get("connections") or 1) for count, http in keeping)
    processes = model.get("processes") or _PROCESSES
    kept = model.get("requests_per_connection") != 1
    if model["concurrency"] == "process" and kept and connections > processes:
        notes.append(
            f"clients may keep {connections:,d} connections open, and the modelled server has {processes:,d} processes "
            "(server.model.processes): other connections wait until a process closes its own"
        )
    if not any(_costs(model.get(field)) for field in _OF_PACKETS):
        notes.append(
            "packets cost the modelled server no CPU time, so that loss costs it none: set server.model.per_data, "
            "per_ack and per_segment"
        )
    return notes


def _costs(duration: str | None) -> bool:
    """Whether a duration is there and above zero."""
    return any(digit in "123456789" for digit in duration or "")
