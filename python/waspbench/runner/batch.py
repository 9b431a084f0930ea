"""Runs of many experiments, of which only the figures count: those of a validation. Simulated runs are made side by
side, and no file of them is kept; a live run is an experiment of its own, in a directory.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waspbench.errors import InputError, RunFailedError
from waspbench.experiment import Experiment, accept, parse
from waspbench.experiment.resolve import resolve
from waspbench.experiment.units import AUTO
from waspbench.interrupts import postponed
from waspbench.results import RunSummary, populations_of
from waspbench.results.records import records_of, table_path
from waspbench.results.store import NEEDED, read_table
from waspbench.runner.executors import executor_for
from waspbench.runner.job import Done, Job
from waspbench.runner.pipeline import temporary_directory
from waspbench.runner.study import Study, prepare
from waspbench.runner.timing import time_limit
from waspbench.stats import Histogram


@dataclass(frozen=True)
class Simulated:
    """What one run found."""

    summary: RunSummary
    times: Histogram
    """Response times of its ``ok`` transactions, in nanoseconds."""


def simulate(documents: Sequence[Mapping[str, Any]], runs: int = 1) -> Generator[list[Simulated]]:
    """Makes so many runs of each experiment without a sweep (the content of its file), on all CPUs; gives back those of
    one experiment after the other. Nothing else is kept, and what the file says of the number of runs does not count.

    Raises:
        InputError: an experiment is not valid; at once.
        RunFailedError: a run did not come to its end.
    """
    return _simulated([_checked(document) for document in documents], runs)


def _checked(document: Mapping[str, Any]) -> Experiment:
    experiment = parse(dict(document))
    if experiment.sweep:
        raise InputError.at("sweep", "is not followed here; ask for each point")
    for name in ("warmup", "duration"):
        if getattr(experiment.measure, name) == AUTO:
            raise InputError.at(f"measure.{name}", "is not searched here; name a length", AUTO)
    accept(experiment, "sim")
    return experiment


def _simulated(experiments: Sequence[Experiment], runs: int) -> Generator[list[Simulated]]:
    waiting = deque((number, run) for number in range(len(experiments)) for run in range(runs))
    width = min(len(os.sched_getaffinity(0)), len(waiting))
    found: list[dict[int, Simulated]] = [{} for _ in experiments]
    with temporary_directory() as directory, executor_for(width) as executor:
        for number, of_one in enumerate(found):
            while len(of_one) < runs:
                with postponed():  # a worker must not be forgotten for an interrupt
                    while executor.room and waiting:
                        point, run = waiting.popleft()
                        executor.submit(_job(experiments[point], point, run, Path(directory) / str(point)))
                executor.advance(1.0)
                with postponed():
                    for done in executor.collect():
                        found[done.job.point][done.job.run] = _taken(done, experiments[done.job.point])
            found[number] = {}  # histograms of thousands of runs take room
            yield [of_one[run] for run in range(runs)]


def measure(document: Mapping[str, Any], directory: Path) -> RunSummary:
    """Makes the live run of an experiment of one point and one run, into the new directory ``directory``; once more
    where the machine disturbed it.

    Raises:
        InputError: the experiment is not valid.
        CannotRunError: this machine cannot do it.
        RunFailedError: the run did not come to its end.
        KeyboardInterrupt: it was interrupted. The directory stays only where no attempt is missing.
    """
    plan, found = prepare(document, directory, mode="live")
    if len(found) * found[0].experiment.measure.runs != 1:
        raise InputError.at("measure.runs", "one run of one point would be valid", found[0].experiment.measure.runs)
    study = Study.begin(plan, found, directory)
    result = study.run()
    if study.stopped:
        if not result.complete:
            shutil.rmtree(directory)
        raise KeyboardInterrupt
    [record] = records_of(directory)
    assert record.summary is not None, "a run without figures is an error"
    return record.summary


def _job(experiment: Experiment, point: int, run: int, directory: Path) -> Job:
    scenario = resolve(experiment, run, mode="sim")
    return Job(point, run, scenario, str(directory), time_limit(experiment, scenario), kept=False)


def _taken(done: Done, experiment: Experiment) -> Simulated:
    job = done.job
    if isinstance(done.error, RunFailedError):
        which = f"{experiment.name}, run {job.run + 1} of experiment {job.point + 1}"
        raise RunFailedError(f"{which}: {done.error.message}", field=done.error.field)
    if done.error is not None:
        raise done.error
    assert done.summary is not None
    table = table_path(Path(job.directory), NEEDED, job.run)
    times = populations_of(read_table(table)).ok
    table.unlink()
    return Simulated(done.summary, times)
