"""Costs by non-negative least squares: what goes in is found again, within its interval as often as the level says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from waspbench.stats.costs import MOST_INFLATION, fit_costs

COSTS = {"connection": 9.0, "request": 5.0, "kib": 0.3, "frame": 2.0, "segment": 0.1, "received": 0.0, "wakeup": 4.0}


def design(generator: np.random.Generator, points: int = 24) -> dict[str, list[float]]:
    """Counts of runs as a calibration makes them: some requests a connection, some KiB a request, and so on."""
    requests = 10 ** generator.uniform(4, 5.5, points)
    connections = requests / generator.choice([1, 10, 100], points)
    kib = requests * generator.choice([1, 16, 64], points)
    frames = requests + kib / generator.uniform(8, 40, points) + 2 * connections
    segments = frames + kib / generator.choice([0.5, 1.4], points)
    received = requests + 3 * connections + segments / generator.uniform(1, 3, points)
    wakeups = requests / generator.uniform(1, 20, points)
    columns = (connections, requests, kib, frames, segments, received, wakeups)
    names = ("connection", "request", "kib", "frame", "segment", "received", "wakeup")
    return {name: list(map(float, column)) for name, column in zip(names, columns, strict=True)}


def times_of(counts: dict[str, list[float]], noise: NDArray[np.float64] | None = None) -> list[float]:
    exact = np.sum([COSTS[name] * np.asarray(column) for name, column in counts.items()], axis=0)
    return [float(time) for time in (exact if noise is None else exact * (1 + noise))]


def test_costs_without_noise_are_found_exactly() -> None:
    counts = design(np.random.default_rng(1))
    fit = fit_costs(times_of(counts), counts)
    for cost in fit.costs:
        assert cost.value == pytest.approx(COSTS[cost.name], rel=1e-6, abs=1e-6), cost.name
    assert fit.error < 1e-9


def test_intervals_hold_the_true_costs_as_often_as_they_say() -> None:
    """200 calibrations with an error of 3 %. At a true coverage of 90 % fewer than `least` hits of a cost have a chance
    of 0.001 / 7, so that all seven together fail by chance in one case of a thousand.
    """
    generator, cases = np.random.default_rng(7), 200
    hits = dict.fromkeys(COSTS, 0)
    for _ in range(cases):
        counts = design(generator)
        fit = fit_costs(times_of(counts, generator.normal(0, 0.03, 24)), counts)
        for cost in fit.costs:
            hits[cost.name] += cost.low <= COSTS[cost.name] <= cost.high
    least = int(stats.binom.ppf(0.001 / len(COSTS), cases, 0.9))
    assert min(hits.values()) >= least, hits
    # They are no wider than they have to be: a cost above zero is missed in about one case of ten.
    assert hits["request"] < cases


def test_a_cost_of_zero_has_an_interval_that_holds_it() -> None:
    generator = np.random.default_rng(4)
    counts = design(generator)
    fit = fit_costs(times_of(counts, generator.normal(0, 0.01, 24)), counts)
    by_name = {cost.name: cost for cost in fit.costs}
    assert by_name["received"].zero
    assert not by_name["request"].zero
    assert all(cost.low <= cost.value <= cost.high for cost in fit.costs)


def test_counts_that_go_together_are_named() -> None:
    generator = np.random.default_rng(5)
    counts = design(generator)
    counts["twice"] = [2 * value for value in counts["frame"]]
    fit = fit_costs(
        [time + 2 * frame for time, frame in zip(times_of(counts_without(counts)), counts["frame"], strict=True)],
        counts,
    )
    by_name = {cost.name: cost for cost in fit.costs}
    assert by_name["twice"].mixed_with == ("frame",)
    assert by_name["frame"].mixed_with == ("twice",)
    assert by_name["request"].mixed_with == ()
    # What both cost together is known all the same.
    assert by_name["frame"].value + 2 * by_name["twice"].value == pytest.approx(COSTS["frame"] + 2, rel=1e-6)


def test_costs_that_cannot_be_told_apart_have_wide_intervals() -> None:
    """Either of two costs may be zero, and the other one have all, whatever the noise is."""
    for seed in range(20):
        generator = np.random.default_rng(seed)
        requests = 10 ** generator.uniform(4, 5.5, 24)
        kib = requests * generator.choice([1, 16, 64], 24)
        counts = {"once": list(requests), "twice": list(2 * requests), "kib": list(kib)}
        times = (5 * requests + kib) * (1 + generator.normal(0, 0.05, 24))
        once, twice, other = fit_costs(list(times), counts).costs
        assert (once.mixed_with, twice.mixed_with, other.mixed_with) == (("twice",), ("once",), ())
        assert once.low == twice.low == 0
        assert once.value <= once.high
        assert once.high == pytest.approx(2 * twice.high)
        assert once.high >= 4.9


def test_a_cost_that_is_known_is_not_taken_for_a_mixture() -> None:
    """However large its inflation is, as long as errors are small."""
    generator = np.random.default_rng(3)
    counts = design(generator)
    near = np.asarray(counts["request"]) * (1 + generator.normal(0, 0.01, 24))
    counts["near"] = [float(value) for value in near]
    times = times_of({name: column for name, column in counts.items() if name in COSTS})
    exact = [time + 10 * value for time, value in zip(times, near, strict=True)]
    by_name = {cost.name: cost for cost in fit_costs(exact, counts).costs}
    assert by_name["near"].inflation > MOST_INFLATION
    assert by_name["near"].mixed_with == ()
    assert by_name["near"].value == pytest.approx(10, rel=1e-4)


def counts_without(counts: dict[str, list[float]]) -> dict[str, list[float]]:
    return {name: column for name, column in counts.items() if name in COSTS}


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^2 observations do not tell 2 costs"):
        fit_costs([1, 2], {"a": [1, 2], "b": [2, 1]})
    with pytest.raises(ValueError, match=r"^never done: b$"):
        fit_costs([1, 2, 3], {"a": [1, 2, 3], "b": [0, 0, 0]})
    with pytest.raises(ValueError, match="not above zero"):
        fit_costs([0, 2, 3], {"a": [1, 2, 3]})


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.2))
def test_no_cost_is_negative_and_every_interval_holds_its_cost(seed: int, noise: float) -> None:
    generator = np.random.default_rng(seed)
    counts = design(generator)
    fit = fit_costs(times_of(counts, np.clip(generator.normal(0, noise, 24), -0.9, None)), counts)
    assert all(0 <= cost.low <= cost.value <= cost.high for cost in fit.costs)
    # The error is one of 17 degrees of freedom.
    assert fit.error <= fit.worst * math.sqrt(24 / fit.degrees) + 1e-9
