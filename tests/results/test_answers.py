"""What a search for capacity found, in sentences, and whether it is enough."""

from __future__ import annotations

from typing import Any

import pytest

from capacity_results import found, group, reading
from waspbench.errors import InputError
from waspbench.experiment import parse
from waspbench.experiment.search import Find, Search, search_of_table
from waspbench.results.answers import against, answer
from waspbench.results.behaviour import asks_for, waits
from waspbench.results.capacity import CapacityResult
from waspbench.results.capacity_checks import at_least
from waspbench.results.check import Check
from waspbench.results.exports import junit, markdown
from waspbench.results.loads import LoadReading


def said(result: CapacityResult) -> list[str]:
    return answer(result.points[0], result)


NEVER = group("robots", 100, waits=None)
ASIDE = group("bulk", 10, background=True)


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        ({}, ["500 clients with all.p99 < 1s   (90 %: 490 to 520)", "each asks for /, waits 5s"]),
        (
            {"groups": [NEVER, ASIDE], "ci90": (490, None), "outcome": "emulator"},
            [
                "at least 500 clients without pauses with all.p99 < 1s",
                "each asks for /",
                "in the background 10 of bulk: each asks for /, waits 5s",
            ],
        ),
        (
            {"groups": [group("people", 400), group("robots", 100)]},
            [
                "500 clients (people: 400, robots: 100) with all.p99 < 1s   (90 %: 490 to 520)",
                "each asks for /, waits 5s",
            ],
        ),
        (
            {"groups": [group("people", 400), NEVER]},
            [
                "500 clients (people: 400, robots: 100) with all.p99 < 1s   (90 %: 490 to 520)",
                "people: each asks for /, waits 5s",
                "robots: each asks for /, without pauses",
            ],
        ),
        ({"groups": None, "ci90": None}, ["500 clients with all.p99 < 1s"]),
        ({"capacity": None, "load": None, "why": "nothing counted"}, ["none found: nothing counted"]),
    ],
)
def test_the_answer_says_what_a_user_does(fields: dict[str, Any], sentences: list[str]) -> None:
    assert said(found(**fields)) == sentences


def test_the_answer_of_a_rate_and_of_throughput() -> None:
    asked = [group("people", 40.0, waits=None), group("robots", 10.25, waits=None)]
    rate = found("rate", capacity=50.25, load=50.25, ci90=(50.25, 60.1234), groups=asked)
    assert said(rate) == [
        "50.25 arrivals/s (people: 40, robots: 10.25) with all.p99 < 1s   (90 %: 50.25 to 60.12)",
        "each arrival asks for /",
    ]
    few = found("rate", capacity=50.25, load=50.25, ci90=(50.25, 60.1234), groups=asked[:1], bottleneck="clients")
    assert said(few)[0] == "at least 50.25 arrivals/s with all.p99 < 1s"
    throughput = found("throughput", capacity=1234.56, ci90=(1200.0, 1300.0), outcome="not reached")
    assert said(throughput)[0] == "at least 1,234.6 /s at 500 clients   (90 %: 1,200.0 to 1,300.0)"


def test_a_search_that_is_not_over_has_found_nothing_yet() -> None:
    result = found(capacity=None, load=None, outcome=None).model_copy(update={"complete": False})
    assert said(result) == ["none found yet: the search is not over"]


WRONG = [reading(500, run=run, valid=run not in (4, 6, 7)) for run in range(4, 8)]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, []),
        ({"valid": False, "capacity": None, "outcome": "none", "readings": []}, ["none found"]),
        ({"valid": False, "confirmed": False}, ["not confirmed"]),
        ({"valid": False, "readings": WRONG}, ["runs 5, 7 and 8 are not valid"]),
        ({"valid": False, "confirmed": False, "readings": WRONG[:2]}, ["not confirmed", "run 5 is not valid"]),
        ({"valid": False, "varied": {"a": 1}, "confirmed": False}, ["a=1: not confirmed"]),
    ],
)
def test_why_an_answer_must_not_be_trusted(fields: dict[str, Any], why: list[str]) -> None:
    assert against(found(**fields)) == why


UNTRUSTED = "500 clients were found, which must not be trusted"
ON = "the 90 % interval is from 500 clients on"


def judged(result: CapacityResult, least: float) -> Check:
    [check] = at_least(result, least)
    return check


@pytest.mark.parametrize(
    ("fields", "least", "passed", "why"),
    [
        ({}, 490, True, "the 90 % interval is 490 to 520 clients"),
        ({}, 491, None, "the 90 % interval is 490 to 520 clients"),
        ({}, 520, None, "the 90 % interval is 490 to 520 clients"),
        ({}, 521, False, "the 90 % interval is 490 to 520 clients"),
        ({"ci90": (500, None), "outcome": "not reached"}, 500, True, f"{ON}; more were not tried"),
        ({"ci90": (500, None), "outcome": "not reached"}, 501, None, f"{ON}; more were not tried"),
        ({"ci90": (500, 600), "bottleneck": "clients"}, 900, None, f"{ON}; the number of clients was the limit"),
        (
            {"ci90": (500, None), "outcome": "emulator"},
            900,
            None,
            f"{ON}; the emulator was the limit beyond",
        ),
        (
            {"valid": False, "confirmed": False},
            9,
            None,
            f"{UNTRUSTED}: not confirmed",
        ),
        (
            {"valid": False, "readings": WRONG[:1]},
            900,
            None,
            f"{UNTRUSTED}: a run is not valid",
        ),
        ({"outcome": None, "capacity": None, "valid": False}, 9, None, "the search is not over"),
    ],
)
def test_the_interval_says_whether_it_is_enough(
    fields: dict[str, Any], least: float, passed: bool | None, why: str
) -> None:
    check = judged(found(**fields), least)
    assert (check.condition, check.passed, check.why) == (f"clients >= {least}", passed, why)
    if passed is not None:
        assert check.judged is not None
        assert (check.judged >= least) is passed


NONE: dict[str, Any] = {
    "capacity": None,
    "load": None,
    "ci90": None,
    "outcome": "none",
    "valid": False,
    "confirmed": False,
}


def missed(load: float, **fields: Any) -> LoadReading:
    return reading(load, meets=False, **({"misses": True} | fields))


TOO_MUCH = "saturated; fewer were not tried"


@pytest.mark.parametrize(
    ("fields", "least", "passed", "why"),
    [
        ({"readings": [missed(8), missed(8, valid=False)]}, 8, False, TOO_MUCH),
        ({"readings": [missed(8, counts=False, failed=True, outcomes={"ok": 1})]}, 8, False, TOO_MUCH),
        ({"readings": [missed(8)]}, 7, None, TOO_MUCH),
        ({"readings": [missed(8)], "bottleneck": "clients"}, 99, None, "saturated"),
        ({"readings": [missed(8, misses=False)]}, 99, None, "saturated"),
        ({"readings": [reading(8, meets=None), missed(64)]}, 99, None, "saturated"),
        ({"readings": [missed(8), reading(8)]}, 99, None, "saturated"),
        ({"readings": [missed(8, counts=False)]}, 99, None, "saturated"),
        ({"readings": [missed(8, counts=False, failed=True)]}, 99, None, "saturated"),
        ({"readings": []}, 99, None, "saturated"),
    ],
)
@pytest.mark.parametrize("find", ["clients", "rate", "throughput"])
def test_nothing_found_is_too_little_where_the_least_load_is_too_much(
    find: Find, fields: dict[str, Any], least: float, passed: bool | None, why: str
) -> None:
    check = judged(found(find, **NONE | fields), least)
    if find == "throughput":  # of which a load says nothing
        passed, why = None, "saturated"
    assert (check.value, check.passed, check.why) == (None, passed, why)
    assert check.judged == (None if passed is None else 8)


def test_throughput_is_judged_by_its_interval_unless_clients_were_too_few() -> None:
    fields: dict[str, Any] = {"capacity": 100.0, "ci90": (98.0, 102.5)}
    assert judged(found("throughput", **fields), 103).passed is False
    assert judged(found("throughput", **fields), 98).line == (
        "passed  throughput >= 98/s: the 90 % interval is 98.0 to 102.5 /s"
    )
    unexplored = judged(found("throughput", bound=140.0, **fields), 120)
    told = "the 90 % interval is 98.0 to 102.5 /s; between the loads that were tried up to 140.0 /s may be reached"
    assert (unexplored.passed, unexplored.why, unexplored.ci90) == (None, told, (98.0, 102.5))
    assert judged(found("throughput", bound=140.0, **fields), 141).judged == 140.0
    few = found("throughput", outcome="not reached", **fields)
    assert (judged(few, 98).passed, judged(few, 103).passed) == (True, None)
    assert judged(few, 103).why == "the 90 % interval is from 98.0 /s on; more were not tried"
    assert (judged(few, 103).ci90, judged(few, 103).judged) == ((98.0, None), 98.0)
    once = found("throughput", "sweep", capacity=100.0, ci90=None)
    assert (judged(once, 9).passed, judged(once, 9).why) == (None, "100.0 /s were found, and one run has no interval")
    rate = found("rate", capacity=50.25, load=50.25, ci90=(50.25, 60.0))
    assert judged(rate, 50).line == "passed  rate >= 50/s: the 90 % interval is 50.25 to 60 arrivals/s"


def test_what_ci_reads_of_an_answer_that_must_not_be_trusted() -> None:
    result = found(valid=False, readings=WRONG, varied={"a": 1})
    result = result.model_copy(update={"checks": at_least(result, 9)})
    reasons = [f"a=1: run {run} is not valid: lag" for run in (5, 7, 8)]
    assert 'errors="2"' in junit(result)
    assert f'message="{"; ".join(reasons)}"' in junit(result)
    lines = markdown(result).splitlines()
    assert lines[0] == "### e: not valid, 1 of 1 checks undecided"
    assert lines[2] == "most clients under all.p99 < 1s, sim, by search:"
    answered = "- a=1: 500 clients with all.p99 < 1s (90 %: 490 to 520); each asks for /, waits 5s; bottleneck: server"
    assert lines[4] == f"{answered}; saturated"
    assert lines[-3:] == [f"- {reason}" for reason in reasons]


def test_a_search_that_is_not_over_says_so_for_ci() -> None:
    result = found(capacity=None, load=None, outcome=None, valid=False).model_copy(update={"complete": False})
    assert markdown(result).endswith("Not to be trusted:\n\n- the search is not over\n")


def test_results_of_older_versions_that_are_not_valid_have_a_reason() -> None:
    result = found(valid=None, outcome=None, groups=None).model_copy(update={"valid": False})
    assert against(result) == ["a point is not valid"]
    assert 'message="a point is not valid"' in junit(result)


LIVE: dict[str, Any] = {"name": "x", "clients": [{}]}
URL = {"kind": "url", "url": "http://127.0.0.1:8080/a?b"}


@pytest.mark.parametrize(
    ("changes", "asks", "pause"),
    [
        ({}, "1KiB", None),
        ({"workload": {"size": "20KB"}}, "20KB", None),
        ({"workload": {"files": [{"size": "1KB"}, {"size": "2KB"}]}}, "one of 2 files", None),
        ({"server": URL}, "/a?b", None),
        ({"server": {"kind": "command", "command": "x", "path": "/p"}}, "/p", None),
        ({"workload": {"kind": "surge"}}, "pages of surge98", "as surge98 says"),
        ({"workload": {"kind": "surge", "inactive_off": "2s"}}, "pages of surge98", "2s"),
        ({"workload": {"kind": "prowgen"}}, "files of ip-tne", None),
        ({"workload": {"kind": "replay", "log": "a.log"}}, "what a.log says", None),
        ({"workload": {"kind": "replay", "log": "a.log", "times": True}}, "what a.log says", "as the log says"),
        ({"clients": [{"http": {"method": "HEAD"}}]}, "1KiB (HEAD)", None),
        ({"clients": [{"http": {"method": "POST", "body": "2KiB"}}]}, "1KiB (POST of 2KiB)", None),
        ({"clients": [{"http": {"requests_per_connection": 1}}]}, "1KiB on a new connection each time", None),
        (
            {"clients": [{"http": {"connections": 4, "pipeline": 2, "requests_per_connection": 9}}]},
            "1KiB over 4 connections, 2 requests at a time, with 9 requests a connection",
            None,
        ),
        ({"clients": [{"think": "5s"}]}, "1KiB", "5s"),
        ({"clients": [{"workload": {"size": "20KB"}}]}, "20KB", None),
        ({"clients": [{"workload": {"kind": "surge"}}]}, "pages of surge98", "as surge98 says"),
        ({"clients": [{"think": "0s"}]}, "1KiB", None),
        ({"clients": [{"think": {"model": "none"}}], "workload": {"kind": "surge"}}, "pages of surge98", None),
        ({"clients": [{"think": {"model": "exponential", "mean": "2s"}}]}, "1KiB", "2s on average (exponential)"),
        ({"clients": [{"think": {"model": "lognormal", "mu": 1.0, "sigma": 1.0}}]}, "1KiB", "a lognormal time"),
        ({"clients": [{"think": None, "arrivals": {"rate": "5/s"}}]}, "1KiB", None),
    ],
)
def test_what_a_client_does(changes: dict[str, Any], asks: str, pause: str | None) -> None:
    experiment = parse(LIVE | changes)
    [only] = experiment.clients
    assert (asks_for(experiment, only, "live"), waits(experiment, only)) == (asks, pause)


def test_a_modelled_server_is_asked_for_the_size() -> None:
    experiment = parse(LIVE | {"server": URL})
    assert asks_for(experiment, experiment.clients[0], "sim") == "1KiB"


def test_a_file_says_what_is_looked_for() -> None:
    table = {"find": "rate", "slo": "p99 < 1s", "low": "30/min", "high": "100/s", "at_least": "60/min"}
    asked = search_of_table(parse(LIVE | {"capacity": table}).capacity)
    assert asked == Search(find="rate", objectives=("p99 < 1s",), low=0.5, high=100.0, at_least=1.0)
    assert search_of_table(parse(LIVE).capacity) == Search()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"find": "users"},
            r'capacity\.find: "users": did you mean clients\? must be one of ',
        ),
        ({"slo": 3}, r'capacity\.slo: 3: must be a condition, such as "p99 < 1s", or a list of such'),
        ({"slo": ["p99 < 1s", "x < 1"]}, r'capacity\.slo: "x < 1": x: unknown figure'),
        ({"slo": "phones.p99 < 1s"}, r"capacity\.slo: .*no group is called phones"),
        ({"low": 0}, r"capacity\.low: 0: must be a number of clients, such as 64, or with find"),
        ({"low": "64"}, r'capacity\.low: "64": must be a number of clients, such as 64, or with find'),
        ({"low": "5/s"}, r'capacity\.low: "5/s": must be a number of clients, such as 64'),
        ({"find": "rate", "high": 5}, r'capacity\.high: 5: must be a frequency, such as "50/s"'),
        ({"low": 9, "high": 8}, r"capacity\.low: 9: must be at most high, which is 8"),
        ({"at_least": 0}, r"capacity\.at_least: 0: must be a number above 0"),
        ({"find": "clients", "at_least": 2.5}, r"capacity\.at_least: 2.5: must be a number of clients"),
        ({"find": "rate", "at_least": 5}, r"capacity\.at_least: 5: must be a frequency"),
        ({"confirm": 3}, r"capacity\.confirm: unknown field; valid here: find, slo, low, high, at_least"),
    ],
)
def test_what_a_file_cannot_look_for(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        parse(LIVE | {"capacity": table})


@pytest.mark.parametrize("least", [0, -3, float("nan"), float("inf"), "500"])
def test_what_a_search_cannot_ask_for(least: Any) -> None:
    with pytest.raises(InputError, match=r"search\.at_least: .*must be a number above 0"):
        Search(at_least=least)
    with pytest.raises(InputError, match=r'search\.method: "swep": must be search or sweep'):
        Search("swep")  # type: ignore[arg-type]
