"""The live runs of the comparison with the kernel: which count, which are made anew, and which are used again."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

import waspbench
from fake_core import FakeEngine
from waspbench import _core
from waspbench.errors import CannotRunError, InputError, RunFailedError
from waspbench.results.study import StudyResult
from waspbench.runner.batch import measure
from waspbench.runner.study import Study
from waspbench.validation import kept
from waspbench.validation.cases import CASES, RUNS

CASE = CASES[0]


class Machine:
    """Makes runs that are not live, and writes into them the ``reasons`` against the next ones."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.seeds: list[int] = []
        self.reasons: list[str] = []

    def measure(self, document: dict[str, Any], directory: Path) -> None:
        self.seeds.append(document["seed"])
        reason = self.reasons.pop(0) if self.reasons else ""
        if reason == "failed":
            raise RunFailedError("nginx: gone")
        self._engine.interrupt_at = (0, 2) if reason == "interrupted" else None
        measure(document, directory)
        rewritten(directory, **against(reason))


def against(reason: str) -> dict[str, Any]:
    said = {"run": 0, "group": None, "code": reason, "message": "x", "enough_warmup_s": None, "enough_s": None}
    return {"valid": False, "invalid_reasons": [said]} if reason else {"valid": True}


def rewritten(where: Path, **fields: Any) -> None:
    manifest = json.loads((where / "manifest.json").read_text()) | fields
    manifest["runs"][0].setdefault("tcpext", {})
    manifest["runs"][0]["tcpext"] = manifest["runs"][0]["tcpext"] or {"RetransSegs": 3, "TCPTimeouts": 1}
    (where / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, pretended_live: None) -> Machine:
    engine = FakeEngine()
    engine.install(monkeypatch)
    made = Machine(engine)
    monkeypatch.setattr(kept, "measure", made.measure)
    return made


def test_runs_are_made_until_enough_count(machine: Machine, tmp_path: Path) -> None:
    machine.reasons = ["", "lag", "warmup", "failed"]
    live = kept.measured(CASE, 20.0, tmp_path / "there")
    assert machine.seeds == list(range(1, RUNS + 3))
    assert len(live.side.runs) == RUNS
    assert live.refused == ["lag", "failed: nginx: gone"]
    assert live.side.times.total == 6400 * RUNS
    (server,) = live.servers
    assert " on Linux " in server
    assert len(live.days) == 1


def test_no_more_runs_are_made_where_too_many_are_refused(machine: Machine, tmp_path: Path) -> None:
    machine.reasons = ["steal"] * 20
    live = kept.measured(CASE, 20.0, tmp_path)
    assert live.refused == ["steal"] * (kept.REFUSED + 1)
    assert machine.seeds == list(range(1, kept.REFUSED + 2))
    assert live.side.runs == []
    assert live.side.p90 is None


def test_runs_that_are_there_are_used_again(machine: Machine, tmp_path: Path) -> None:
    machine.reasons = ["", "lag"]
    first = kept.measured(CASE, 20.0, tmp_path)
    again = kept.measured(CASE, 20.0, tmp_path)
    assert len(machine.seeds) == RUNS + 1
    assert [run.throughput for run in again.side.runs] == [run.throughput for run in first.side.runs]
    assert again.refused == ["lag"]
    assert kept.kept(CASE, tmp_path) == 20.0
    assert kept.kept(CASE, tmp_path / "none") is None


def test_an_interrupted_run_is_not_kept(machine: Machine, tmp_path: Path) -> None:
    machine.reasons = ["", "interrupted"]
    with pytest.raises(KeyboardInterrupt):
        kept.measured(CASE, 20.0, tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["0"]


@pytest.mark.usefixtures("heard")
def test_an_interrupt_at_the_end_of_a_run_ends_all_and_keeps_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = Study.summarise

    def interrupted(self: Study) -> StudyResult:
        signal.raise_signal(signal.SIGINT)
        return real(self)

    monkeypatch.setattr(Study, "summarise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.measured(CASE, 20.0, tmp_path)
    assert machine.seeds == [1]
    assert waspbench.load_study(tmp_path / "0").complete


def test_a_run_that_was_killed_is_made_anew(machine: Machine, tmp_path: Path) -> None:
    waspbench.run(CASE.document(20.0), mode="sim", output=tmp_path / "0")
    (tmp_path / "0" / "manifest.json").unlink()
    shutil.rmtree(tmp_path / "0" / "runs")
    assert kept.kept(CASE, tmp_path) is None
    kept.measured(CASE, 20.0, tmp_path)
    assert machine.seeds == list(range(1, RUNS + 1))


def test_other_results_are_refused_and_left_alone(machine: Machine, tmp_path: Path) -> None:
    asked = CASE.document(20.0) | {"mode": "sim", "sweep": {"clients.count": [1, 2]}}
    waspbench.study(asked, output=tmp_path / "0", jobs=1)
    for use in (lambda: kept.kept(CASE, tmp_path), lambda: kept.measured(CASE, 20.0, tmp_path)):
        with pytest.raises(InputError, match=r"0/manifest\.json: cannot be read"):
            use()
    assert waspbench.load_study(tmp_path / "0").complete


def test_runs_of_another_configuration_are_refused(machine: Machine, tmp_path: Path) -> None:
    kept.measured(CASE, 20.0, tmp_path)
    for other in CASES[1:]:
        with pytest.raises(InputError, match=f"live runs of the configuration {other.name} would be valid"):
            kept.kept(other, tmp_path)


def test_what_is_no_set_of_live_runs_is_refused(machine: Machine, tmp_path: Path) -> None:
    kept.measured(CASE, 20.0, tmp_path / "a")
    rewritten(tmp_path / "a" / "3", mode="sim")
    with pytest.raises(InputError, match="live runs of the configuration"):
        kept.kept(CASE, tmp_path / "a")
    kept.measured(CASE, 20.0, tmp_path / "b")
    (tmp_path / "a" / "3").rename(tmp_path / "a3")
    waspbench.run(CASE.document(30.0), mode="sim", output=tmp_path / "a" / "3")
    rewritten(tmp_path / "a" / "3", mode="live")
    with pytest.raises(InputError, match="runs of one length"):
        kept.kept(CASE, tmp_path / "a")
    manifest = json.loads((tmp_path / "b" / "0" / "manifest.json").read_text())
    manifest["runs"][0]["tcpext"] = {"TCPTimeouts": 1}
    (tmp_path / "b" / "0" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="the counter RetransSegs"):
        kept.kept(CASE, tmp_path / "b")
    with pytest.raises(InputError, match="a directory would be valid"):
        kept.kept(CASE, tmp_path / "b" / "0" / "manifest.json")


def test_an_engine_for_tests_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "choose_mode", lambda mode, experiment: mode)
    monkeypatch.setattr(_core, "profile", lambda: "ci")
    with pytest.raises(CannotRunError, match="profile ci"):
        kept.require()
