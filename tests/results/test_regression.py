"""Whether B is slower than A by more than a limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparison_results import compared, point
from waspbench import InputError
from waspbench.results.comparing import NOT_COMPARABLE, Compared
from waspbench.results.differences import Difference
from waspbench.results.regression import judge, limit_of
from waspbench.stats.comparison import Span, compare_spans

FIVE = [100.0, 101.0, 99.0, 100.5, 99.5]


def scaled(factor: float, runs: int = 5) -> list[float]:
    return [factor * value for value in FIVE[:runs]]


def verdict(*points: Compared, limit: str = "slower:5%", larger_is_faster: bool = True, **more: Any) -> Any:
    checks = judge(compared(*points, **more), limit_of(limit), larger_is_faster=larger_is_faster)
    return [check.passed for check in checks] if len(checks) != 1 else checks[0].passed


@pytest.mark.parametrize(
    ("factor", "larger_is_faster", "passed"),
    [
        (0.98, True, True),
        (0.95, True, None),
        (0.90, True, False),
        (1.30, True, True),
        (1.02, False, True),
        (1.05, False, None),
        (1.10, False, False),
        (0.70, False, True),
    ],
)
def test_the_interval_of_the_slowdown_is_held_against_the_limit(
    factor: float, larger_is_faster: bool, passed: bool | None
) -> None:
    assert verdict(point(FIVE, scaled(factor)), larger_is_faster=larger_is_faster) is passed


def test_what_is_said_of_a_slowdown() -> None:
    [check] = judge(compared(point(FIVE, scaled(0.9))), limit_of("slower:5%"), larger_is_faster=True)
    low, high = check.ci90 or (None, None)
    assert low is not None
    assert high is not None
    assert check.value == pytest.approx(0.1)
    assert (0.08 < low < 0.1 < high < 0.12, check.judged) == (True, low)
    assert check.condition == "throughput slower:5%"
    assert (
        check.why
        == f"slowdown +10.0 % (90 %: +{100 * low:.1f} to +{100 * high:.1f} %); its lower end is above the limit"
    )


@given(
    st.lists(st.floats(50, 150), min_size=5, max_size=8),
    st.lists(st.floats(50, 150), min_size=5, max_size=8),
    st.floats(0, 0.9),
)
def test_only_the_limit_s_place_in_the_interval_decides(first: list[float], second: list[float], share: float) -> None:
    found = point(first, second)
    [check] = judge(compared(found), limit_of(f"slower:{100 * share:.6f}%"), larger_is_faster=True)
    limit = float(f"{100 * share:.6f}") / 100
    assert found.ratio_ci90 is not None
    low, high = 1 - found.ratio_ci90[1], 1 - found.ratio_ci90[0]
    assert check.passed is (True if high <= limit + 1e-12 else False if low > limit + 1e-12 else None)


def test_below_five_runs_a_side_nothing_is_decided() -> None:
    for first, second in ((4, 5), (5, 4), (1, 1)):
        found = point(scaled(1, first), scaled(0.5, second))
        assert verdict(found) is None
    [check] = judge(compared(found), limit_of("slower:5%"), larger_is_faster=True)
    assert check.why.endswith("of 1 and 1 runs; at least 5 a side are needed")


def test_what_is_not_valid_or_comparable_decides_nothing() -> None:
    slower = point(FIVE, scaled(0.5))
    assert verdict(slower) is False
    assert verdict(slower.model_copy(update={"valid": False})) is None
    assert verdict(slower.model_copy(update={"verdict": NOT_COMPARABLE}), not_comparable=["methods differ"]) is None


def test_live_and_simulated_results_decide_nothing() -> None:
    slower = point(FIVE, scaled(0.5))
    [check] = judge(
        compared(slower, differences=[Difference(field="mode", a="sim", b="live")]),
        limit_of("slower:5%"),
        larger_is_faster=True,
    )
    assert (check.passed, check.why.partition("; ")[2]) == (None, "the two cannot be compared: A is sim, B is live")
    assert verdict(slower, differences=[Difference(field="machine.cpu", a="x", b="y")]) is False


def test_confirming_runs_that_are_too_few_are_asked_for() -> None:
    [check] = judge(
        compared(point(scaled(1, 4), scaled(1, 4)), metric="capacity"), limit_of("slower:5%"), larger_is_faster=True
    )
    assert check.why.endswith("of 4 and 4 runs; at least 5 a side are needed (--confirm 5 of wasp capacity)")


def test_each_point_is_judged_and_what_is_missing_is_told() -> None:
    found = [point(FIVE, scaled(factor), varied={"n": factor}) for factor in (1.0, 0.5)]
    assert verdict(*found, unmatched=["A: n=3"]) == [True, False, None]
    *_, last = judge(
        compared(*found, unmatched=["A: n=3", "B: n=4"], lacking=["A at n=5: too few", "B at n=6: too few"]),
        limit_of("slower:5%"),
        larger_is_faster=True,
    )
    assert last.why == (
        "not compared: A: n=3 is on one side only; B: n=4 is on one side only; A at n=5: too few; and 1 more"
    )


def found_by_search(one: Span, other: Span) -> Compared:
    [made] = compare_spans([(one, other)])
    return point(
        FIVE,
        FIVE,
        ratio=made.ratio,
        ratio_ci90=made.interval,
        ratio_ends=made.ends,
        test=made.test,
        at_least=(one.high is None, other.high is None),
    )


@pytest.mark.parametrize(
    ("one", "other", "passed", "why"),
    [
        (Span(100, 99, 101, 15), Span(98, 97, 99, 15), True, "+2.0 % (90 %: +0.0 to +4.0 %); its upper end"),
        (
            Span(100, 99, 101, 15),
            Span(90, 89, 91, 15),
            False,
            "+10.0 % (90 %: +8.1 to +11.9 %); its lower end",
        ),
        (Span(100, 99, 101, 15), Span(95, 93, 97, 15), None, "+5.0 % (90 %: +2.0 to +7.9 %); the limit lies within"),
        # What is only a lower bound may be more: B passes by its lower end, and A fails B by its own.
        (Span(100, 99, 101, 15), Span(98, 98, None, 15), True, "(90 %: at most +3.0 %); its upper end is at most"),
        (Span(100, 99, 101, 15), Span(90, 90, None, 15), None, "(90 %: at most +10.9 %); B is only a lower bound"),
        (Span(100, 100, None, 15), Span(90, 89, 91, 15), False, "(90 %: at least +9.0 %); its lower end is above"),
        (Span(100, 100, None, 15), Span(100, 99, 101, 15), None, "(90 %: at least -1.0 %); A is only a lower bound"),
        (Span(100, 100, None, 15), Span(100, 100, None, 15), None, ""),
    ],
)
def test_capacities_are_judged_by_the_ends_that_they_have(
    one: Span, other: Span, passed: bool | None, why: str
) -> None:
    [check] = judge(compared(found_by_search(one, other)), limit_of("slower:5%"), larger_is_faster=True)
    assert check.passed is passed
    assert check.why.startswith(f"slowdown {why}" if why else "it has no interval: ")


@pytest.mark.parametrize(
    ("text", "share"), [("slower:5%", 0.05), ("slower: 2.5 %", 0.025), (" slower:10% ", 0.1), ("slower:0%", 0.0)]
)
def test_a_limit_is_a_share(text: str, share: float) -> None:
    assert limit_of(text).share == pytest.approx(share)


@pytest.mark.parametrize(
    "text",
    ["", "5%", "slower", "slower:", "slower:-5%", "faster:5%", "slower:5ms", "slower:x", "slower:5", "slower:0.05"],
)
def test_what_is_no_limit(text: str) -> None:
    with pytest.raises(InputError, match=r"fail_on: .*: must be slower: and a share in per cent, such as slower:5%"):
        limit_of(text)


def test_nothing_can_be_lower_by_more_than_all_of_it() -> None:
    slower = point(FIVE, scaled(0.5))
    with pytest.raises(InputError, match="must be below 100 %: a throughput cannot be lower by more than all of it"):
        verdict(slower, limit="slower:100%")
    assert verdict(point(FIVE, scaled(3.0)), limit="slower:150%", larger_is_faster=False) is False
