"""Percentiles over runs: how many values they need, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench.stats import Histogram, merge, percentiles
from waspbench.stats.quantiles import quantile_intervals, values_needed


def exact(values: list[int]) -> Histogram:
    """A histogram whose buckets hold one value each."""
    edges, count = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
    return Histogram.of(edges, edges, count)


def quantile_interval(runs: list[Histogram], fraction: float) -> tuple[float, float] | None:
    return quantile_intervals(runs, [fraction])[0]


@pytest.mark.parametrize(
    ("fraction", "needed"), [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995), (0.05, 59)]
)
def test_the_longest_of_so_many_values_lies_beyond_a_percentile(fraction: float, needed: int) -> None:
    assert values_needed(fraction) == needed
    # Of independent values, each beyond it with the rarer probability, 95 in 100 times one is.
    within = max(fraction, 1 - fraction)
    assert 1 - within**needed >= 0.95 > 1 - within ** (needed - 1)


def test_runs_that_agree_are_no_more_exact_than_independent_values() -> None:
    # 1.645 sqrt(0.99 * 0.01/3000) = 0.299 %: a quantile of 98.701 to 99.299 %, among the values 1 to 1,000 of each.
    runs = [exact(list(range(1, 1001)))] * 3
    assert quantile_interval(runs, 0.99) == (988.0, 993.0)


def test_runs_that_differ_have_a_wider_interval() -> None:
    # Of 100 values 5, 10 and 15 are slow. 90 % lie up to 1. Beyond 1,006 lie 0, 3 and 8: up to it 96.33 % with a
    # standard error of 2.33 %, at least 89.5 % (t is 2.920), so the quantile may be the next. Beyond 1,007 lie 0, 2 and
    # 7: 97.00 % with 2.08 %, at least 90.9 %.
    runs = [exact([1] * (100 - slow) + list(range(1000, 1000 + slow))) for slow in (5, 10, 15)]
    assert quantile_interval(runs, 0.9) == (1.0, 1007.0)


def test_what_varies_far_below_a_percentile_does_not_widen_its_interval() -> None:
    # Half of the values take one round trip, in one run more than in the next; three of a thousand take a timeout.
    runs = [exact([100] * one + [200] * (3988 - one) + [700] * 12) for one in (1800, 2000, 2200)]
    assert quantile_interval(runs, 0.99) == (200.0, 200.0)
    assert quantile_interval(runs, 0.5) == (100.0, 200.0)


@pytest.mark.parametrize("slow", [(40, 50, 57), (43, 50, 60)])
def test_a_percentile_at_a_gap_has_an_interval_over_the_gap(slow: tuple[int, ...]) -> None:
    """Whichever side of the gap it is found on: shares vary on the other side of its bucket as well."""
    runs = [exact([100] * (100 - many) + [300] * many) for many in slow]
    assert quantile_interval(runs, 0.5) == (100.0, 300.0)


def test_one_run_with_values_has_no_interval() -> None:
    one, other, none = exact([1, 2, 3]), exact([2, 3, 4]), exact([])
    assert quantile_interval([one], 0.5) is None
    assert quantile_interval([none, none], 0.5) is None
    assert quantile_interval([one, none], 0.5) is None
    assert quantile_interval([one, none, other], 0.5) == quantile_interval([one, other], 0.5)


RUNS = st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=60), min_size=2, max_size=6)


@given(RUNS, st.sampled_from([0.5, 0.9, 0.99]))
def test_an_interval_holds_its_percentile_and_ends_at_values_that_were_seen(
    values: list[list[int]], fraction: float
) -> None:
    runs = [exact(each) for each in values]
    low, high = quantile_interval(runs, fraction) or (-1, -1)
    [found] = percentiles(merge(runs), [fraction])
    assert found is not None
    assert low <= found <= high
    assert {low, high} <= {float(value) for each in values for value in each}
