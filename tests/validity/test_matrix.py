"""A default experiment that is wrong is refused, and one that is right is not: fourteen configurations in every run of
the tests, and the whole matrix in the full suite. The experiments are simulated with fixed seeds.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from validity import judged, kept
from validity.configurations import CONFIGURATIONS, FAMILIES, Configuration, named
from validity.judged import ALL, LONG_RUNS, Outcome

TEN = 10
"""Experiments of each of the fourteen."""

WRONG = {
    "half-never": "silent",
    "bursts-98": "censored",
    "above-1040": "overload",
    "handshakes": "opening",
    "in-step-size": "cycles",
    "near-2280": "near_capacity",
    "closed-16-600ms-20KB-3-35": "windows",
    "many-and-few": "windows",
    "prowgen": "windows",
    "closed-32-50ms-20KB-1-80": "warmup",
}
"""Configurations whose experiments are wrong, each with the reason that all of them have."""

RIGHT = ["one-client", "open-light", "impatient", "closed-16-20ms-2KB-1-0"]
"""Those whose experiments are right."""

FALL_SHORT = {"ten-requests": 11, "open-950": 10, "surge-400": 7}
"""Those of which more experiments than may be are called what they are not, and how many of 40; docs/verdicts.md says
why.
"""


def outcome(name: str) -> Outcome:
    """What becomes of ten experiments of a configuration."""
    [configuration] = named([name])
    made = [judged.experiment(configuration, seed) for seed in range(1, 1 + TEN)]
    return judged.outcome(configuration, made, kept.truths().get(name))


@pytest.mark.parametrize("name", WRONG)
def test_an_experiment_that_is_wrong_is_refused(name: str) -> None:
    wrong = outcome(name)
    assert wrong.is_wrong, wrong.bias
    assert wrong.reasons[WRONG[name]] == TEN
    assert wrong.valid == 0


@pytest.mark.parametrize("name", RIGHT)
def test_an_experiment_that_is_right_is_not_refused(name: str) -> None:
    right = outcome(name)
    assert right.is_right, (right.bias, right.deviation)
    assert (right.valid, dict(right.reasons)) == (TEN, {})


def outcomes(wanted: list[Configuration]) -> list[Outcome]:
    """What becomes of 40 experiments of each; those that were made are used again."""
    truths, made = kept.truths(), kept.experiments(wanted, kept.processes())
    return [judged.outcome(each, made[each.name], truths.get(each.name)) for each in wanted]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_judged_rightly_but_for_what_is_known_to_fall_short(family: str) -> None:
    found = outcomes(FAMILIES[family])
    short = [each for each in found if judged.falls_short(each)]
    known = {each.name: FALL_SHORT[each.name] for each in FAMILIES[family] if each.name in FALL_SHORT}
    counts = {each.configuration.name: each.valid if each.is_wrong else each.refused for each in short}
    assert counts == known, short


@pytest.mark.full
@pytest.mark.slow
def test_of_all_experiments_few_are_called_what_they_are_not() -> None:
    found = outcomes(CONFIGURATIONS)
    assert sum(each.is_wrong for each in found) >= 35
    assert sum(each.is_right for each in found) >= 20
    valid, refused = judged.pooled(found)
    assert valid <= judged.MOST_VALID
    assert refused <= judged.MOST_REFUSED


PAUSE = {"clients.think": {"model": "exponential", "mean": "3s"}}
"""The mean of SURGE's pauses (Pareto, shape 1.5, scale 1 s), without their long tail."""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("name", ["surge", "surge-50", "surge-400"])
def test_clients_whose_pauses_have_no_tail_are_as_fast(name: str) -> None:
    """Those of a closed loop that are independent of each other are so by their mean pause and mean response time."""
    [surge] = named([name])
    lasts = 3000.0 if name == "surge-400" else 8000.0
    without = replace(surge, more={**surge.more, **PAUSE}, settles=1000.0, lasts=lasts)
    jobs = [(without, number) for number in range(LONG_RUNS)]
    runs = [run for _, run in kept.made(jobs, judged.long_run, kept.processes(), "long runs")]
    truth, witness = kept.truths()[name][ALL], judged.truth(runs)[ALL]
    assert witness.throughput == pytest.approx(truth.throughput, rel=0.02)
