"""Experiments whose links follow rate traces, from file to results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from waspbench.errors import InputError
from waspbench.experiment.search import Search
from waspbench.results.differences import differences, facts
from waspbench.results.study import load_study
from waspbench.runner.api import opened
from waspbench.runner.capacity import capacity
from waspbench.runner.study import Study, prepare, study

DOCUMENT: dict[str, Any] = {
    "name": "traced",
    "clients": [{"count": 4, "rtt": "10ms", "queue": "64KiB"}],
    "workload": {"kind": "single", "size": "100KB"},
    "measure": {"warmup": "1s", "duration": "4s", "runs": 2},
}


def traced(path: Path, **options: Any) -> dict[str, Any]:
    clients = [DOCUMENT["clients"][0] | {"trace": {"file": str(path), **options}}]
    return DOCUMENT | {"clients": clients}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A packet each millisecond for half a second, and then none for as long."""
    path = tmp_path / "half"
    path.write_text("".join(f"{millis}\n" for millis in [*range(1, 500), 1000]))
    return path


def test_goodput_follows_the_trace(trace: Path, tmp_path: Path) -> None:
    result = study(traced(trace, start="random"), output=tmp_path / "out", mode="sim").points[0].result
    assert result is not None
    # Four links carry 500 packets of 1,448 bytes of data a second each; pauses between transfers leave some of that.
    assert 0.75 < result.throughput.mean * 100e3 / (4 * 500 * 1448) < 1
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["scenario"]["network"]["traces"][str(trace)]["length"] == "1000ms"
    assert manifest["scenario"]["clients"][0]["trace"]["down"]["mean_bps"] == 6_000_000


def test_all_runs_of_an_experiment_follow_the_same_trace(trace: Path, tmp_path: Path) -> None:
    plan, found = prepare(traced(trace), tmp_path / "out", mode="sim")
    with Study.begin(plan, found, tmp_path / "out") as begun:
        begun.step()
        trace.write_text("900\n")
        result = begun.run()
    [point] = result.points
    assert point.result is not None
    assert point.result.runs[1].throughput == pytest.approx(point.result.runs[0].throughput, rel=0.3)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["scenario"]["network"]["traces"][str(trace)]["sha256"] == plan.traces[str(trace)]


def test_results_are_resumed_only_with_the_same_trace_and_read_without_it(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    study(traced(Path(trace.name)), output=output, mode="sim")
    monkeypatch.chdir(elsewhere)
    Study.open(output).close()
    trace.write_text("1\n")
    with pytest.raises(InputError, match=r"^clients\.trace: half: the file has changed since these results were begun"):
        opened(output)
    trace.unlink()
    with pytest.raises(InputError, match=r"^clients\.trace: half: cannot be read: No such file or directory"):
        opened(output)
    assert load_study(output).points[0].result is not None


def test_a_search_is_resumed_only_with_the_same_trace(trace: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    capacity(traced(trace), output=output, mode="sim", search=Search(low=1, high=2, confirm=1))
    trace.write_text("1\n")
    with pytest.raises(InputError, match="the file has changed"):
        opened(output)


def test_a_comparison_tells_another_content_of_the_same_path(trace: Path, tmp_path: Path) -> None:
    for name, text in (("one", trace.read_text()), ("two", "2\n")):
        trace.write_text(text)
        study(traced(trace), output=tmp_path / name, mode="sim")
    found = differences(facts(tmp_path / "one"), facts(tmp_path / "two"), [])
    fields = [each.field for each in found]
    assert fields == ["clients.clients.trace.up.file", "clients.clients.trace.down.file"]
    assert str(found[0].a).startswith("half (SHA-256 ")
    assert found[0].a != found[0].b
