"""Experiments are held against long runs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest

from validity import judged
from validity.configurations import CONFIGURATIONS, FAMILIES, NEVER, Configuration, named
from validity.judged import ALL, Experiment, Figures, Outcome, Truth

PLACE = Configuration("place", "--clients 2 --rtt 100ms", settles=1.0, lasts=1.0)
TRUTH = Truth(throughput=100.0, mean=50.0, medians=(40.0, 45.0), error=0.0)


def experiment(
    throughput: float = 100.0, mean: float | None = 50.0, median: float | None = 42.0, *, valid: bool = True
) -> Experiment:
    return Experiment(valid, () if valid else ("warmup",), {ALL: Figures(throughput, mean, median)})


def outcome(*made: Experiment, truth: Truth = TRUTH) -> Outcome:
    return judged.outcome(PLACE, made, {ALL: truth})


def test_experiments_that_are_right_are_not_to_be_refused() -> None:
    right = outcome(experiment(), experiment(valid=False))
    assert (right.bias.value, right.deviation) == (0.0, 0.0)
    assert (right.is_right, right.is_wrong) == (True, False)
    assert (right.experiments, right.valid, right.refused, right.reasons) == (2, 1, 1, {"warmup": 1})


def test_the_bias_is_that_of_all_experiments_in_the_figure_that_is_most_wrong() -> None:
    assert outcome(experiment(110.0), experiment(100.0)).bias.value == pytest.approx(0.05)
    assert outcome(experiment(110.0), experiment(90.0)).bias.value == pytest.approx(0.0)
    slow = outcome(experiment(103.0, 40.0))
    assert slow.bias.value == pytest.approx(-0.2)
    assert slow.is_wrong
    assert not slow.is_right


def test_experiments_that_differ_much_may_be_refused() -> None:
    varying = outcome(experiment(103.0), experiment(97.0))
    assert varying.deviation == pytest.approx(0.03)
    assert not varying.is_right
    assert not varying.is_wrong


def test_a_median_is_wrong_where_its_rank_is() -> None:
    off = outcome(experiment(median=46.0), experiment(median=46.0), experiment(median=41.0))
    assert off.is_off
    assert off.is_wrong
    assert not off.is_right
    assert not outcome(experiment(median=None)).is_off


def test_where_there_is_no_truth_no_experiment_may_be_valid() -> None:
    never = judged.outcome(Configuration("never", settles=NEVER), [experiment()], None)
    assert math.isinf(never.bias.value)
    assert never.is_wrong


def test_a_truth_that_is_not_known_is_no_truth_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="place: no truth is kept"):
        judged.outcome(PLACE, [experiment()], None)


@pytest.mark.parametrize(
    ("truth", "made"),
    [
        (Truth(throughput=0.0, mean=None, medians=None, error=0.0), experiment(0.0, None, None)),
        (TRUTH, experiment(0.0, None, None)),
    ],
)
def test_where_nothing_ends_no_figure_is_right(truth: Truth, made: Experiment) -> None:
    assert outcome(made, truth=truth).is_wrong


def test_a_group_that_is_wrong_makes_the_experiment_wrong() -> None:
    far = Truth(throughput=1.0, mean=900.0, medians=None, error=0.0)
    made = Experiment(True, (), {ALL: Figures(100.0, 50.0, 42.0), "far": Figures(1.5, 600.0, None)})
    assert judged.outcome(PLACE, [made], {ALL: TRUTH, "far": far}).bias.value == pytest.approx(0.5)


def test_shares_are_pooled_and_a_configuration_may_have_a_few() -> None:
    biased = outcome(*[experiment(150.0, valid=place < 7) for place in range(40)])
    sound = outcome(*[experiment(valid=place >= 9) for place in range(40)])
    assert judged.pooled([biased, sound]) == (7 / 40, 9 / 40)
    assert judged.falls_short(biased)
    assert not judged.falls_short(sound)
    assert not judged.falls_short(outcome(*[experiment(150.0, valid=place < 6) for place in range(40)]))
    assert judged.falls_short(outcome(*[experiment(valid=place >= 10) for place in range(40)]))
    assert judged.pooled([]) == (0.0, 0.0)


def test_the_truth_is_that_of_long_runs_with_their_error() -> None:
    runs = [judged.long_run(PLACE, number) for number in range(2)]
    truth = judged.truth(runs)[ALL]
    assert truth.throughput == pytest.approx(20.0)
    assert truth.mean == pytest.approx(100.0, rel=1e-3)
    assert truth.medians == pytest.approx((100.0, 100.0), rel=5e-3)
    assert truth.medians is not None
    assert truth.medians[0] < truth.medians[1]
    assert 0.0 <= truth.error < 1e-3


def test_the_truth_of_groups_is_theirs() -> None:
    [groups] = named(["near-and-far"])
    short = Configuration("short", groups.given, groups.more, settles=1.0, lasts=1.0)
    truth = judged.truth([judged.long_run(short, number) for number in range(2)])
    assert list(truth) == [ALL, "near", "far"]
    assert truth["near"].throughput + truth["far"].throughput == pytest.approx(truth[ALL].throughput)
    assert truth["near"].throughput > 5 * truth["far"].throughput


def test_experiments_and_truths_come_back_from_a_file() -> None:
    made = judged.experiment(Configuration("short", "--clients 8 --rtt 20ms --duration 1s --warmup 1s"), 3)
    assert judged.experiment_from(json.loads(json.dumps(asdict(made)))) == made
    assert made.valid
    assert made.figures[ALL].throughput == pytest.approx(400.0, rel=0.01)
    for truth in (TRUTH, replace(TRUTH, mean=None, medians=None)):
        assert judged.truth_from(json.loads(json.dumps(asdict(truth)))) == truth


def test_configurations_are_found_by_name_and_family() -> None:
    assert len({each.name for each in CONFIGURATIONS}) == len(CONFIGURATIONS) >= 70
    assert named(["groups", "many-and-few", "default"]) == [*named(["default"]), *FAMILIES["groups"]]
    assert named([]) == CONFIGURATIONS
    with pytest.raises(KeyError):
        named(["nowhere"])
