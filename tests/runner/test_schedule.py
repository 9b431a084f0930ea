"""What is run next, whatever order runs finish in."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench.runner.schedule import Schedule, Task
from waspbench.stats.stopping import Until


def played(
    schedule: Schedule, value: Callable[[Task], float | None], rng: random.Random, workers: int = 3
) -> list[Task]:
    """Makes all runs, up to ``workers`` side by side, which finish in random order."""
    made: list[Task] = []
    running: list[Task] = []
    while not schedule.over:
        while len(running) < workers and (task := schedule.next()) is not None:
            running.append(task)
        task = running.pop(rng.randrange(len(running)))
        made.append(task)
        schedule.done(task, None if task.run is None else value(task))
    return made


def noisy(task: Task) -> float:
    return 100 + 10 * random.Random(f"{task.point} {task.run}").gauss(0, 1)


def test_every_run_of_every_point_is_made_once() -> None:
    made = played(Schedule(4, 3), noisy, random.Random(1))
    assert sorted((task.point, task.run or 0) for task in made) == [(p, r) for p in range(4) for r in range(3)]


def test_the_order_is_shuffled_by_the_seed_or_as_listed() -> None:
    def order(**options: object) -> list[Task]:
        return played(Schedule(5, 3, **options), noisy, random.Random(1), workers=1)  # type: ignore[arg-type]

    listed = [Task(point, run) for point in range(5) for run in range(3)]
    assert order(order="listed") == listed
    assert order(seed=1) == order(seed=1) != order(seed=2)
    assert sorted(order(seed=1), key=lambda task: (task.point, task.run or 0)) == listed


@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_a_stopping_rule_asks_for_the_same_runs_whatever_finishes_first(rng: random.Random, workers: int) -> None:
    def runs(rng: random.Random, workers: int) -> list[tuple[int, int]]:
        schedule = Schedule(3, 3, until=Until(0.05, 3, 12))
        return sorted((task.point, task.run or 0) for task in played(schedule, noisy, rng, workers))

    assert runs(rng, workers) == runs(random.Random(1), 1)


def test_the_next_pilot_of_a_point_comes_first_and_its_runs_wait_for_the_last() -> None:
    schedule = Schedule(2, 1, order="listed", unready=[0, 1])
    first = schedule.next()
    assert first == Task(0, None)
    schedule.done(first, more=True)
    assert schedule.next() == first
    second = schedule.next()
    assert second == Task(1, None)
    assert schedule.next() is None
    schedule.done(first)
    assert schedule.next() == Task(0, 0)


def test_no_run_is_asked_for_that_one_process_would_not_have_made() -> None:
    schedule = Schedule(1, 3, until=Until(0.5, 3, 12))
    tasks = [schedule.next() for _ in range(4)]
    assert tasks[3] is None
    for task in tasks[:3]:
        assert task is not None
        schedule.done(task, 100.0 + (task.run or 0))
    assert schedule.over


def test_finished_runs_are_not_made_again() -> None:
    made = played(Schedule(2, 3, finished={(0, 0): 1.0, (0, 2): None, (1, 1): 1.0}), noisy, random.Random(1))
    assert sorted((task.point, task.run or 0) for task in made) == [(0, 1), (1, 0), (1, 2)]


def test_an_interrupted_study_comes_to_the_same_runs() -> None:
    rule = Until(0.05, 3, 12)
    whole = played(Schedule(3, 3, until=rule), noisy, random.Random(1))
    for cut in range(len(whole)):
        finished = {(task.point, task.run or 0): noisy(task) for task in whole[:cut]}
        rest = played(Schedule(3, 3, until=rule, finished={**finished}), noisy, random.Random(2))
        assert {(t.point, t.run) for t in rest} | finished.keys() == {(t.point, t.run) for t in whole}


@pytest.mark.parametrize("at_once", [True, False])
def test_a_run_can_be_tried_again(at_once: bool) -> None:
    schedule = Schedule(1, 2)
    first = schedule.next()
    assert first is not None
    schedule.again(first, at_once=at_once)
    again, other = Task(0, 0, attempt=2), Task(0, 1)
    assert [schedule.next(), schedule.next()] == ([again, other] if at_once else [other, again])
    assert not schedule.over


def test_a_run_whose_first_attempt_was_made_before_is_a_second_attempt() -> None:
    schedule = Schedule(1, 2, finished={(0, 1): 1.0}, again=[(0, 0)])
    assert schedule.next() == Task(0, 0, attempt=2)
    assert schedule.next() is None


def test_failed_runs_count_against_the_most_but_not_for_the_interval() -> None:
    made = played(Schedule(1, 3, until=Until(0.05, 3, 6)), lambda task: None, random.Random(1))
    assert len(made) == 6


def test_a_point_waits_for_its_warm_up() -> None:
    schedule = Schedule(2, 1, unready=[1])
    first, second = schedule.next(), schedule.next()
    assert first == Task(1, None)
    assert second == Task(0, 0)
    assert schedule.next() is None
    schedule.done(Task(1, None))
    assert schedule.next() == Task(1, 0)


def test_a_point_that_cannot_be_made_is_given_up() -> None:
    schedule = Schedule(2, 2, unready=[1])
    warmup = schedule.next()
    assert warmup == Task(1, None)
    schedule.done(warmup)
    assert sorted(task.run or 0 for task in schedule.give_up(1)) == [0, 1]
    assert {task.point for task in played(schedule, noisy, random.Random(1))} == {0}


def test_what_is_not_running_cannot_be_done() -> None:
    with pytest.raises(KeyError):
        Schedule(1, 1).done(Task(0, 0), 1.0)
