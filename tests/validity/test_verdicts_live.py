"""Six configurations of the matrix have the verdict and the figures before nginx that they have in simulation."""

from __future__ import annotations

import statistics

import pytest

import waspbench
from live.harness import needs
from measuring import conclusive, disturbance
from validity import judged, kept
from validity.configurations import named
from validity.judged import ALL, BIASED
from waspbench.results import Result

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("nginx")]

VALID = ["cable", "closed-16-20ms-2KB-1-0", "open-light"]

REFUSED = {"handshakes": "opening", "closed-16-600ms-20KB-3-35": "windows", "bursts-98": "censored"}
"""By configuration, the reason that all experiments have."""

SIMULATED = range(1, 11)
"""Seeds of the simulated experiments that a live one is held against."""

DEVIATIONS = 3.0
"""Standard deviations of one experiment that are chance."""


def live(name: str) -> Result:
    """A default experiment before nginx."""
    [configuration] = named([name])
    return waspbench.run(configuration.document() | {"server": {"kind": "nginx"}}, mode="live")


def codes(result: Result) -> set[str]:
    return {reason.code for reason in result.invalid_reasons}


def undisturbed(result: Result) -> str | None:
    return disturbance(result.invalid_reasons)


@pytest.mark.parametrize("name", VALID)
def test_what_is_valid_live_is_what_long_simulated_runs_say(name: str) -> None:
    truth = kept.truths()[name][ALL]

    def wrong(result: Result) -> str | None:
        figures = [(result.throughput.mean, truth.throughput), (result.response_time_ms.mean or 0.0, truth.mean or 0.0)]
        off = [f"{live:.4g}, and not {true:.4g}" for live, true in figures if abs(live / true - 1) > BIASED]
        return "; ".join([*codes(result), *off]) or None

    conclusive(lambda: live(name), wrong, undisturbed)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_live_is_so_as_in_simulation(name: str) -> None:
    [configuration] = named([name])
    simulated = [judged.experiment(configuration, seed) for seed in SIMULATED]
    seen = {code for each in simulated for code in each.reasons}
    rates = [each.figures[ALL].throughput for each in simulated]
    means = [each.figures[ALL].mean or 0.0 for each in simulated]

    def wrong(result: Result) -> str | None:
        said = codes(result)
        figures = [(result.throughput.mean, rates), (result.response_time_ms.mean or 0.0, means)]
        off = [
            f"{live:.4g}, and not {statistics.fmean(others):.4g} ± {statistics.stdev(others):.4g}"
            for live, others in figures
            if abs(live - statistics.fmean(others))
            > BIASED * statistics.fmean(others) + DEVIATIONS * statistics.stdev(others)
        ]
        missing = [] if REFUSED[name] in said else [f"not {REFUSED[name]}"]
        return "; ".join([*missing, *(said - seen), *off]) or None

    conclusive(lambda: live(name), wrong, undisturbed)
