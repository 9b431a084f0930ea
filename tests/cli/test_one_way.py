"""``wasp bench`` and a file that says the same make the same results in the same way."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from waspbench.cli.app import invoke
from waspbench.results.study import STUDY
from waspbench.runner.one_run import OneRun

FLAGS = "--mode sim --clients 400 --rtt 60ms --loss 3% --down 5Mbit/s --seed 3 --warmup 1s --duration 10s --runs 2"
FILE = """
name = "bench"
mode = "sim"
seed = 3
[[clients]]
count = 400
rtt = "60ms"
loss = { rate = "3%" }
bandwidth = { down = "5Mbit/s" }
[measure]
warmup = "1s"
duration = "10s"
runs = 2
"""


def files(directory: Path) -> dict[str, str]:
    """Every file by its path, but for what has the time of day."""
    timed = ("journal.jsonl", STUDY, "manifest.json")
    found = (path for path in directory.rglob("*") if path.is_file() and path.name not in timed)
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def manifest(directory: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((directory / "manifest.json").read_text())
    return said | {"created": ""}


def test_flags_and_a_file_that_says_the_same_give_the_same_bytes(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "e.toml").write_text(FILE)
    both = "--assert errors<90%"
    assert invoke(["bench", *FLAGS.split(), *both.split(), "-o", "bench"]) == 0
    bench = capsys.readouterr().out
    assert invoke(["run", "e.toml", *both.split(), "-o", "file"]) == 0
    assert files(here / "bench") == files(here / "file")
    assert len(files(here / "bench")) == 2 * 8
    assert manifest(here / "bench") == manifest(here / "file")
    assert capsys.readouterr().out == bench.replace("results         bench", "results         file")


@pytest.mark.parametrize("run", [0, 1])
def test_bench_that_was_interrupted_is_resumed(
    run: int, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = OneRun.next_sample
    begun: list[OneRun] = []
    with monkeypatch.context() as patch:

        def interrupted(self: OneRun, timeout: float) -> Any:
            begun.extend([] if self in begun else [self])
            found = real(self, 0.001)
            if len(begun) == run + 1:
                patch.undo()
                raise KeyboardInterrupt
            return found

        patch.setattr(OneRun, "next_sample", interrupted)
        assert invoke(["bench", *FLAGS.split(), "-o", "cut"]) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    kept = (here / "cut").exists()  # the first run may have measured nothing yet
    assert kept or run == 0
    assert bool(re.fullmatch("wasp: interrupted.*; wasp resume cut makes .*", said)) is kept
    assert invoke(["resume", "cut"] if kept else ["bench", *FLAGS.split(), "-o", "cut"]) == 0
    assert invoke(["bench", *FLAGS.split(), "-o", "whole"]) == 0
    assert files(here / "cut") == files(here / "whole")
    assert manifest(here / "cut") == manifest(here / "whole")


def test_processes_that_would_not_be_used_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "e.toml").write_text(FILE)
    for jobs, why in ((0, "must be at least 1"), (4, "only simulated runs of a sweep are made side by side")):
        for more in ([], ["--dry-run"]):
            assert invoke(["run", "e.toml", "--jobs", str(jobs), *more, "-o", "out"]) == 2
            assert f"wasp: --jobs: {jobs}: {why}" in capsys.readouterr().err
    assert not (here / "out").exists()
