"""Runs that are cut short at any moment and resumed come to the same as runs that are not."""

from __future__ import annotations

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

from measured_runs import populations_of_a_run, summary
from shuffled import Shuffled
from waspbench.errors import RunFailedError, WaspError
from waspbench.experiment.search import Search
from waspbench.experiment.units import seconds
from waspbench.results import Invalid, RunSummary
from waspbench.results.records import RunRecord, write_record
from waspbench.results.study import StudyPoint
from waspbench.results.summary import Ages, RunGroup, Window
from waspbench.runner import pipeline
from waspbench.runner import study as study_module
from waspbench.runner.api import opened
from waspbench.runner.capacity import capacity
from waspbench.runner.job import Done, Job, Making, _measured_before
from waspbench.runner.study import study

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
    cut_at: int | None = None
    """Number of the run, from 1, at whose beginning it is cut."""
    cut: Callable[[], None] = lambda: None
    share: float = 0.0
    """How much of its length a run has measured that Ctrl-C ends."""
    begun: list[Job] = field(default_factory=list)

    def begin(self, making: Making) -> None:
        """In the place of `Making._begin`: makes the run at once."""
        job = making.job
        if making._stopped:
            self._keep(job, self._figures(job, self.share, "stopped"))
            making.done = Done(job, 0.1, stopped=True)
            return
        self.begun.append(job)
        assert len(self.begun) < 200, "it makes runs for ever"
        if len(self.begun) == self.cut_at:
            self.cut()
        making.done = self._made(job)

    def _made(self, job: Job) -> Done:
        length = job.scenario["measure"]["duration"]
        fates = FATES if self.mode == "live" else SIMULATED
        fate = self._drawn(job.point, job.load, job.run, job.attempt, length).choice(fates)
        if fate in ("ok", "steal", "lag"):
            figures = self._figures(job, 1.0, *(() if fate == "ok" else (fate,)))
            self._keep(job, figures)
            return Done(job, 0.1, figures)
        share = {"cut off": 0.6, "cut off otherwise": 0.3, "server ended": 0.5}.get(fate, 0.0)
        why = f"gone at attempt {job.attempt}" if fate == "cut off otherwise" else "gone"
        where = "server.command" if fate == "no such command" else None
        figures = self._figures(job, share, "failed")
        self._keep(job, figures, why)
        partial = figures if share else None
        error = RunFailedError(why, field=where)
        return Done(job, 0.1, error=error, partial=partial, final=fate == "server ended")

    def _figures(self, job: Job, share: float, *invalid: str) -> RunSummary:
        length = share * seconds(job.scenario["measure"]["duration"])
        rate = self._drawn("rate", job.point, job.load).choice([50, 300, 900, 5000])
        most = min(10.0 * (job.load or 8), 700.0)
        made = summary(most * self._drawn(job.point, job.load, job.run).uniform(0.97, 1.03), job.run, 0.5)
        against = [Invalid(code=code, message=code) for code in invalid]
        warmup = seconds(job.scenario["measure"]["warmup"])
        needed = self._drawn("warm-up", job.point, job.load).choice([0.0, 0.0, 3.0, 8.0])
        if warmup < needed and not invalid:
            against.append(Invalid(code="opening", message="opening", enough_warmup_s=needed))
        changes = {
            "interval_s": length,
            "outcomes": {"ok": round(rate * length)},
            "all_response_time_ms": made.response_time_ms,
            "by_group": [group_after(warmup, length)],
            "invalid": against,
        }
        return made.model_copy(update=changes)

    def _keep(self, job: Job, figures: RunSummary, failure: str | None = None) -> None:
        cut_short = failure is not None or figures.stopped
        if not cut_short or figures.interval_s > _measured_before(job):
            record = RunRecord(
                run=job.run,
                attempts=job.attempt,
                earlier=list(job.earlier),
                first=job.first,
                failure=failure,
                summary=figures,
            )
            write_record(Path(job.directory), record)

    def _drawn(self, *key: object) -> random.Random:
        return random.Random(f"{self.seed} {key}")


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
        patch.setattr(Making, "_begin", lambda making: world.begin(making))
        patch.setattr(pipeline, "executor_for", Shuffled)
        patch.setattr(study_module, "read_table", lambda path: None)
        patch.setattr(study_module, "populations_of", lambda table: populations_of_a_run(summary(100.0)))
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
        whole = World(case.seed, case.mode)
        with made_in(whole):
            wanted = outcome(case.begin, base / "whole")
        place = base / "cut"

        def cut() -> None:
            if not killed:
                raise KeyboardInterrupt
            shutil.copytree(base / "begun", place)

        with made_in(World(case.seed, case.mode, 1 + int(when * len(whole.begun)), cut, share)):
            outcome(case.begin, base / "begun" if killed else place)
        if place.exists():  # unless nothing was measured
            with made_in(World(case.seed, case.mode)):
                assert outcome(case.resume, place) == wanted
