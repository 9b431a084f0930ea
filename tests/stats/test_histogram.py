"""Percentiles of histograms, and histograms of several runs together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench.stats import Histogram, merge, percentiles


def exact(values: list[int]) -> Histogram:
    """A histogram whose buckets hold one value each."""
    edges, count = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
    return Histogram.of(edges, edges, count)


VALUES = st.lists(st.integers(0, 50), min_size=1, max_size=60)


@given(VALUES, st.integers(0, 100))
def test_a_percentile_is_the_value_of_its_rank(values: list[int], percent: int) -> None:
    rank = max(1, math.ceil(percent * len(values) / 100))
    assert percentiles(exact(values), [percent / 100]) == [sorted(values)[rank - 1]]


@given(VALUES, VALUES)
def test_merging_is_as_if_all_values_had_been_in_one(first: list[int], second: list[int]) -> None:
    merged, together = merge([exact(first), exact(second)]), exact(first + second)
    assert merged.lower.tolist() == together.lower.tolist()
    assert merged.count.tolist() == together.count.tolist()
    assert merged.total == len(first) + len(second)


def test_a_wide_bucket_answers_with_its_upper_edge_but_never_more_than_the_maximum() -> None:
    histogram = Histogram.of([100, 200], [109, 219], [9, 1])
    assert percentiles(histogram, [0.5, 0.9, 0.99]) == [109, 109, 219]
    assert percentiles(histogram, [0.99], maximum=207) == [207]


def test_no_values_have_no_percentiles() -> None:
    assert percentiles(merge([]), [0.5, 0.99]) == [None, None]


def test_the_fraction_is_taken_as_written() -> None:
    # .07 * 100 is 7.000000000000001 in floating point.
    assert percentiles(exact(list(range(1, 101))), [0.07]) == [7]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1], [1, 2], [1]), "differ in length"),
        (([1], [1], [-1]), "negative"),
        (([1, 1], [1, 1], [1, 1]), "overlap"),
        (([5, 1], [5, 1], [1, 1]), "out of order"),
        (([5], [4], [1]), "overlap"),
    ],
)
def test_what_is_no_histogram(columns: tuple[list[int], list[int], list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Histogram.of(*columns)


def test_parts_on_different_grids_cannot_be_merged() -> None:
    with pytest.raises(ValueError, match="buckets of the parts differ"):
        merge([Histogram.of([0], [9], [1]), Histogram.of([0], [4], [1])])


@pytest.mark.parametrize("fraction", [-0.1, 1.1])
def test_a_fraction_lies_from_0_to_1(fraction: float) -> None:
    with pytest.raises(ValueError, match="must lie from 0 to 1"):
        percentiles(exact([1]), [fraction])
