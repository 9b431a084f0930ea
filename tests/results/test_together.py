"""What one run cannot decide, all runs of a point decide together."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from measured_censoring import (
    BIASED,
    MOST_OF_ONE_PASSED,
    MOST_OF_ONE_REFUSED,
    UNBIASED,
    Configuration,
    doubling,
    exponential,
    lognormal,
    measure,
    pareto,
    stalls,
)
from waspbench import InputError, run
from waspbench.cli import table
from waspbench.results import Result, RunSummary, load
from waspbench.results.result import combine
from waspbench.results.together import judge
from waspbench.stats import Populations, merge


def made(output: Path | None = None, *, runs: int = 3, **group: Any) -> Result:
    measure = {"runs": runs}
    clients = [{"count": 64, "rtt": "100ms", **group}]
    return run({"name": "x", "mode": "sim", "clients": clients, "measure": measure}, output=output)


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Losses in bursts: a client in a few hundred waits for a minute and more."""
    loss = {"rate": "1%", "burst": "98%"}
    return made(tmp_path_factory.mktemp("stalled") / "out", loss=loss)


def test_runs_that_saw_few_long_transactions_are_refused_together(stalled: Result) -> None:
    # 538/s and 119 ms in the long run: rare stalls take a sixth of the mean.
    [reason] = stalled.invalid_reasons
    assert (reason.code, reason.run, reason.group) == ("censored", None, None)
    assert not [reason for summary in stalled.runs for reason in summary.invalid if reason.code == "censored"]
    assert stalled.censoring is not None
    assert stalled.censoring.censored
    assert stalled.censoring.at_most is not None
    assert stalled.censoring.at_most > 0.04
    assert stalled.censoring == stalled.groups[0].censoring


def test_a_run_that_is_refused_alone_is_no_reason_where_all_together_tell() -> None:
    result = made(count=24, loss="2%")
    alone = [summary.censoring.censored for summary in result.runs if summary.censoring]
    assert alone == [True, False, False]
    assert result.valid
    assert result.censoring is not None
    assert not result.censoring.censored
    [valid] = [line for line in table.report(result).splitlines() if line.startswith("valid")]
    assert valid.split("valid")[1].strip() == "yes; long transactions may hide up to 0.6 % of the mean"


def test_the_only_run_of_a_point_is_refused_by_its_number() -> None:
    result = made(runs=1, count=24, loss="2%")
    assert [(reason.code, reason.run) for reason in result.invalid_reasons] == [("censored", 0)]


def test_results_that_are_read_again_say_the_same(stalled: Result) -> None:
    assert stalled.results is not None
    again = load(stalled.results)
    assert again.invalid_reasons == stalled.invalid_reasons
    assert (again.censoring, again.notes, again.valid) == (stalled.censoring, stalled.notes, False)


def silenced(summary: RunSummary) -> RunSummary:
    """The summary as a version wrote it that did not count ages, or of a run that was stopped."""
    groups = [group.model_copy(update={"ages": None}) for group in summary.by_group or ()]
    return summary.model_copy(update={"by_group": groups})


def test_a_warm_up_that_is_too_short_is_said_of_all_runs(tmp_path: Path) -> None:
    # Slow start over 300 ms takes seconds, and 8 clients are too few for a run to tell by itself.
    measure = {"runs": 3, "warmup": "1s"}
    clients = [{"count": 8, "rtt": "300ms"}]
    asked = {"name": "x", "mode": "sim", "clients": clients, "measure": measure}
    result = run(asked | {"workload": {"kind": "single", "size": "400KB"}}, output=tmp_path / "out")
    assert ("warmup", None) in [(reason.code, reason.run) for reason in result.invalid_reasons]
    assert result.trend is not None
    assert result.trend.late
    assert result.trend.effect < -0.02
    assert result.trend.early is not None
    assert result.trend.early < result.trend.effect
    assert result.trend == result.groups[0].trend
    assert not any(reason.code == "warmup" for summary in result.runs for reason in summary.invalid)
    assert result.advice is not None
    assert (result.advice.warmup_s or 0) >= result.trend.settled_s
    assert load(tmp_path / "out").trend == result.trend


def test_a_log_that_ends_in_the_interval_is_said(tmp_path: Path) -> None:
    # 200 requests a second for 8 s of the 15 that a run takes.
    lines = [
        f'10.0.0.{number % 50} - - [01/Jan/2026:00:00:{number // 200:02d} +0000] "GET /a HTTP/1.1" 200 1000'
        for number in range(1600)
    ]
    (tmp_path / "access.log").write_text("\n".join(lines) + "\n")
    workload = {"kind": "replay", "log": str(tmp_path / "access.log"), "times": True, "repeat": False, "deal": "modulo"}
    result = run({"name": "x", "mode": "sim", "clients": [{"count": 50, "rtt": "20ms"}], "workload": workload})
    [reason] = [reason for reason in result.invalid_reasons if reason.code == "warmup"]
    assert reason.run is None
    assert reason.message.startswith("throughput had not settled: until 7.5 s after the start ")
    assert result.trend is not None
    assert result.trend.effect > 0.7


@pytest.mark.parametrize("silent", [(0, 1), (1,)], ids=["all", "one"])
def test_where_a_run_does_not_tell_each_keeps_what_was_said_of_it(stalled: Result, silent: Sequence[int]) -> None:
    refused = made(runs=1, count=24, loss="2%").runs[0]
    runs = [refused.model_copy(update={"run": number}) for number in range(2)]
    runs = [silenced(each) if each.run in silent else each for each in runs]
    assert judge(runs) is None
    result = combine(
        runs, nothing(runs), name="x", seed=1, mode="sim", scenario=stalled.scenario, server=stalled.server
    )
    assert [(reason.code, reason.run) for reason in result.invalid_reasons] == [("censored", 0), ("censored", 1)]
    assert (result.censoring, [group.censoring for group in result.groups]) == (None, [None])
    assert not [note for note in result.notes if "stalls" in note]
    good = [silenced(run) for run in made().runs]
    result = combine(
        good, nothing(good), name="x", seed=1, mode="sim", scenario=stalled.scenario, server=stalled.server
    )
    assert [line for line in table.report(result).splitlines() if line.startswith("valid")] == ["valid           yes"]


def nothing(runs: Sequence[RunSummary]) -> list[Populations]:
    """Histograms of none of their response times."""
    return [Populations(merge(()), merge(())) for _ in runs]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("ages.ended", "99:160"),
        ("ages.cut", "50:-1"),
        ("ages.began", -1),
        ("ages.sum_s", math.nan),
        ("ages.window", {}),
        ("ages.window", {"warmup": 1e307, "duration": 10.0, "timeout": 60.0, "closed": 1.0}),
        ("course.ok", ""),
        ("course.ok", " ".join(["1"] * 299)),
        ("course.ok", " ".join(["-1"] * 300)),
        ("course.fortieths", {"backlog": "1", "ok": "1", "time_ns": "1", "replays": False}),
        ("beginning.in_step", math.inf),
        ("beginning.cycle_s", math.nan),
    ],
)
def test_damaged_figures_are_an_error_that_names_them(field: str, wrong: Any, stalled: Result, tmp_path: Path) -> None:
    assert stalled.results is not None
    shutil.copytree(stalled.results, tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    document = json.loads(manifest.read_text())
    part, name = field.split(".")
    document["runs"][0]["by_group"][0][part][name] = wrong
    manifest.write_text(json.dumps(document))
    with pytest.raises(InputError, match=rf"manifest.json: runs.0.by_group.0.{field}"):
        load(tmp_path / "out")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """One against which nothing is said."""
    result = made(tmp_path_factory.mktemp("sound") / "out", count=256)
    assert result.valid
    return result


@pytest.mark.parametrize(
    ("part", "name", "wrong", "code"),
    [
        ("ages", "in_progress_s", 1e307, "censored"),
        ("beginning", "in_step", 1e307, "cycles"),
        ("ages", "sum_s", 1e307, "censored"),
    ],
)
def test_figures_that_make_no_sense_are_not_valid(
    part: str, name: str, wrong: float, code: str, sound: Result, tmp_path: Path
) -> None:
    assert sound.results is not None
    shutil.copytree(sound.results, tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    document = json.loads(manifest.read_text())
    for summary in document["runs"]:
        summary["by_group"][0][part][name] = wrong
    manifest.write_text(json.dumps(document))
    assert [(reason.code, reason.run) for reason in load(tmp_path / "out").invalid_reasons] == [(code, None)]


def test_groups_are_judged_by_name_and_keep_what_is_said_of_them(tmp_path: Path) -> None:
    loss = {"rate": "3%", "burst": "98%"}
    clients: list[dict[str, Any]] = [
        {"name": "well", "count": 64, "rtt": "100ms"},
        {"name": "stalled", "count": 64, "rtt": "100ms", "loss": loss},
        {"name": "aside", "count": 64, "rtt": "100ms", "loss": loss, "background": True},
    ]
    result = run({"name": "x", "mode": "sim", "clients": clients}, output=tmp_path / "out")
    found = [(reason.code, reason.group, reason.run) for reason in result.invalid_reasons]
    assert [each for each in found if each[0] == "censored"] == [("censored", "stalled", None)]
    well, stalled, aside = (group.censoring for group in result.groups)
    assert well is not None
    assert stalled is not None
    assert aside is not None
    assert (well.censored, stalled.censored, aside.censored) == (False, True, True)
    assert [group.valid for group in result.groups] == [True, False, True]
    assert [note for note in result.notes if note.startswith("group well: stalls of fewer than one in ")]
    assert not [note for note in result.notes if "group aside" in note]
    assert load(tmp_path / "out").groups == result.groups


def test_no_length_is_advised_where_the_load_is_too_much() -> None:
    asked = {
        "name": "x",
        "mode": "sim",
        "clients": [{"count": 2000, "rtt": "20ms", "arrivals": {"rate": "1500/s", "outstanding": 100_000}}],
        "server": {"model": {"per_request": "1ms", "per_connection": "0ms", "per_kib": "0ms"}},
        "measure": {"runs": 2},
    }
    result = run(asked)
    assert {reason.code for reason in result.invalid_reasons} == {"overload"}


def test_what_was_never_seen_is_a_note() -> None:
    far = made(count=16, rtt="1s")
    assert far.valid
    # 530 were seen, and the third of them is missed with a probability of 5 %.
    assert far.notes == [
        "p99.9 is left out: it needs 2,995 ok transactions",
        "stalls of fewer than one in 180 transactions may not have been seen; if each lasted 60 s, as long as clients "
        "wait, the mean response time of all that ended would be up to 34 % higher",
    ]
    [group] = far.groups
    assert group.censoring is not None
    assert group.censoring.unseen is not None
    assert group.censoring.unseen.adds_s == pytest.approx(60 / (3 * 16 * 11 / 3), rel=0.05)


@pytest.mark.parametrize("group", [{"count": 256}, {"count": 16, "rtt": "1s", "http": {"timeout": "5s"}}])
def test_what_could_be_hidden_but_would_not_matter_is_no_note(group: dict[str, Any]) -> None:
    assert not [note for note in made(**group).notes if note.startswith("stalls")]


@pytest.mark.parametrize(
    "configuration",
    [
        Configuration(stalls(0.1, 55.0, 5e-4), 5, 10, 64),
        Configuration(stalls(0.1, 55.0, 2e-3), 5, 60, 16),
        Configuration(doubling(0.2, 1.0, 0.12, 0.35), 5, 10, 64),
        Configuration(lognormal(1.0, 2.0), 5, 60, 64),
        Configuration(pareto(0.1), 5, 10, 256),
    ],
    ids=str,
)
def test_experiments_that_lack_more_than_a_twentieth_of_the_mean_are_refused(configuration: Configuration) -> None:
    found = measure(configuration, least=40, most=40)
    assert found.bias < -BIASED
    assert found.passed <= MOST_OF_ONE_PASSED


@pytest.mark.parametrize(
    "configuration",
    [
        Configuration(exponential(0.1), 5, 10, 64),
        Configuration(stalls(0.1, 7.0, 1e-3), 5, 60, 64),
        Configuration(doubling(0.1, 1.0, 0.03, 0.03), 5, 10, 64),
        Configuration(lognormal(0.1, 0.5), 5, 10, 64),
    ],
    ids=str,
)
def test_experiments_that_lack_next_to_nothing_pass(configuration: Configuration) -> None:
    found = measure(configuration, least=40, most=40)
    assert abs(found.bias) < UNBIASED
    assert found.refused <= MOST_OF_ONE_REFUSED
