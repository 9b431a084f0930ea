"""Results from which the tests of figures make figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measured_runs import populations_of_a_run, result, summary
from waspbench import Result, StudyResult, study
from waspbench.results import Invalid, combine
from waspbench.results.study import StudyPoint
from waspbench.results.summary import RunResponseTime
from waspbench.stats import Populations, merge

SIM: dict[str, Any] = {
    "name": "sim",
    "mode": "sim",
    "seed": 7,
    "clients": [{"count": 8, "rtt": "50ms", "loss": "0%"}],
    "measure": {"warmup": "500ms", "duration": "3500ms", "runs": 2},
}


def simulated(directory: Path, **parts: Any) -> StudyResult:
    """A small simulation with other parts."""
    return study({**SIM, **parts}, output=directory, jobs=1)


def only(found: StudyResult) -> Result:
    """The result of the only point."""
    [point] = found.points
    assert point.result is not None
    return point.result


def untrusted(throughputs: Sequence[float], message: str = "too late") -> Result:
    """A result whose runs must not be trusted."""
    invalid = [Invalid(code="lag", message=message)]
    runs = [summary(value, run).model_copy(update={"invalid": invalid}) for run, value in enumerate(throughputs)]
    return combine(runs, [populations_of_a_run(run) for run in runs], name="x", mode="sim", seed=1)


def all_errors() -> Result:
    """A result without one ok transaction."""
    nothing = RunResponseTime.model_validate(dict.fromkeys(RunResponseTime.model_fields))
    update = {
        "throughput": 0.0,
        "goodput_bps": 0.0,
        "outcomes": {"ok": 0, "refused": 500},
        "statuses": {},
        "by_group": None,
        "response_time_ms": nothing,
        "all_response_time_ms": None,
    }
    runs = [summary(1.0, run).model_copy(update=update) for run in range(2)]
    return combine(runs, [Populations(merge(()), merge(()))] * 2, name="refused", mode="sim", seed=1)


def points(*made: tuple[dict[str, Any], Result | None]) -> StudyResult:
    """A study of these points."""
    found = [StudyPoint(index=index, varied=varied, result=result) for index, (varied, result) in enumerate(made)]
    valid = all(result is not None and result.valid for _, result in made)
    return StudyResult(name="s", mode="sim", seed=1, results="", complete=True, valid=valid, points=found)


def loads(*throughputs: Sequence[float]) -> StudyResult:
    """A study of the loads 1, 2, 3, ..., each with runs of these throughputs."""
    return points(*(({"clients.count": load}, result(values)) for load, values in enumerate(throughputs, 1)))
