"""The grammar of figures: ``[group.][request:NAME.][all.]metric``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench import InputError
from waspbench.experiment import parse
from waspbench.experiment.conditions import condition, conditions, objective
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.metrics import (
    FIGURES,
    Known,
    Metric,
    asked_percentiles,
    compared,
    fraction_of,
    is_reserved,
    metric,
    percentile,
    percentiles,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("throughput", Metric("throughput")),
        ("p99", Metric("p99")),
        ("p99.9", Metric("p99.9")),
        ("p99.90", Metric("p99.9")),
        ("p05", Metric("p5")),
        ("all.p99.9", Metric("p99.9", all=True)),
        ("phones.p95", Metric("p95", "phones")),
        ("phones.goodput", Metric("goodput", "phones")),
        ("phones.all.max", Metric("max", "phones", all=True)),
        ("floor-1.west.p99.9", Metric("p99.9", "floor-1.west")),
        ("request:order.p90", Metric("p90", request="order")),
        ("request:order.errors", Metric("errors", request="order")),
        ("phones.request:login.all.p95", Metric("p95", "phones", "login", all=True)),
        ("floor-1.west.request:p99.max", Metric("max", "floor-1.west", "p99")),
        ("request:all.mean", Metric("mean", request="all")),
    ],
)
def test_figures_are_named(text: str, found: Metric) -> None:
    assert metric(text) == found
    assert metric(str(found)) == found


NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,9}", fullmatch=True).filter(lambda name: not is_reserved(name))
PERCENTILES = st.integers(1, 999_999).map(lambda share: percentile(f"{share / 10_000:.4f}"))


REQUESTS = st.from_regex(r"[A-Za-z0-9_-]{1,9}", fullmatch=True)


@given(
    st.builds(
        Metric, st.sampled_from([*FIGURES]) | PERCENTILES, st.none() | NAMES, st.none() | REQUESTS, all=st.booleans()
    )
)
def test_a_figure_is_found_again_by_its_name(figure: Metric) -> None:
    if figure.all and figure.kind != "duration":
        figure = Metric(figure.name, figure.group, figure.request)
    if figure.name == "server_cpu":
        figure = Metric("server_cpu")
    assert metric(str(figure)) == figure


PARTS = st.sampled_from(
    ["all", "ok", "p99", "p99.9", "p0", "p100", "mean", "server_cpu", "a", "b-1", "request:x", "request:", "", "p"]
)


@given(st.lists(PARTS, max_size=4).map(".".join) | st.text())
def test_any_text_is_a_figure_or_an_error_in_words(text: str) -> None:
    said, field = f"{text}: valid", text
    try:
        assert metric(str(metric(text))) == metric(text)
    except FieldError as error:
        said, field = str(error), error.field
    assert said.startswith(f"{text}: ")
    assert len(said) > len(text) + 2
    assert field == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "latency",
            "latency: unknown figure; did you mean mean? valid here: throughput, goodput, mean, max, errors, ",
        ),
        ("phones.thruput", "phones.thruput: unknown figure; did you mean throughput? valid here: "),
        ("p100", "p100: must be above 0 and below 100"),
        ("ok.p99", "ok.p99: a figure is of ok transactions without ok., which objectives (--slo) have; leave it out"),
        ("all.phones.p99", "all.phones.p99: all. stands after the group, as in phones.all.p99"),
        ("p0", "p0: must be above 0 and below 100"),
        ("phones", "phones: unknown figure"),
        ("all.throughput", "all.throughput: all. stands before response times only"),
        ("phones.server_cpu", "phones.server_cpu: server_cpu is that of all clients; leave phones out"),
        (
            "request:a.server_cpu",
            "request:a.server_cpu: server_cpu is that of all clients; leave request:a out",
        ),
        ("request:.p95", "request:.p95: request: stands after the group and before a name, as in request:login.p99"),
        ("request:a.phones.p95", "request:a.phones.p95: request: stands after the group and before a name"),
        ("request:a.request:b.p95", "request:a.request:b.p95: request: stands after the group and before a name"),
    ],
)
def test_what_names_no_figure(text: str, message: str) -> None:
    with pytest.raises(FieldError) as raised:
        metric(text)
    assert str(raised.value).startswith(message)


def test_tables_of_toml_are_the_same_as_names_with_dots() -> None:
    table = {"phones": {"all": {"p99": {"9": "< 3s"}}, "p95": ["< 2s", "> 1ms"]}, "p50": "< 1s"}
    assert [each.text for each in conditions(table)] == [
        "phones.all.p99.9 < 3s",
        "phones.p95 < 2s",
        "phones.p95 > 1ms",
        "p50 < 1s",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p99 < 1s", "all.p99 < 1s"),
        ("ok.p99.9 < 1s", "ok.p99.9 < 1s"),
        ("phones.p99<1s", "phones.all.p99 < 1s"),
        ("phones.ok.p99 < 1s", "phones.ok.p99 < 1s"),
        ("phones.all.p99 < 1s", "phones.all.p99 < 1s"),
        ("phones.throughput > 5", "phones.throughput > 5"),
        ("mean < 1s", "mean < 1s"),
        ("request:login.p99 < 1s", "request:login.all.p99 < 1s"),
        ("phones.request:login.ok.p99 < 1s", "phones.request:login.ok.p99 < 1s"),
    ],
)
def test_percentiles_of_objectives_are_of_all_that_ended(text: str, found: str) -> None:
    asked = objective(text, "--slo", Known({"phones": ["login"]}, ["login"]))
    assert asked.text == found
    assert objective(asked.text, "--slo") == asked
    assert asked.metric.all == ("all." in found)


def test_ok_stands_before_percentiles_of_objectives_only() -> None:
    with pytest.raises(InputError, match=r"ok\. stands before percentiles only"):
        objective("ok.mean < 1s", "--slo")
    with pytest.raises(InputError, match=r"ok\. stands after the group, as in phones\.ok\.p99"):
        objective("ok.phones.p99 < 1s", "--slo", Known({"phones": []}))


def test_a_group_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError) as raised:
        condition("phone.p95 < 1s", "--assert", Known({"homes": [], "phones": []}))
    assert str(raised.value) == (
        '--assert: "phone.p95 < 1s": phone.p95: no group is called phone; did you mean phones? '
        "valid here: homes, phones"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("request:logn.p95", "no request is called logn; did you mean login? valid here: login, list"),
        ("homes.request:list.p95", "no request of homes is called list; valid here: login"),
        ("robots.request:list.p95", "no request of robots has a name here; leave request:list out"),
        ("list.p95", "no group is called list; list is a request: did you mean request:list.p95? valid here: homes"),
    ],
)
def test_a_request_that_is_not_there_is_named_with_the_nearest(text: str, message: str) -> None:
    known = Known({"homes": ["login"], "phones": ["login", "list"], "robots": []}, ["login", "list"])
    with pytest.raises(InputError) as raised:
        condition(f"{text} < 1s", "--assert", known)
    assert str(raised.value).startswith(f'--assert: "{text} < 1s": {text}: {message}')
    assert condition("phones.request:list.p95 < 1s", "--assert", known).metric == Metric("p95", "phones", "list")
    with pytest.raises(InputError, match=r"no request has a name here; leave request:a out"):
        condition("request:a.p95 < 1s", "--assert", Known({"homes": []}))


def test_figures_of_whole_sessions() -> None:
    known = Known({"homes": ["login"], "robots": []}, ["login"], ["homes", None])
    assert metric("sessions.p95") == Metric("p95", sessions=True)
    assert metric("homes.sessions.all.p9") == Metric("p9", "homes", sessions=True, all=True)
    assert str(metric("homes.sessions.all.p9")) == "homes.sessions.all.p9"
    assert str(objective("sessions.p90 < 1s", "--slo", known).metric) == "sessions.all.p90"
    assert str(objective("sessions.mean < 1s", "--slo", known).metric) == "sessions.mean"
    assert condition("sessions.errors < 1%", "--assert", known).metric.kind == "share"
    for text, message in (
        ("robots.sessions.p95", "the clients of robots make no sessions here; leave out `sessions.`"),
        ("request:login.sessions.p95", "sessions. is of whole sessions; leave it or request:login out"),
        ("sessions.request:login.p95", "sessions. is of whole sessions; leave it or request:login out"),
        ("sessions.homes.p95", "sessions. stands once, after the group, as in homes.sessions.p95"),
        ("sessions.sessions.p95", "sessions. stands once, after the group, as in sessions.p95"),
        ("sesions.p95", "no group is called sesions; did you mean sessions? valid here: homes, robots"),
        ("sessions.all.mean", "sessions.all. stands before percentiles only; a session that failed counts"),
        ("sessions.server_cpu", "server_cpu is that of all clients; leave sessions out"),
    ):
        with pytest.raises(InputError, match=re.escape(f"{text}: {message}")):
            condition(f"{text} < 1", "--assert", known)
    with pytest.raises(InputError, match=re.escape("sessions.p95: the clients make no sessions here")):
        condition("sessions.p95 < 1s", "--assert", Known({"homes": []}))


@pytest.mark.parametrize("name", ["all", "ok", "sessions", "p95", "p99.9", "throughput", "far.errors", "p99.west"])
def test_names_that_no_group_may_have(name: str) -> None:
    assert is_reserved(name)
    with pytest.raises(InputError) as raised:
        parse({"name": "x", "clients": [{"name": name}]})
    message = str(raised.value)
    assert "has a meaning of its own in conditions" in message
    [near] = re.findall(r"such as (\S+)$", message)
    assert parse({"name": "x", "clients": [{"name": near}]}).clients[0].name == near


def test_percentiles_are_sorted_and_written_in_one_way() -> None:
    assert percentiles("99.90, 50,p90") == ["p50", "p90", "p99.9"]
    assert percentiles([99.99, 5, 5.0]) == ["p5", "p99.99"]
    assert [fraction_of(name) for name in ("p5", "p99.99")] == [0.05, 0.9999]


@pytest.mark.parametrize("wrong", ["", "100", "0", "x", "50,", "99.99999", [], [True], [None]])
def test_what_is_no_percentile(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"^percentiles: .*(must be above 0 and below 100|must name one)"):
        asked_percentiles(wrong)


def test_only_some_figures_can_be_compared() -> None:
    faster = [compared(text).larger_is_faster for text in ("throughput", "phones.p99.9", "all.mean")]
    assert faster == [True, False, False]
    with pytest.raises(FieldError, match="must be throughput, goodput, mean, or a percentile"):
        compared("max")
