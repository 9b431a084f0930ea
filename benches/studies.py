"""Speed of planning (10,000 points in 1 s) and summarising (100 points of 10 million transactions in 10 s and 1 GB).

    python benches/studies.py [--keep DIR]

The results are made from one simulated run of 100,000 transactions, written 100 times over.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from waspbench import _core
from waspbench.experiment.resolve import resolve
from waspbench.results import RunSummary
from waspbench.results.records import RunRecord, write_run
from waspbench.runner.study import Study, prepare

POINTS = 100
TRANSACTIONS = 100_000

SUMMARISE = """
import resource, sys, time
from waspbench.results.study import load_study
started = time.perf_counter()
result = load_study(sys.argv[1])
taken = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{len(result.points)} points summarised in {taken:.2f} s, {peak:,.0f} MB at most")
"""


def plan(count: int = 10_000) -> None:
    """Plans a sweep of ``count`` points, checks included."""
    document: dict[str, Any] = {
        "name": "plan",
        "mode": "sim",
        "clients": [{"name": "homes"}],
        "sweep": {
            "clients.count": {"from": 1, "to": count // 100, "step": 1},
            "clients.homes.loss.rate": {"from": "0.1%", "to": "10%", "step": "0.1%"},
        },
    }
    started, began = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        _, found = prepare(document, Path(folder) / "out")
    taken, computed = time.perf_counter() - started, time.process_time() - began
    print(f"{len(found):,d} points planned and checked in {taken:.2f} s ({computed:.2f} s of CPU)")


def write(directory: Path) -> int:
    """Writes the study, and returns its number of transactions."""
    counts = list(range(1, POINTS + 1))
    document: dict[str, Any] = {
        "name": "large",
        "mode": "sim",
        "clients": [{"count": 1000, "rtt": "10ms"}],
        "server": {"model": {"per_request": "10us"}},
        "measure": {"runs": 1, "warmup": "100ms", "duration": "1s"},
        "sweep": {"seed": counts},
    }
    prepared, found = prepare(document, directory)
    study = Study.begin(prepared, found, directory)
    scenario = resolve(found[0].experiment, 0, mode="sim")
    scenario["measure"]["duration"] = "1200ms"
    outcome = _core.start(json.dumps(scenario)).wait()
    summary = RunSummary.model_validate_json(outcome.summary())
    tables = dict(outcome.tables())
    for point in found:
        write_run(study.directory_of(point.index), RunRecord(run=0, summary=summary), tables)
    study.summarise()
    return POINTS * sum(summary.outcomes.values())


def main() -> None:
    """Measures both."""
    plan()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(sys.argv[2]) if sys.argv[1:2] == ["--keep"] else Path(folder) / "large"
        print(f"{write(directory):,d} transactions in {directory}", flush=True)
        subprocess.run([sys.executable, "-c", SUMMARISE, str(directory)], check=True)


if __name__ == "__main__":
    main()
