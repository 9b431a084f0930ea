"""Named requests: how a file tells them, what is refused, and how fields of one are set."""

from __future__ import annotations

from typing import Any

import pytest

from waspbench import InputError
from waspbench.experiment import Experiment, Requests, accept, apply, parse
from waspbench.experiment.metrics import Known
from waspbench.experiment.model import known_in
from waspbench.experiment.resolve import resolve
from waspbench.results.behaviour import asks_for
from waspbench.results.workload import arrival_text, workload_text
from waspbench.serve import Answer, content_of, read_content
from waspbench.workload.serving import answers, by_path, check_sites, served, site_of

LIST: dict[str, Any] = {"name": "list", "path": "/items?page=1", "weight": 3}
CREATE: dict[str, Any] = {
    "name": "create",
    "method": "POST",
    "path": "/items",
    "headers": {"Content-Type": "application/json"},
    "body": '{"item": 7}',
    "expect": {"status": 201, "contains": "made", "length": ">= 10"},
    "size": "100B",
}


def document(*requests: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"name": "x", "clients": [{}], "workload": {"kind": "requests", "requests": list(requests)}, **others}


def experiment(*requests: dict[str, Any], **others: Any) -> Experiment:
    return parse(document(*requests, **others))


def refusal(*requests: dict[str, Any], **others: Any) -> str:
    """What is said of a file, by its declaration or by the engine."""
    with pytest.raises(InputError) as raised:
        accept(experiment(*requests, **others), "sim")
    return str(raised.value)


def test_the_engine_is_told_bodies_by_their_form_and_statuses_as_texts() -> None:
    upload = {"name": "upload", "method": "PUT", "path": "/files/1", "body": {"size": "2MiB"}}
    workload = resolve(experiment(LIST, CREATE, upload), mode="sim")["workload"]
    assert workload == {
        "kind": "requests",
        "deal": "own",
        "order": "weights",
        "cookies": False,
        "requests": [
            {"name": "list", "method": "GET", "path": "/items?page=1", "weight": 3, "headers": {}, "expect": {}},
            {
                **CREATE,
                "body": {"text": CREATE["body"]},
                "expect": {"status": ["201"], "contains": "made", "length": ">= 10"},
            },
            {**upload, "headers": {}, "expect": {}},
        ],
    }
    accept(experiment(LIST, CREATE, upload), "sim")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "a b"}, "workload.requests[1].name: \"a b\": must be from 1 to 64 letters, digits, '-' and '_'"),
        ({"method": "TRACE"}, 'workload.requests.list.method: "TRACE": must be GET, HEAD, POST, PUT, PATCH or DELETE'),
        ({"path": "items"}, 'workload.requests.list.path: "items"; must begin with a slash'),
        ({"path": "/a b"}, 'workload.requests.list.path: request target "/a b": must start with /'),
        ({"weight": -1}, "workload.requests.list.weight: -1: must be at least 0"),
        ({"wieght": 1}, "workload.requests.list.wieght: unknown field; did you mean weight? valid here: name, method,"),
        ({"body": "x"}, "workload.requests.list.body: given; a GET has no body; give another method"),
        ({"body": 5}, "workload.requests.list.body: 5: must be a text, or a table with a file or a size, such as {"),
        ({"body": {}}, "workload.requests.list.body.file: missing; give file, text or size"),
        ({"body": {"other": "x"}}, "workload.requests.list.body.other: unknown field; valid here: file, "),
        (
            {"body": {"file": "a", "size": "5B"}},
            'workload.requests.list.body.size: "5B": contradicts file; ',
        ),
        (
            {"body": {"size": "5B", "template": True}},
            "workload.requests.list.body.template: true: is for a file or a text",
        ),
        ({"body": {"file": ""}}, "workload.requests.list.body.file: "),
        (
            {"path": "{client}/a"},
            'workload.requests.list.path: "{client}/a"; must begin with a slash, with a line of',
        ),
        ({"expect": {"status": [600]}}, 'workload.requests.list.expect.status: "600"; must be a status from 200 to'),
        ({"expect": {"status": []}}, "workload.requests.list.expect.status: []: must have at least 1"),
        (
            {"expect": {"status": True}},
            "workload.requests.list.expect.status: true: must be a status such as 201",
        ),
        (
            {"expect": {"length": 10}},
            'workload.requests.list.expect.length: 10: must be a condition such as ">= 10"',
        ),
        (
            {"expect": {"contains": "x" * 1025}},
            "workload.requests.list.expect.contains: 1025 bytes; must have from",
        ),
        ({"headers": {"a": "1", "A": "2"}}, "workload.requests.list.headers: a; stands there twice"),
        ({"expect": {"length": "10"}}, 'workload.requests.list.expect.length: "10"; must be <, <=, ==, >= or > and'),
        ({"expect": {"contains": ""}}, "workload.requests.list.expect.contains: 0 bytes; must have from 1"),
        ({"headers": {"Host": "x"}}, "workload.requests.list.headers: header Host: is set by the client itself"),
        ({"size": "5B", "expect": {"length": "> 5"}}, "workload.requests.list.size: 5B; must be at least 6B"),
    ],
)
def test_what_is_no_request(changes: dict[str, Any], said: str) -> None:
    assert refusal({**LIST, **changes}).startswith(said)


def test_lists_of_requests_are_checked_as_a_whole() -> None:
    assert refusal() == "workload.requests: []: must have at least 1"
    assert refusal(LIST, LIST).startswith("workload.requests.list.name: list; two requests have this name")
    assert refusal({**LIST, "weight": 0}).startswith("workload.requests: no weight; at least one weight")
    message = refusal(LIST, clients=[{"http": {"method": "HEAD"}}])
    assert message.startswith("clients.http.method: given; each named request has a method of its own")
    message = refusal(LIST, CREATE, clients=[{"name": "a", "http": {"pipeline": 2}}])
    assert message.startswith("clients.a.http.pipeline: 2; the POST create must not be pipelined")
    sized = {**document(LIST)["workload"], "size": "1KiB"}
    assert refusal(workload=sized).startswith("workload.size: belongs to kind = ")


def test_a_url_has_no_path_beside_named_requests() -> None:
    server = {"kind": "url", "url": "http://127.0.0.1:8080/shop"}
    assert refusal(LIST, server=server).endswith(
        "its path says what is asked for, and so does the workload, which has named requests; leave it out"
    )
    experiment(LIST, server={"kind": "url", "url": "http://127.0.0.1:8080/"})


def test_a_field_of_a_request_is_set_by_its_name_or_its_number() -> None:
    changed = apply(document(LIST, CREATE), ["workload.requests.create.weight=9", "workload.requests.1.path=/all"])
    assert [request["path"] for request in changed["workload"]["requests"]] == ["/all", "/items"]
    assert changed["workload"]["requests"][1]["weight"] == 9
    changed = apply(document(CREATE), ["workload.requests.create.expect.status=[200, 201]"])
    workload = parse(changed).workload
    assert isinstance(workload, Requests)
    assert workload.requests[0].expect.status == ["200", "201"]
    own = {"name": "x", "clients": [{"name": "a", "workload": document(LIST)["workload"]}]}
    changed = apply(own, ["clients.a.workload.requests.list.weight=2"])
    assert changed["clients"][0]["workload"]["requests"][0]["weight"] == 2
    for setting, said in (
        (
            "lst.weight=9",
            '"workload.requests.lst": no request is called lst; did you mean list? valid here: list, create',
        ),
        ("weight=9", '"workload.requests.weight": no request is called weight; valid here: list, create'),
        ("list=5", '"workload.requests.list": names a request; name one of its fields too'),
        ("create.body.size.x=5", "workload.requests.create.body is not a table but "),
    ):
        with pytest.raises(InputError) as raised:
            apply(document(LIST, CREATE), [f"workload.requests.{setting}"])
        assert said in str(raised.value)


def test_conditions_name_requests_of_groups() -> None:
    clients = [{"name": "buyers", "workload": document(LIST, CREATE)["workload"]}, {"name": "robots"}]
    both = {"name": "x", "clients": clients}
    assert known_in(parse(both)) == Known({"buyers": ["list", "create"], "robots": []}, ["list", "create"])
    aside = {**both, "clients": [{**clients[0], "background": True}, clients[1]]}
    assert known_in(parse(aside)) == Known({"buyers": ["list", "create"], "robots": []}, [])
    parse({**both, "assert": {"request:list.p99": "< 1s", "buyers.request:create.errors": "< 1%"}})
    with pytest.raises(InputError, match=r"no request of robots has a name here; leave request:list out"):
        parse({**both, "assert": {"robots.request:list.p99": "< 1s"}})
    with pytest.raises(InputError, match=r"no request is called lst; did you mean list\?"):
        parse({**both, "capacity": {"slo": ["request:lst.p99 < 1s"]}})


def test_a_server_that_stands_in_answers_as_requests_expect() -> None:
    asked = experiment(LIST, CREATE)
    assert answers(asked) == [
        ("GET", "/items?page=1", False, 200, [], "", 1024),
        ("POST", "/items", False, 201, [], "made", 100),
    ]
    made = experiment({"name": "item", "path": "/items/{int:1-9}.{client:none}"})
    without: list[Answer] = [("GET", r"/items/(?:[1-9][0-9]{0})\.[!-~]*", True, 200, [], "", 1024)]
    assert answers(made) == without, "without its files"
    assert (served(asked).files, by_path(asked)) == ([], {})
    assert (site_of(asked, "sim").files, site_of(asked, "sim").bytes) == (0, 0)
    assert [asks_for(each, each.clients[0], "sim") for each in (asked, experiment(LIST))] == [
        "one of 2 named requests",
        "list",
    ]


def test_requests_that_no_answer_can_meet_are_refused_where_one_is_made_up() -> None:
    one, other = (
        {"name": name, "path": "/", "expect": {"status": status}} for name, status in (("a", 200), ("b", 404))
    )
    said = r"workload\.requests\.b\.expect\.status: 404; a server that stands in for the application answers all"
    with pytest.raises(InputError, match=said):
        check_sites(experiment(one, other), "sim")
    with pytest.raises(InputError, match=said):
        check_sites(experiment(one, other), "live")
    check_sites(experiment(one, other, server={"kind": "url", "url": "http://127.0.0.1:8080/"}), "live")


@pytest.mark.parametrize("kind", ["nginx", "apache"])
def test_a_server_of_files_is_refused_before_the_run(kind: str) -> None:
    with pytest.raises(InputError, match=rf'server\.kind: "{kind}": serves files, and workload has named requests'):
        check_sites(experiment(LIST, server={"kind": kind}), "live")
    check_sites(experiment(LIST, server={"kind": kind}), "sim")


LOGIN: dict[str, Any] = {
    "name": "login",
    "path": "/login",
    "once": True,
    "capture": {"token": {"after": "token=", "before": ";"}},
}
ORDER: dict[str, Any] = {
    "name": "order",
    "method": "POST",
    "path": "/orders",
    "headers": {"Authorization": "Bearer {token}"},
    "capture": {"place": {"header": "Location"}},
    "think": "2s",
}
LOOK: dict[str, Any] = {"name": "look", "path": "{place}"}


def session(*steps: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"workload": {"kind": "requests", "order": "session", "requests": list(steps)}, **others}


def test_the_engine_is_told_the_steps_of_a_session() -> None:
    steps = experiment(**session(LOGIN, ORDER, LOOK))
    accept(steps, "sim")
    found = resolve(steps, mode="sim")["workload"]
    assert (found["order"], found["cookies"]) == ("session", False)
    login, order, look = found["requests"]
    assert (login["once"], login["capture"]) == (True, LOGIN["capture"])
    assert (order["capture"], order["think"]) == (ORDER["capture"], {"model": "constant", "value": "2s"})
    assert {"once", "capture", "think", "weight"}.isdisjoint(look)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([{**LOOK, "weight": 2}], 'workload.requests.look.weight: given; belongs to order = "weights"'),
        ([LOOK], "workload.requests.look.path: {place}; must be {client}, {request}"),
        (
            [LOOK, ORDER],
            "workload.requests.look.path: {place}; is captured too late: must be a value that a",
        ),
        (
            [{**ORDER, "headers": {}, "capture": {"line": {"header": "X"}}}],
            "workload.requests.order.capture.line.name: line; is the name of another placeholder",
        ),
        (
            [{**LOGIN, "capture": {"token": {"header": "X", "after": "a"}}}],
            "workload.requests.login.capture.token.header: given; not beside after and before",
        ),
        (
            [{**LOGIN, "capture": {"token": {"heder": "X"}}}],
            "workload.requests.login.capture.token.heder: unknown field; did you mean header?",
        ),
        ([LOGIN], "workload.requests: no step; all steps have once = true; at least one"),
        ([{**LOOK, "path": "/"}, LOGIN], "workload.requests.login.once: true; steps that only the first session has"),
    ],
)
def test_what_is_no_session(steps: list[dict[str, Any]], said: str) -> None:
    assert refusal(**session(*steps)).startswith(said)


def test_what_contradicts_a_session() -> None:
    steps = [LOGIN, ORDER, LOOK]
    message = refusal(**session(*steps, clients=[{"name": "a", "http": {"connections": 6}}]))
    assert message.startswith("clients.a.http.connections: 6; a session makes one request at a time; must be 1")
    message = refusal(LIST, LOGIN)
    assert message.startswith('workload.requests.login.capture: given; belongs to order = "session"')
    dealt = session(*steps)["workload"] | {"deal": "modulo"}
    assert refusal(workload=dealt).startswith('workload.deal: "modulo"; each client goes through all steps')
    cookies = {"kind": "requests", "cookies": True, "requests": [LIST]}
    message = refusal(workload=cookies, clients=[{"name": "a", "http": {"headers": {"Cookie": "a=b"}}}])
    assert message.startswith("clients.a.http.headers: Cookie contradicts cookies of the workload")
    own = {**cookies, "requests": [{**LIST, "headers": {"Cookie": "a=b"}}]}
    assert refusal(workload=own).startswith("workload.requests.list.headers.Cookie: given; contradicts cookies = true")


def test_the_built_in_server_answers_with_what_a_session_captures() -> None:
    found = {(method, target): rest for method, target, *rest in answers(experiment(**session(LOGIN, ORDER, LOOK)))}
    assert found["GET", "/login"] == [False, 200, [], "token=0;", 1024]
    assert found["POST", "/orders"] == [False, 200, [("Location", "0")], "", 1024]
    told = answers(experiment(**session(LOGIN, ORDER, LOOK)))
    assert read_content(content_of({}, told)) == ({}, told)


def test_a_session_is_told_by_its_steps() -> None:
    short = experiment(**session(LOGIN, ORDER, LOOK))
    assert asks_for(short, short.clients[0], "sim") == "sessions of login, order, look with pauses of 2s"
    long = experiment(**session(LOGIN, *({"name": f"s{number}", "path": "/"} for number in range(7))))
    assert asks_for(long, long.clients[0], "sim") == "sessions of 8 steps"
    scenario = resolve(short, mode="sim")
    assert workload_text(scenario["workload"]) == "sessions of login, order, look"
    assert arrival_text(scenario) == "sessions"
    assert arrival_text(resolve(experiment(LIST), mode="sim")) == "requests"


def test_fields_of_steps_are_set_by_name() -> None:
    changed = apply(document(**session(LOGIN, ORDER, LOOK)), ["workload.requests.order.think=5s"])
    assert changed["workload"]["requests"][1]["think"] == "5s"
