"""Warm-up, batches, bootstrap, stopping, normality: what each says of known data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bootstrap import bootstrap_mean
from waspbench.stats.batches import batch_means, lag1, lag1_limit
from waspbench.stats.normality import normality, outliers
from waspbench.stats.stopping import Until, relative_half_width


def test_correlation_at_lag_1() -> None:
    assert lag1([1.0, -1.0] * 50) == pytest.approx(-0.99)
    assert lag1([3.0] * 10) == 0.0
    assert lag1_limit(30) == pytest.approx(1.645 / math.sqrt(30), abs=1e-3)


def test_dependent_values_are_put_into_longer_batches_and_said_to_be_dependent() -> None:
    independent = batch_means(np.random.default_rng(1).normal(0, 1, 300))
    assert independent is not None
    assert (independent.batches, independent.size, independent.independent) == (30, 10, True)
    walk = batch_means(np.cumsum(np.random.default_rng(1).normal(0, 1, 300)))
    assert walk is not None
    assert (walk.batches, walk.independent) == (10, False)


def test_too_few_values_have_no_batches() -> None:
    assert batch_means([1.0] * 19) is None
    assert batch_means([1.0] * 20) is not None


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_equal_runs_have_an_interval_without_width(method: str) -> None:
    assert bootstrap_mean([5.0, 5.0, 5.0], method=method) == (5.0, 5.0)  # type: ignore[arg-type]


def test_one_run_has_no_bootstrap() -> None:
    assert bootstrap_mean([1.0]) is None


def test_the_bootstrap_is_the_same_each_time() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 9.0]
    low, high = bootstrap_mean(values) or (0.0, 0.0)
    assert 1 < low < 4.8 < high < 9
    assert bootstrap_mean(values) == (low, high)


def test_runs_are_enough_when_the_interval_is_narrow_or_there_are_no_more() -> None:
    rule = Until(ci=0.05, least=3, most=5)
    assert not rule.enough([100.0, 100.0])
    assert rule.enough([100.0, 101.0, 99.0])
    assert not rule.enough([100.0, 120.0, 80.0])
    assert rule.enough([100.0, 120.0, 80.0, 100.0, 99.0])
    assert not Until(0.05, 3, 20).enough([0.0, 0.0, 0.0])
    assert relative_half_width([1.0]) is None


def test_normality_gives_the_data_of_both_figures() -> None:
    values = [3.0, 1.0, 2.0, 5.0, 4.0]
    found = normality(values)
    assert found.values == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert found.cdf == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])
    assert found.normal_quantiles[2] == pytest.approx(3.0)
    assert found.normal_cdf[2] == pytest.approx(0.5)
    assert found.statistic == pytest.approx(stats.shapiro(values).statistic)
    assert 0.95 < found.correlation <= 1


@pytest.mark.parametrize(("values", "message"), [([1.0, 2.0], "needs at least 3"), ([1.0, 1.0, 1.0], "all are equal")])
def test_what_cannot_be_tested_for_normality(values: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        normality(values)


def test_outliers_are_named_by_place() -> None:
    assert outliers([10.0, 10.1, 9.9, 10.0, 10.2, 15.0]) == [5]
    assert outliers([10.0, 10.1, 9.9, 10.0]) == []
    assert outliers([10.0, 10.0, 10.0, 10.0, 11.0]) == []
