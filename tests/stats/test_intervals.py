"""Student's t."""

from __future__ import annotations

import pytest
from scipy import stats

from waspbench.stats import binomial_interval, mean_interval, student_t

# n, t(.95, n-1), half width of the 90 % interval in standard deviations, t(.975, n-1).
TABLE = [
    (2, 6.3138, 4.464, 12.706),
    (3, 2.9200, 1.686, 4.303),
    (4, 2.3534, 1.177, 3.182),
    (5, 2.1318, 0.953, 2.776),
    (6, 2.0150, 0.823, 2.571),
    (7, 1.9432, 0.735, 2.447),
    (8, 1.8946, 0.670, 2.365),
    (9, 1.8595, 0.620, 2.306),
    (10, 1.8331, 0.580, 2.262),
    (15, 1.7613, 0.455, 2.145),
    (20, 1.7291, 0.387, 2.093),
    (30, 1.6991, 0.310, 2.045),
    (36, 1.6896, 0.282, 2.030),
]


@pytest.mark.parametrize(("n", "t95", "half", "t975"), TABLE)
def test_quantiles_are_those_of_the_table(n: int, t95: float, half: float, t975: float) -> None:
    assert student_t(0.90, n - 1) == pytest.approx(t95, abs=5e-5)
    assert student_t(0.95, n - 1) == pytest.approx(t975, abs=5e-4)
    assert student_t(0.90, n - 1) / n**0.5 == pytest.approx(half, abs=1e-3)


def test_two_degrees_of_freedom_have_a_closed_form() -> None:
    # t = (2q - 1) sqrt(2 / (4 q (1 - q))) with q = .95.
    assert student_t(0.90, 2) == pytest.approx(0.9 * (2 / (4 * 0.95 * 0.05)) ** 0.5, rel=1e-12)


def test_the_interval_of_three_runs() -> None:
    low, high = mean_interval([630.0, 640.0, 650.0]) or (0.0, 0.0)
    assert (low + high) / 2 == pytest.approx(640)
    assert (high - low) / 2 == pytest.approx(2.91999 * 10 / 3**0.5, rel=1e-5)


def test_equal_values_have_an_interval_without_width() -> None:
    assert mean_interval([5.0, 5.0]) == (5.0, 5.0)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_fewer_than_two_values_have_no_interval(values: list[float]) -> None:
    assert mean_interval(values) is None


@pytest.mark.parametrize("level", [0.0, 1.0, 90.0])
def test_a_level_lies_between_0_and_1(level: float) -> None:
    with pytest.raises(ValueError, match=r"level: .* must lie between 0 and 1"):
        mean_interval([1.0, 2.0], level)


def test_none_of_many_is_bounded_in_closed_form() -> None:
    low, high = binomial_interval(0, 7249)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.05 ** (1 / 7249), rel=1e-9)
    assert binomial_interval(7249, 7249) == pytest.approx((1 - high, 1.0), rel=1e-9)


@pytest.mark.parametrize(("count", "total"), [(1, 5), (3, 20), (50, 1000)])
def test_binomial_intervals_are_scipys(count: int, total: int) -> None:
    expected = stats.binomtest(count, total).proportion_ci(0.90, "exact")
    assert binomial_interval(count, total) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize(("count", "total"), [(-1, 5), (6, 5), (0, 0)])
def test_a_share_of_what_is_not_there(count: int, total: int) -> None:
    with pytest.raises(ValueError, match="count: "):
        binomial_interval(count, total)
