"""Measures how often intervals cover and tests err, and writes the tables of ``docs/statistics.md``.

    python benches/coverage.py                      prints the tables
    python benches/coverage.py --write              puts them into the page
    python benches/coverage.py --write objective    those with these names alone

Fixed seeds: the figures are the same each time, to rounding. It takes about six minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import measured  # noqa: E402
import measured_objective  # noqa: E402
from pages import share, table, write  # noqa: E402


def intervals() -> str:
    """Coverage of the 90 % intervals of a mean."""
    runs = [3, 5, 10, 20]
    rows = [
        ["Student's t", *(share(measured.student_t(count)) for count in runs)],
        ["bootstrap, BCa", *(share(measured.bootstrap_of_mean(count, "BCa")) for count in runs)],
        ["bootstrap, percentile", *(share(measured.bootstrap_of_mean(count, "percentile")) for count in runs)],
        ["ratio of two means (Fieller)", *(share(measured.ratio(count)) for count in runs)],
    ]
    return table(["interval", *(f"{count} runs" for count in runs)], rows)


def percentiles() -> str:
    """Coverage of the 90 % intervals of percentiles over runs."""
    runs = [2, 3, 5, 10, 20]
    log_normal, gap, bursts = measured.log_normal, measured.with_timeouts, measured.in_bursts
    trips = measured.round_trips
    kinds = [
        ("p50, log-normal, 1,000", log_normal, 1000, 0.5, False),
        ("p90, log-normal, 29", log_normal, 29, 0.9, False),
        ("p90, log-normal, 100", log_normal, 100, 0.9, False),
        ("p99, log-normal, 299", log_normal, 299, 0.99, False),
        ("p99, log-normal, 1,000", log_normal, 1000, 0.99, False),
        ("p99, log-normal, 30,000", log_normal, 30_000, 0.99, False),
        ("p99.9, log-normal, 2,995", log_normal, 2995, 0.999, False),
        ("p99, one in 100 meets a timeout, 299", gap, 299, 0.99, False),
        ("p99, one in 100 meets a timeout, 1,000", gap, 1000, 0.99, False),
        ("p50, half take one round trip, 1,000", trips, 1000, 0.5, False),
        ("p99, half take one round trip, 1,000", trips, 1000, 0.99, False),
        ("p99, slow ones in bursts, 299", bursts, 299, 0.99, False),
        ("p99, slow ones in bursts, 1,000", bursts, 1000, 0.99, False),
        ("p99, slow ones in bursts, 30,000", bursts, 30_000, 0.99, False),
        ("*not used:* mean of the runs' own p99, log-normal, 1,000", log_normal, 1000, 0.99, True),
        ("*not used:* the same, one in 100 meets a timeout", gap, 1000, 0.99, True),
    ]
    rows = [
        [name, *(share(measured.percentile(times, count, all_, fraction, own=own)) for count in runs)]
        for name, times, all_, fraction, own in kinds
    ]
    return table(["percentile, response times, how many of all runs", *(f"{count} runs" for count in runs)], rows)


def clumps() -> str:
    """How often a 99th percentile of one second is said to be below half a second."""
    sizes = [1, 2, 5, 10]
    rows = [
        [f"{transactions:,}", *(share(measured.missed_percentile(transactions, size)) for size in sizes)]
        for transactions in (299, 1000, 3000, 10_000)
    ]
    return table(["transactions", "independent", *(f"{size} at a time" for size in sizes[1:])], rows)


def batches() -> str:
    """Coverage of batch means."""
    rows = []
    for length, correlation in ((60, 0.5), (300, 0.5), (300, 0.8), (600, 0.8), (600, 0.95)):
        found = measured.batch_means_of(length, correlation)
        rows.append([str(length), str(correlation), share(found.covered), share(found.flagged)])
    return table(["values", "correlation at lag 1", "covered", "said to be too short"], rows)


def until() -> str:
    """Coverage of the interval with which a stopping rule stops."""
    rows = []
    for noise in (0.02, 0.05, 0.10, 0.20):
        found = measured.until(noise)
        rows.append([f"{100 * noise:g} %", share(found.covered), f"{found.runs:.1f}"])
    return table(["deviation of a run", "covered", "runs made"], rows)


def comparison() -> str:
    """False positives and power of the comparison."""
    rows = []
    for runs in (3, 4, 5, 8, 10):
        powers = [share(measured.differences(runs, size)) for size in (1, 2, 3)]
        rows.append(
            [
                f"{runs} and {runs}",
                share(measured.differences(runs, 0)),
                share(measured.differences(runs, 0, "exponential")),
                *powers,
            ]
        )
    heads = ["runs", "false, normal", "false, exponential", "power at 1 deviation", "at 2", "at 3"]
    return table(heads, rows)


def regression() -> str:
    """Verdicts of a limit on the slowdown."""
    rows = []
    for deviation in (0.01, 0.03):
        for runs in (5, 10, 20):
            figures = {slowdown: measured.regressions(runs, deviation, slowdown) for slowdown in (0.0, 0.05, 0.1)}
            cells = [figures[0.0][0], figures[0.0][1], *figures[0.05], figures[0.1][0], figures[0.1][1]]
            rows.append([f"{100 * deviation:g} %", f"{runs} and {runs}", *map(share, cells)])
    heads = ["deviation of a run", "runs"]
    heads += [f"{what}: {word}" for what in ("no slowdown", "5 %", "10 %") for word in ("passed", "failed")]
    return table(heads, rows)


def normality() -> str:
    """Rejections of the normality test."""
    rows = [
        [
            str(runs),
            share(measured.shapiro_rejects(runs, "normal")),
            share(measured.shapiro_rejects(runs, "exponential")),
        ]
        for runs in (3, 5, 10, 36)
    ]
    return table(["runs", "normal, rejected", "exponential, rejected"], rows)


def warmup() -> str:
    """Alarms of the MSER-5 check."""
    rows = [
        ["settled from the start" if ramp == 0 else f"{100 * ramp:g} % of the run", share(measured.warmup_alarms(ramp))]
        for ramp in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
    ]
    return table(["time constant of the approach", "called unsettled"], rows)


def capacity() -> str:
    """Success of the capacity search."""
    searches = measured.capacity_searches()
    rows = []
    for kind in (*measured.KINDS, "all"):
        part = [search for search in searches if kind in (search.kind, "all")]
        hit = sum(abs(search.ratio - 1) <= 0.05 for search in part) / len(part)
        runs = sum(search.runs for search in part) / len(part)
        covered = sum(search.covered for search in part) / len(part)
        rows.append([kind, str(len(part)), share(hit), f"{runs:.1f}", str(max(s.runs for s in part)), share(covered)])
    return table(["curve", "searches", "within 5 % of the peak", "runs, mean", "runs, most", "interval covers"], rows)


def objective() -> str:
    """Searches for the largest load under an objective."""
    rows = []
    for kind in measured_objective.KINDS:
        for noise in measured_objective.NOISES:
            made = measured_objective.searches(kind, noise)
            widths = sorted(search.width for search in made)
            runs = [search.found.runs for search in made]
            others = sum(search.runs_for_throughput for search in made) / len(made)
            rows.append(
                [
                    f"{kind}, {100 * noise:g} %",
                    share(sum(search.covered for search in made) / len(made)),
                    share(sum(search.found.confirmed for search in made) / len(made)),
                    f"{widths[len(widths) // 2]:.2f}",
                    f"{sum(runs) / len(runs):.1f}",
                    str(max(runs)),
                    f"{others:.1f}",
                ]
            )
    head = ["interval covers", "confirmed", "upper end over lower, median", "runs, mean", "runs, most"]
    return table(["load, noise", *head, "runs for throughput, mean"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "intervals": intervals,
    "percentiles": percentiles,
    "clumps": clumps,
    "batches": batches,
    "until": until,
    "comparison": comparison,
    "regression": regression,
    "normality": normality,
    "warmup": warmup,
    "capacity": capacity,
    "objective": objective,
}


def main() -> None:
    """Prints the tables, or writes them into the page."""
    names = [name for name in sys.argv[1:] if name != "--write"] or list(TABLES)
    tables = {}
    for name in names:
        tables[name] = TABLES[name]()
        print(f"{name}\n{tables[name]}\n", flush=True)
    if "--write" in sys.argv[1:]:
        write("statistics.md", tables)


if __name__ == "__main__":
    main()
