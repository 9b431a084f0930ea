"""The models of the literature against values computed apart (SPECS 6) and against their own limits."""

import pytest

from waspbench.stats import theory
from waspbench.stats.theory import Path


@pytest.mark.parametrize(
    ("loss", "rtt", "rto", "sent", "arrived"),
    [
        (0.01, 0.1, 1.0, 68.9, 65.2),
        (0.03, 0.05, 1.0, 43.0, 39.1),
        (0.03, 0.4, 1.6, 9.7, 8.8),
        (0.06, 0.1, 1.0, 15.5, 13.6),
        (0.09, 0.4, 1.6, 4.15, 3.5),
    ],
)
def test_pftk(loss: float, rtt: float, rto: float, sent: float, arrived: float) -> None:
    path = Path(loss, rtt, rto, 2, 12)
    assert theory.pftk(path) == pytest.approx(sent, rel=0.01)
    assert theory.pftk_throughput(path) == pytest.approx(arrived, rel=0.02)


def test_a_window_that_limits_is_the_rate_as_losses_vanish() -> None:
    assert theory.pftk(Path(1e-9, 0.1, 1.0, 1, 12)) == pytest.approx(120, rel=0.01)


@pytest.mark.parametrize(("segments", "expected"), [(1, 0.2), (14, 0.613), (45, 0.905), (343, 3.388)])
def test_cardwell_without_loss(segments: int, expected: float) -> None:
    assert theory.cardwell(Path(0, 0.1, 1.0, 2, 12), segments, 1, 3.0) == pytest.approx(expected, abs=0.002)


def test_cardwell_with_loss() -> None:
    # The reference has losses in both directions and 100 ms of delayed acknowledgment: one handshake's share less.
    share = 3.0 * (0.97 / 0.94 - 1)
    for segments, expected in [(1, 0.523), (14, 1.203), (45, 2.144), (343, 12.98)]:
        time = theory.cardwell(Path(0.03, 0.1, 1.0, 2, 12), segments, 1, 3.0)
        assert time == pytest.approx(expected - 0.1 - share, abs=0.006)


def test_windows_double() -> None:
    assert [theory.doubling_rounds(segments, 10) for segments in (1, 10, 11, 30, 31, 343)] == [1, 1, 2, 2, 3, 6]


def test_cubic_is_above_reno_where_losses_are_rare() -> None:
    assert theory.cubic_window(1e-5, 0.1) == pytest.approx(1054, rel=0.01)
    assert theory.cubic_window(1e-3, 0.02) < theory.aimd_window(1e-3) == pytest.approx(38.7, rel=0.01)
