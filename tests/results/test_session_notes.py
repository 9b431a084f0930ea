"""What results say of sessions: of their warm-up, of steps that are made once, and of clients that are busy."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench.results.session_notes import notes_of_sessions, pause_of

STEPS = [
    {"name": "a", "think": {"model": "constant", "value": "2s"}},
    {"name": "b", "think": {"model": "exponential", "mean": "3s"}},
    {"name": "c"},
]
SESSION = {"kind": "requests", "order": "session", "requests": STEPS}
ONCE = {"name": "in", "once": True, "think": {"model": "constant", "value": "90s"}}
LONGER = {**SESSION, "requests": [*STEPS, STEPS[1]]}


def notes(warmup: str, *groups: dict[str, Any]) -> list[str]:
    """Those of a scenario with these groups."""
    clients = [{"name": "all", "count": 100, **group} for group in groups]
    return notes_of_sessions({"measure": {"warmup": warmup}, "workload": SESSION, "clients": clients})


def test_a_warm_up_that_is_short_beside_the_pauses_of_a_session_is_told() -> None:
    assert notes("10s", {}) == []
    (note,) = notes("9.9s", {})
    assert note == (
        "the pauses of a session take 5s on average, which is more than half of the warm-up of 9.9s: when measuring "
        "began, clients may not have been spread evenly over the steps; a warm-up of 10s would do"
    )


def test_the_longest_session_of_the_groups_that_count_is_told() -> None:
    short = {**SESSION, "requests": STEPS[:1]}
    assert notes("10s", {}, {"workload": {"kind": "single"}}, {"workload": short}) == []
    assert notes("10s", {}, {"workload": LONGER, "background": True}) == []
    (note,) = notes("10s", {}, {"workload": LONGER})
    assert note.startswith("the pauses of a session take 8s on average")


def test_steps_that_are_made_once_are_named() -> None:
    (note,) = notes("10s", {"workload": {**SESSION, "requests": [ONCE, *STEPS]}})
    assert note == "request in: made once by each client; those made in the warm-up are not in its figures"
    assert pause_of({**SESSION, "requests": [ONCE, *STEPS]}) == pytest.approx(5.0)


def test_clients_that_are_few_for_their_arrivals_are_told() -> None:
    assert notes("10s", {"arrivals": {"rate": "2/s"}}) == []
    (note,) = notes("10s", {"arrivals": {"rate": "20/s"}})
    assert note == (
        "all: about 100 sessions pause at any time, and an arrival waits until the session of its client is over; "
        "with at least 1,000 clients, few arrivals would wait"
    )


def test_few_sessions_in_progress_are_told_with_a_decimal() -> None:
    (note,) = notes("10s", {"arrivals": {"rate": "0.1/s"}, "count": 4})
    assert note.startswith("all: about 0.5 sessions pause at any time")


@pytest.mark.parametrize("workload", [{"kind": "single"}, {**SESSION, "order": "weights"}, {"kind": "requests"}])
def test_other_workloads_have_no_such_note(workload: dict[str, Any]) -> None:
    assert notes("0s", {"workload": workload}) == []
    assert notes_of_sessions({}) == []
