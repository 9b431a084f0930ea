"""Runs that are cut short at any moment and resumed come to the same as runs that are not."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answered_runs import AnsweredRun, started
from measured_runs import summary
from shuffled import Shuffled
from waspbench import _core
from waspbench.errors import RunFailedError, WaspError
from waspbench.experiment.search import Search
from waspbench.experiment.units import seconds
from waspbench.results import Invalid, RunSummary
from waspbench.results.records import read_record, record_path
from waspbench.results.study import StudyPoint
from waspbench.results.summary import Ages, RunGroup, Window
from waspbench.runner import pipeline
from waspbench.runner.api import opened
from waspbench.runner.capacity import capacity
from waspbench.runner.job import Job
from waspbench.runner.one_run import OneRun
from waspbench.runner.study import study
from waspbench.testbed import Spec

DOCUMENT: dict[str, Any] = {
    "name": "c",
    "clients": [{"count": 8, "rtt": "20ms"}],
    "measure": {"warmup": "500ms", "duration": "1s", "runs": 2},
    "sweep": {"clients.rtt": ["20ms", "30ms"]},
}

Fate = Literal["ok", "steal", "lag", "gone", "cut off", "cut off otherwise", "server ended", "no such command"]
FATES: tuple[Fate, ...] = (
    *("ok",) * 10, "steal", "lag", "gone", "cut off", "cut off", "cut off otherwise", "server ended", "no such command",
)  # fmt: skip
SIMULATED: tuple[Fate, ...] = tuple(fate for fate in FATES if fate not in ("steal", "lag"))


@dataclass
class World:
    """Runs whose outcome follows from a seed and the job alone."""

    seed: int
    mode: str
    root: Path
    """Where its runs are kept."""
    cut_at: int | None = None
    """Number of the run, from 1, at whose beginning it is cut."""
    cut: Callable[[], None] = lambda: None
    share: float = 0.0
    """How much of its length a run has measured that Ctrl-C ends."""
    begun: list[Job] = field(default_factory=list)
    was_cut: bool = False
    longest: dict[tuple[str, int], float] = field(default_factory=dict)
    """The longest interval that any attempt at a run has measured, by its directory in `root` and its number."""
    asked: dict[tuple[str, int], float] = field(default_factory=dict)
    """How long its interval was to be at last."""

    def start(self, job: Job, _spec: Spec | None) -> OneRun:
        """In the place of `start_run`."""
        self.begun.append(job)
        assert len(self.begun) < 200, "it makes runs for ever"
        length = job.scenario["measure"]["duration"]
        fates = FATES if self.mode == "live" else SIMULATED
        fate = self._drawn(job.point, job.load, job.run, job.attempt, length).choice(fates)
        cut = self._cut if len(self.begun) == self.cut_at else None
        if fate in ("gone", "no such command"):
            if cut is not None:
                cut()
            raise RunFailedError("gone", field="server.command" if fate == "no such command" else None)
        figures, until_then = self._came_to(job, fate), self._figures(job, self.share, "stopped")
        return CutRun(figures, until_then, cut, fate == "server ended", lambda length: self._measured(job, length))

    def keeps_the_longest(self) -> bool:
        """Whether of each run that is kept with figures that attempt is there which measured longest."""
        paths = {key: record_path(self.root / key[0], key[1]) for key in self.longest}
        kept = {key: read_record(path).summary for key, path in paths.items() if path.exists()}
        return all(figures.interval_s >= self.longest[key] for key, figures in kept.items() if figures is not None)

    def _cut(self) -> None:
        self.was_cut = True
        self.cut()

    def _measured(self, job: Job, length: float) -> None:
        key = (os.path.relpath(job.directory, self.root), job.run)
        asked = seconds(job.scenario["measure"]["duration"])
        if self.asked.get(key) != asked:  # figures of a run that was too short do not stand for a longer one
            self.longest[key] = 0.0
        self.asked[key], self.longest[key] = asked, max(length, self.longest[key])

    def _came_to(self, job: Job, fate: Fate) -> RunSummary:
        if fate in ("ok", "steal", "lag"):
            return self._figures(job, 1.0, "" if fate == "ok" else fate)
        share = {"cut off": 0.6, "cut off otherwise": 0.3, "server ended": 0.5}[fate]
        return self._figures(job, share, "failed", f"gone at attempt {job.attempt}" if "otherwise" in fate else "gone")

    def _figures(self, job: Job, share: float, code: str = "", message: str = "") -> RunSummary:
        length = share * seconds(job.scenario["measure"]["duration"])
        rate = self._drawn("rate", job.point, job.load).choice([50, 300, 900, 5000])
        most = min(10.0 * (job.load or 8), 700.0)
        made = summary(most * self._drawn(job.point, job.load, job.run).uniform(0.97, 1.03), job.run, 0.5)
        against = [Invalid(code=code, message=message or code)] if code else []
        warmup = seconds(job.scenario["measure"]["warmup"])
        needed = self._drawn("warm-up", job.point, job.load).choice([0.0, 0.0, 3.0, 8.0])
        if warmup < needed and not code:
            against.append(Invalid(code="opening", message="opening", enough_warmup_s=needed))
        changes = {
            "interval_s": length,
            "outcomes": {"ok": round(rate * length)},
            "all_response_time_ms": made.response_time_ms,
            "by_group": [group_after(warmup, length)],
            "invalid": against,
        }
        return made.model_copy(update=changes)

    def _drawn(self, *key: object) -> random.Random:
        return random.Random(f"{self.seed} {key}")


class CutRun(AnsweredRun):
    """A run that is cut, or stopped, before it is at its end."""

    def __init__(
        self,
        figures: RunSummary,
        until_then: RunSummary,
        cut: Callable[[], None] | None,
        server_ended: bool,
        measured: Callable[[float], None],
    ) -> None:
        super().__init__(figures, server_ended=server_ended)
        self._until_then, self._cut, self._measured = until_then, cut, measured

    def next_sample(self, timeout: float) -> _core.Sample | None:
        cut, self._cut = self._cut, None
        if cut is not None:
            cut()
        return super().next_sample(timeout)

    def stop(self) -> None:
        if not self.done:
            self.figures = self._until_then
        super().stop()

    def finish(self) -> tuple[RunSummary, dict[str, Any]]:
        self._measured(self.figures.interval_s)
        return super().finish()


def group_after(warmup: float, length: float) -> RunGroup:
    """All clients of a run after a warm-up."""
    window = Window(warmup=warmup, duration=length, timeout=60.0, closed=1.0)
    nothing = {"ended": "", "entered": "", "cut": "", "began": 0, "throughout": 0}
    sums = {"sum_s": 0.0, "cut_square_s": 0.0, "in_progress_s": 0.0}
    ages = Ages.model_validate({**nothing, **sums, "window": window})
    return RunGroup(name="clients", outcomes={}, statuses={}, ages=ages)


@contextmanager
def made_in(world: World) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        started(patch, world.start)
        patch.setattr(pipeline, "executor_for", Shuffled)
        yield


@dataclass(frozen=True)
class Case:
    """What is asked for."""

    seed: int
    mode: Literal["live", "sim"]
    method: Literal["search", "sweep", "clients", "points"]
    jobs: int

    @property
    def document(self) -> dict[str, Any]:
        return DOCUMENT | {"mode": self.mode}

    def begin(self, place: Path) -> Any:
        jobs = self.jobs if self.mode == "sim" else None
        if self.method == "points":
            return study(self.document, output=place, jobs=jobs)
        search = Search(low=8, high=128, objectives=("p99 < 60s", "throughput < 500"), find="clients")
        if self.method != "clients":
            search = Search(self.method, low=8, high=128, objectives=("p99 < 60s",))
        return capacity(self.document, output=place, search=search, jobs=jobs)

    def resume(self, place: Path) -> Any:
        return opened(place).run(jobs=self.jobs if self.mode == "sim" else None)


def outcome(make: Callable[[Path], Any], place: Path) -> Any:
    """What is found, without what depends on when it was interrupted: how failures are worded, where it is, and what
    runs have measured that failed.
    """
    try:
        found = make(place)
    except KeyboardInterrupt:
        return "interrupted"
    except WaspError as error:
        return type(error)
    return [_of_point(point) for point in found.points]


def _of_point(point: Any) -> Any:
    if isinstance(point, StudyPoint):
        runs = [] if point.result is None else point.result.runs
        return [run for run in runs if run.failure is None and not run.stopped]
    readings = [each.model_copy(update={"notes": [] if each.failed else each.notes}) for each in point.readings]
    return point.model_copy(update={"readings": readings, "why": "" if "fail" in point.why else point.why})


CUTS = given(
    case=st.builds(
        Case,
        seed=st.integers(0, 10_000),
        mode=st.sampled_from(["live", "sim"]),
        method=st.sampled_from(["search", "sweep", "clients", "points"]),
        jobs=st.integers(1, 3),
    ),
    when=st.floats(0, 1, exclude_max=True),
    killed=st.booleans(),
    share=st.sampled_from([0.0, 0.5, 0.9]),
)


@pytest.mark.usefixtures("pretended_live", "heard")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@CUTS
def test_what_is_cut_anywhere_and_resumed_finds_the_same(case: Case, when: float, killed: bool, share: float) -> None:
    check(case, when, killed, share)


@pytest.mark.full
@pytest.mark.usefixtures("pretended_live", "heard")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@CUTS
def test_what_is_cut_at_hundreds_of_moments_and_resumed_finds_the_same(
    case: Case, when: float, killed: bool, share: float
) -> None:
    check(case, when, killed, share)


def check(case: Case, when: float, killed: bool, share: float) -> None:
    """Cuts what is asked for at the share ``when`` of its runs: by SIGKILL, or by Ctrl-C."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        whole = World(case.seed, case.mode, base / "whole")
        with made_in(whole):
            wanted = outcome(case.begin, whole.root)
        assert whole.keeps_the_longest()
        cutting = World(case.seed, case.mode, base / "begun", 1 + int(when * len(whole.begun)), share=share)
        resumed = World(case.seed, case.mode, base / "cut" if killed else cutting.root)

        def cut() -> None:
            resumed.longest, resumed.asked = dict(cutting.longest), dict(cutting.asked)
            if not killed:
                raise KeyboardInterrupt
            shutil.copytree(cutting.root, resumed.root)

        cutting.cut = cut
        with made_in(cutting):
            outcome(case.begin, cutting.root)
        assert cutting.was_cut
        if not killed:
            resumed.longest, resumed.asked = cutting.longest, cutting.asked
        if resumed.root.exists():  # unless nothing was measured
            with made_in(resumed):
                assert outcome(case.resume, resumed.root) == wanted
            assert resumed.keeps_the_longest()
