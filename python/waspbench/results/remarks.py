"""What else is to be said of a result: the interval from within its only run, and runs that stand out."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from waspbench.experiment.units import seconds
from waspbench.results.result import Result
from waspbench.results.store import read_table
from waspbench.stats.batches import BatchMeans, batch_means
from waspbench.stats.normality import outliers


def within_run(result: Result) -> BatchMeans | None:
    """Throughput of the only run, second by second, as batch means; None for more runs or fewer than 20 seconds.

    Raises:
        InputError: the run's series cannot be read.
    """
    if len(result.runs) != 1 or result.results is None:
        return None
    path = Path(result.results) / "series" / f"run-{result.runs[0].run}.parquet"
    measure = result.scenario["measure"]
    warmup, duration = seconds(measure["warmup"]), seconds(measure["duration"])
    # Only whole seconds of the measured interval.
    first, last = -(-warmup // 1), (warmup + duration) // 1
    rows = read_table(path).filter((pl.col("second") >= first) & (pl.col("second") < last))
    return batch_means(rows["ok"].to_numpy())


def standing_out(result: Result) -> list[int]:
    """Numbers (from 0) of the runs whose throughput stands out. They are part of every figure."""
    indices = outliers([run.throughput for run in result.runs])
    return [result.runs[index].run for index in indices]


def remarks(result: Result) -> list[str]:
    """Both in words, a line each."""
    said = []
    inside = within_run(result)
    if inside is not None:
        low, high = inside.interval
        doubt = "" if inside.independent else "; too few for their correlation, so it is too narrow"
        said.append(
            f"throughput within the one run: {low:,.1f} to {high:,.1f} /s "
            f"(90 %, {inside.batches} batches of {inside.size} s{doubt})"
        )
    runs = standing_out(result)
    if runs:
        said.append(f"throughput stands out (and is kept) in run {', '.join(str(run + 1) for run in runs)}")
    return said
