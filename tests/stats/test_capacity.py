"""The capacity search as a state machine."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waspbench.stats.capacity import BoundsError, Capacity, CapacitySearch, Reading


def search(
    throughput: Callable[[float], float],
    *,
    meets: Callable[[float], bool] = lambda load: True,
    counts: Callable[[float], bool] = lambda load: True,
    low: int = 8,
    high: int = 4096,
    most: int = 15,
) -> tuple[CapacitySearch, Capacity | None]:
    machine = CapacitySearch(low, high, most)
    while (load := machine.next_load()) is not None:
        machine.tell(Reading(load, throughput(load), meets(load), counts(load)))
    return machine, machine.found()


def knee(load: float) -> float:
    return min(load / 0.1, 5000.0)


def test_a_server_that_saturates_is_found_with_four_runs_to_confirm() -> None:
    machine, found = search(knee)
    assert found is not None
    assert found.mean == pytest.approx(5000.0)
    assert len(found.values) == 4
    assert found.confirmed
    assert found.limit is None
    assert [reading.confirming for reading in machine.readings[-4:]] == [True] * 4


def test_throughput_that_rises_to_the_end_is_at_the_edge() -> None:
    _, found = search(lambda load: load / 0.1)
    assert found is not None
    assert (found.load, found.edge) == (4096, "high")
    assert found.runs <= 9


def test_throughput_that_only_falls_is_at_the_lower_edge() -> None:
    _, found = search(lambda load: 1000.0 / load)
    assert found is not None
    assert (found.load, found.edge) == (8, "low")


def test_an_objective_bounds_the_load() -> None:
    _, found = search(lambda load: float(load), meets=lambda load: load <= 700)
    assert found is not None
    assert 0.95 * 700 <= found.load <= 700
    assert found.limited_by == "objective"
    assert found.limit is not None
    assert found.limit > 700
    assert found.confirmed


def test_a_run_whose_emulator_was_the_bottleneck_never_counts() -> None:
    # Past 1,000 clients the emulator invents throughput.
    _, found = search(lambda load: float(load if load <= 1000 else 1e6), counts=lambda load: load <= 1000)
    assert found is not None
    assert found.load <= 1000
    assert found.mean <= 1000
    assert found.limited_by == "emulator"


def test_an_objective_that_no_load_meets_has_no_capacity() -> None:
    machine, found = search(knee, meets=lambda load: False)
    assert found is None
    assert [reading.load for reading in machine.readings] == [64, 8]


def test_the_lowest_load_is_tried_where_the_first_does_not_count() -> None:
    _, found = search(lambda load: float(load), counts=lambda load: load <= 20)
    assert found is not None
    assert 19 <= found.load <= 20


def test_a_load_that_fails_while_it_is_confirmed_is_given_up() -> None:
    tries: dict[float, int] = {}

    def meets(load: float) -> bool:
        tries[load] = tries.get(load, 0) + 1
        return not (load == 4096 and tries[load] == 3)

    machine, found = search(lambda load: float(load), meets=meets, most=30)
    assert found is not None
    assert 3900 <= found.load < 4096
    assert found.confirmed
    assert len(machine.readings) <= 30


def test_a_search_is_resumed_by_telling_it_its_readings_again() -> None:
    whole, found = search(knee)
    again = CapacitySearch()
    for reading in whole.readings:
        assert again.next_load() == reading.load
        again.tell(reading)
    assert again.found() == found


def test_what_was_not_asked_for_is_refused() -> None:
    with pytest.raises(ValueError, match="64 was asked for"):
        CapacitySearch().tell(Reading(65, 1.0))


def test_the_only_load_that_is_known_may_fail_while_it_is_confirmed() -> None:
    machine = CapacitySearch(8, 64, 8)
    while (load := machine.next_load()) is not None:
        machine.tell(Reading(load, 640.0, meets=len(machine.readings) != 4))
    found = machine.found()
    assert found is not None
    assert (found.load, found.limit, found.limited_by, found.confirmed) == (8, 8, "objective", False)
    assert (found.values, found.more) == ([640.0] * 3, None)
    assert found.bound == pytest.approx(640.0)


def test_runs_in_which_nothing_ended_confirm_nothing() -> None:
    machine = CapacitySearch(8, 8, 8)
    while (load := machine.next_load()) is not None:
        first = len(machine.readings) < 2
        machine.tell(Reading(load, 5.0 if first else 0.0, meets=len(machine.readings) != 1))
    assert machine.found() is None


@pytest.mark.parametrize(
    ("low", "high", "most", "message"),
    [
        (0, 8, 15, "low: 0: must lie from 1 to high, which is 8"),
        (9, 8, 15, "low: 9: must lie from 1 to high, which is 8"),
        (8, 4096, 7, "most: 7: must be at least 8, the confirming runs and 4"),
    ],
)
def test_a_search_needs_a_range_and_runs(low: int, high: int, most: int, message: str) -> None:
    with pytest.raises(BoundsError, match=f"^{message}$"):
        CapacitySearch(low, high, most)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 5000), st.integers(0, 5000), st.integers(8, 25), st.randoms(use_true_random=False))
def test_any_server_is_searched_within_the_budget_and_the_range(low: int, more: int, most: int, random: Random) -> None:
    machine = CapacitySearch(low, low + more, most)
    while (load := machine.next_load()) is not None:
        assert low <= load <= low + more
        machine.tell(Reading(load, random.random() * 100, random.random() < 0.9, random.random() < 0.9))
        assert len(machine.readings) <= most
    assert machine.phase() == "done"
    found = machine.found()
    if found is not None:
        assert low <= found.load <= low + more
        assert found.load in [reading.load for reading in machine.readings if reading.confirming]
        assert found.limit is None or found.load < found.limit or found.bound >= 0.999 * found.mean
