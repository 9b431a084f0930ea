"""What was made of the matrix is made once."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from validity import judged, kept
from validity.configurations import CONFIGURATIONS, NEVER, Configuration
from validity.judged import ALL, LONG_RUNS, Experiment, Figures
from waspbench import _core

SHORT = Configuration("short", "--clients 8 --rtt 20ms --duration 1s --warmup 1s", settles=1.0, lasts=1.0)
UNSTABLE = replace(SHORT, name="unstable", settles=NEVER)


def numbered(configuration: Configuration, seed: int) -> Experiment:
    return Experiment(True, (), {ALL: Figures(float(seed), 1.0, None)})


def refused(configuration: Configuration, seed: int) -> Experiment:
    return Experiment(False, ("interrupted",), {ALL: Figures(1.0, 1.0, None)})


def failing(configuration: Configuration, seed: int) -> Experiment:
    if seed == 2:
        raise ValueError("the second")
    return numbered(configuration, seed)


def never(configuration: Configuration, seed: int) -> Experiment:
    raise AssertionError(f"seed {seed} was made again")


def rates(made: list[Experiment]) -> list[float]:
    return [each.figures[ALL].throughput for each in made]


def test_experiments_are_made_once(tmp_path: Path) -> None:
    first = kept.experiments([SHORT], 1, 3, tmp_path, numbered)["short"]
    assert rates(first) == [1.0, 2.0, 3.0]
    assert kept.experiments([SHORT], 1, 2, tmp_path, never)["short"] == first[:2]
    other = replace(SHORT, given=SHORT.given.replace("20ms", "30ms"))
    with pytest.raises(AssertionError, match="seed 1 was made again"):
        kept.experiments([other], 1, 1, tmp_path, never)


def test_a_line_that_was_not_written_to_its_end_is_made_again(tmp_path: Path) -> None:
    kept.experiments([SHORT], 1, 3, tmp_path, numbered)
    [file] = tmp_path.rglob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-10])
    assert rates(kept.experiments([SHORT], 1, 4, tmp_path, numbered)["short"]) == [1.0, 2.0, 3.0, 4.0]
    assert sorted(json.loads(line)["seed"] for line in file.read_text().splitlines()) == [1, 2, 3, 4]


def test_what_was_made_before_a_failure_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the second"):
        kept.experiments([SHORT], 1, 3, tmp_path, failing)
    [file] = tmp_path.rglob("*.jsonl")
    assert json.loads(file.read_text().splitlines()[0])["seed"] == 1


def test_an_experiment_that_was_interrupted_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="short, seed 1: interrupted"):
        kept.experiments([SHORT], 1, 1, tmp_path, refused)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_experiments_of_another_engine_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.experiments([SHORT], 1, 1, tmp_path, numbered)
    monkeypatch.setattr(kept, "judgment", lambda: "another")
    with pytest.raises(AssertionError, match="seed 1 was made again"):
        kept.experiments([SHORT], 1, 1, tmp_path, never)


def test_the_names_follow_every_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sources = ("crates/a/src/lib.rs", "crates/a/Cargo.toml", "Cargo.toml", "Cargo.lock", "python/p/b.py", "_core.so")
    for name in sources:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    monkeypatch.setattr(_core, "__file__", str(tmp_path / "_core.so"))

    def names() -> tuple[str, str]:
        os.utime(tmp_path / "_core.so", (2**32, 2**32))
        return kept.engine(), kept.judgment()

    for name in sources:
        engine, judgment = names()
        (tmp_path / name).write_text("other")
        changed = (names()[0] != engine, names()[1] != judgment)
        assert changed == ((False, True) if name in ("python/p/b.py", "_core.so") else (True, False)), name


def test_truths_are_made_where_there_is_none_of_this_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "engine", lambda: "this")
    path = tmp_path / "truths.json"
    assert kept.foreign([SHORT, UNSTABLE], path) == ["short"]
    kept.make_truths([SHORT, UNSTABLE], 2, path)
    assert kept.foreign([SHORT, UNSTABLE], path) == []
    truth = kept.truths(path)["short"][ALL]
    assert truth.throughput == pytest.approx(400.0, rel=0.01)
    assert truth == judged.truth([judged.long_run(SHORT, number) for number in range(LONG_RUNS)])[ALL]
    assert [each.name for each in tmp_path.iterdir()] == ["truths.json"]
    # It is not made again, and is so where settings or the engine differ.
    before = path.read_bytes()
    kept.make_truths([SHORT], 1, path)
    assert path.read_bytes() == before
    assert kept.foreign([replace(SHORT, lasts=2.0)], path) == ["short"]
    monkeypatch.setattr(kept, "engine", lambda: "another")
    assert kept.foreign([SHORT], path) == ["short"]


def test_an_engine_that_is_older_than_its_sources_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "_core.so"
    old.touch()
    os.utime(old, (0, 0))
    monkeypatch.setattr(_core, "__file__", str(old))
    with pytest.raises(kept.StaleEngineError, match=r"\./run build"):
        kept.engine()


def test_every_truth_is_of_what_its_configuration_is() -> None:
    """By which engine it was made is not asked: most of what changes there changes no figure by 1 %."""
    file = json.loads(kept.TRUTHS.read_text())
    assert {name: each["configuration"] for name, each in file.items()} == {
        each.name: kept.identity(each) for each in CONFIGURATIONS if each.is_stable
    }
    for configuration in CONFIGURATIONS:
        if configuration.is_stable:
            groups = len(configuration.document()["clients"])
            assert len(file[configuration.name]["groups"]) == (1 if groups == 1 else 1 + groups)


def test_a_name_is_the_same_for_the_same_bytes_alone() -> None:
    assert kept.digest(b"a", b"b") == kept.digest(b"a", b"b") != kept.digest(b"ab")
