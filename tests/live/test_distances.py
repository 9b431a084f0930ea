"""Backbones and graphs before a kernel: distances as they were asked for, and shares of links as in the model."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from measuring import conclusive
from waspbench import _core
from waspbench.experiment import Experiment
from waspbench.experiment.load import load
from waspbench.experiment.resolve import resolve
from waspbench.topology import resolved

from .harness import Run, bed_for, measure, needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx")]

EXAMPLES = Path(__file__).parents[2] / "examples"
SPARE = 0.5
"""Milliseconds that kernel and server may take of a transaction of two round trips."""
BAR = 0.15
"""Most that the goodput of a group may differ between kernel and model."""


def test_clients_along_a_backbone_are_as_far_away_as_was_asked_for() -> None:
    asked = load(EXAMPLES / "backbone.toml", ["server.kind=nginx", "network.link.delay=4ms", "clients.think=20ms"])
    distances = {group.name: group.rtt_ns / 1e6 for group in resolved(asked).groups}
    assert list(distances.values()) == [8.2, 16.2, 24.2, 32.2]

    def attempt() -> Run:
        with bed_for(asked) as bed:
            run = measure(bed, asked)
        # Whatever the machine does: every packet that a client sent crossed the links of its way.
        links = run.tables["links"].filter(pl.col("lost") + pl.col("dropped") > 0)
        assert links.is_empty()
        return run

    def wrong(run: Run) -> str | None:
        found = {group["name"]: group["response_time_ms"]["p50"] for group in run.summary["by_group"]}
        # A connection of its own takes a round trip more.
        if all(2 * rtt <= found[name] <= 2 * rtt + SPARE for name, rtt in distances.items()):
            return None
        return f"median response times {found} at round-trip times of {distances}"

    conclusive(attempt, wrong, lambda run: run.disturbed)


def shares(experiment: Experiment, tables: dict[str, pl.DataFrame]) -> list[float]:
    """Bytes of the bodies that each group had."""
    rows = tables["transactions"].filter((pl.col("outcome") == "ok") & pl.col("measured"))
    return [float(rows.filter(pl.col("group") == group)["bytes"].sum()) for group in range(len(experiment.clients))]


@pytest.mark.parametrize("queue", ["250KB", "fq-codel"])
def test_groups_divide_a_link_of_a_graph_as_in_the_model(queue: str) -> None:
    settings = ["server.kind=nginx", "sweep={}", f"network.links.inner.queue={queue}", "measure.duration=30s"]
    asked = load(EXAMPLES / "two-bottlenecks.toml", settings)
    outcome = _core.start(json.dumps(resolve(asked, 0, mode="sim"))).wait()
    model = shares(asked, {name: pl.DataFrame(table) for name, table in outcome.tables().items()})

    def attempt() -> Run:
        with bed_for(asked) as bed:
            return measure(bed, asked)

    def wrong(run: Run) -> str | None:
        kernel = shares(asked, run.tables)
        if all(abs(one / other - 1) <= BAR for one, other in zip(kernel, model, strict=True)):
            return None
        return f"far and near have {kernel} bytes from the kernel, {model} from the model"

    conclusive(attempt, wrong, lambda run: run.disturbed)
