"""Simulated runs of many experiments side by side, and a live run of one."""

from __future__ import annotations

import json
import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

import pytest

from answered_runs import answered
from fake_core import FakeEngine
from waspbench import _core
from waspbench.errors import InputError, RunFailedError
from waspbench.experiment import parse
from waspbench.experiment.resolve import resolve
from waspbench.results import RunSummary
from waspbench.results.records import records_of
from waspbench.runner.batch import measure, simulate
from waspbench.runner.executors import Processes


def document(loss: str, **measure: str) -> dict[str, Any]:
    return {
        "name": "x",
        "clients": [{"count": 8, "rtt": "20ms", "loss": loss}],
        "measure": {"warmup": "1s", "duration": "2s", "runs": 1} | measure,
    }


DOCUMENTS = [document(loss) for loss in ("0%", "2%", "5%")]
LONG = document("0%", duration="100s")
"""Its runs end after those of the others."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def alone(document: dict[str, Any], run: int) -> RunSummary:
    engine = _core.start(json.dumps(resolve(parse(document), run, mode="sim")))
    return RunSummary.model_validate_json(engine.wait().summary()).model_copy(update={"run": run})


def test_runs_are_those_of_their_experiments_and_in_order(temporary: Path) -> None:
    documents = [LONG, *DOCUMENTS]
    found = list(simulate(documents, 2))
    wanted = [[alone(document, run) for run in range(2)] for document in documents]
    assert [[run.summary for run in runs] for runs in found] == wanted
    assert all(run.times.total == run.summary.outcomes["ok"] for runs in found for run in runs)
    assert list(temporary.iterdir()) == []


def test_nothing_is_asked_for() -> None:
    assert list(simulate([])) == []


@pytest.mark.parametrize("count", [1, 2])
def test_a_run_that_fails_is_an_error(count: int, temporary: Path) -> None:
    with pytest.raises(RunFailedError, match=r"^x, run 1 of experiment [12]: given up after 0.001 s"):
        list(simulate([document("0%", duration="1000s", time_limit="1ms")] * count))
    assert list(temporary.iterdir()) == []


def test_an_interrupt_ends_all_at_once(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Processes, timeout: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Processes, "advance", interrupted)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    with pytest.raises(KeyboardInterrupt):
        list(simulate([document("0%", duration="24h")] * 2))
    assert multiprocessing.active_children() == []
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("pretended_live")
def test_a_live_run_is_made_again_if_the_machine_disturbed_it(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine.invalid = [{"code": "steal", "message": "the hypervisor took 3 %"}]
    jobs = answered(monkeypatch, lambda job: None)
    measured = measure(DOCUMENTS[0], tmp_path / "out")
    assert [job.attempt for job in jobs] == [1, 2]
    [record] = records_of(tmp_path / "out")
    assert (record.attempts, record.summary) == (2, measured)


def test_what_is_asked_for_is_judged_at_once() -> None:
    for wrong, where in (
        (DOCUMENTS[0] | {"sweep": {"clients.rtt": ["1ms", "2ms"]}}, r"sweep: is not followed here; ask for each point"),
        (document("0%", duration="auto"), r'measure\.duration: "auto": is not searched here; name a length'),
    ):
        with pytest.raises(InputError, match=f"^{where}"):
            simulate([DOCUMENTS[0], wrong])


@pytest.mark.usefixtures("pretended_live")
def test_a_live_run_is_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^measure\.runs: 2: one run of one point would be valid"):
        measure(DOCUMENTS[0] | {"measure": {"runs": 2}}, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_who_stops_early_leaves_nothing_behind(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    made = simulate(DOCUMENTS, 3)
    next(made)
    made.close()
    assert multiprocessing.active_children() == []
    assert list(temporary.iterdir()) == []
