"""What is wrong with an experiment is said in one line that names field, value, and what would be valid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench.errors import CannotRunError, InputError, Problem, RunFailedError
from waspbench.experiment import parse
from waspbench.experiment.location import Location, checked_url

DURATIONS = "expected a duration such as 100ms, 1.5s or 2min (units: ns, us, ms, s, min, h)"
PROBABILITIES = "expected a probability from 0% to 100% such as 3%, 0.1% or 0.03"
LIMIT = "must be below 60.61%, which is 1/(1+r) at r = 65%"
FREQUENCIES = "expected a frequency above zero such as 100/s or 30/min (units: /s, /min, /h)"
PAIRS = "give rate and burst, or p and r"
UNLOGGED: list[dict[str, Any]] = [
    {"kind": "builtin"},
    {"kind": "command", "command": "true"},
    {"kind": "url", "url": "http://127.0.0.1/"},
]


def group(**fields: Any) -> dict[str, Any]:
    return {"name": "x", "clients": [{"name": "homes", **fields}]}


def surge(**fields: Any) -> dict[str, Any]:
    return {"name": "x", "clients": [{}], "workload": {"kind": "surge", **fields}}


CASES: list[tuple[dict[str, Any], str]] = [
    (group(http={"version": 1.2}), 'clients.homes.http.version: "1.2": must be 1.0 or 1.1'),
    (
        group(http={"abort": {"bytes": "0B"}}),
        'clients.homes.http.abort.bytes: "0B": must be above zero, such as "64KiB"',
    ),
    ({"name": "x"}, "clients: missing"),
    ({"clients": [{}]}, "name: missing"),
    ({"name": "x", "clients": []}, "clients: []: must have at least 1"),
    ({"name": "x", "clients": {}}, "clients: {}: must be a list of tables"),
    (
        {"name": "a b", "clients": [{}]},
        "name: \"a b\": must be letters, digits, '.', '_' and '-', and begin with a letter or digit",
    ),
    ({"name": "x", "seed": -1, "clients": [{}]}, "seed: -1: must be at least 0"),
    ({"name": "x", "clients": [{}], "mode": "shim"}, 'mode: "shim": comes in a later version; valid now: live, sim'),
    ({"name": "x", "clients": [{}], "mode": "real"}, 'mode: "real": did you mean live? must be live or sim'),
    ({"name": "x", "clients": [{}], "sweep": 3}, "sweep: 3: must be a table"),
    (
        {"name": "x", "clients": [{}], "measure": {"warmup": "soon"}},
        f'measure.warmup: "soon": {DURATIONS}',
    ),
    (
        {"name": "x", "clients": [{}], "measure": {"until": {"ci": "0%"}}},
        'measure.until.ci: "0%": must be above 0% and below 100%',
    ),
    (
        {"name": "x", "clients": [{}], "measure": {"runs": 5, "until": {"ci": "5%", "max_runs": 4}}},
        "measure.until.max_runs: 4: must be at least runs, which is 5",
    ),
    (
        {"name": "x", "clients": [{}], "assert": {"latency": "< 1s"}},
        "assert.latency: latency: unknown figure; did you mean mean? valid here: throughput, goodput, mean, max, errors, server_cpu, or a "
        "percentile such as p50 or p99.9",
    ),
    (
        {"name": "x", "clients": [{"name": "homes"}, {"name": "phones"}], "assert": {"phone": {"p95": "< 1s"}}},
        "assert.phone.p95: phone.p95: no group is called phone; did you mean phones? valid here: homes, phones",
    ),
    (
        {"name": "x", "clients": [{"name": "p99"}]},
        'clients: "p99": has a meaning of its own in conditions; call the group something else, such as p99-clients',
    ),
    (
        {"name": "x", "clients": [{}], "measure": {"percentiles": [50, 100]}},
        "measure.percentiles: [50, 100]: must be above 0 and below 100, with at most four decimals, such as 99.9",
    ),
    (
        {"name": "x", "clients": [{}], "assert": {"phones.p95": "< 1s", "phones": {"p95": "< 2s"}}},
        "assert.phones.p95: stands there twice, once in quotes; give it a list of conditions",
    ),
    (
        {"name": "x", "clients": [{}], "assert": {"phones": {"p95": []}}},
        "assert.phones.p95: has no condition; give it one, such as < 800ms, or leave it out",
    ),
    (
        {"name": "x", "clients": [{}], "assert": {"ghost": {}}},
        "assert.ghost: has no condition; give it one, such as < 800ms, or leave it out",
    ),
    (
        {"name": "x", "clients": [{}], "measure": {"percentiles": ["p50"]}},
        'measure.percentiles: ["p50"]: must be a list of numbers, such as [50, 99.9]',
    ),
    (
        {"name": "x", "clients": [{}], "measure": {"percentiles": 50}},
        "measure.percentiles: 50: must be a list of numbers, such as [50, 99.9]",
    ),
    (
        {"name": "x", "clients": [{}], "assert": {"p99": "800ms"}},
        'assert.p99: "800ms": must be <, <=, > or >= and a limit, such as "< 800ms"',
    ),
    (
        {"name": "x", "clients": [{}], "assert": {"p99": "< 800"}},
        f'assert.p99: "< 800": unknown or missing unit; {DURATIONS}',
    ),
    (
        {"name": "x", "clients": [{}], "assert": {"throughput": ["> 5", "> 5%"]}},
        'assert.throughput: "> 5%": must be a number, such as 600',
    ),
    ({"name": "x", "clients": [{}], "server": "nginx"}, 'server: "nginx": must be a table'),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "caddy"}},
        'server.kind: "caddy": must be one of builtin, nginx, apache, command, url',
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "nginx", "mpm": "event"}},
        'server.mpm: "event": is for kind = "apache", and this is "nginx"',
    ),
    *(
        (
            {"name": "x", "clients": [{}], "server": server | {"access_log": True}},
            f'server.access_log: true: is for kind = "nginx" or "apache", and this is "{server["kind"]}"',
        )
        for server in UNLOGGED
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "nginx", "access_log": "yes"}},
        'server.access_log: "yes": must be true or false',
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "apache", "mpm": "worker"}},
        'server.mpm: "worker": must be event or prefork',
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "command"}},
        'server.command: missing; kind = "command" needs a start line',
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "command", "command": "x", "path": "a b"}},
        "server.path: \"a b\": must be a path that begins with '/', percent-encoded, such as /index.html",
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "url"}},
        'server.url: missing; kind = "url" needs one, such as http://127.0.0.1:8080/',
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "url", "url": "http://[::1]/"}},
        'server.url: "http://[::1]/": IPv6 comes in a later version; an IPv4 address or a name is valid now',
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "url", "url": "http://a:x/"}},
        "server.url: \"http://a:x/\": not a URL: port could not be cast to integer value as 'x'",
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "url", "url": "http://u@h/"}},
        'server.url: "http://u@h/": must have no user, no port 0 and no fragment (#)',
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "url", "url": "http://h/ü"}},
        "server.url: \"http://h/ü\": must be a path that begins with '/', percent-encoded, such as /index.html",
    ),
    (
        {
            "name": "x",
            "clients": [{}],
            "server": {"kind": "url", "url": "http://h/", "sysctl": {"net.ipv4.tcp_sack": 0}},
        },
        "server.sysctl: a server that runs already has the machine's own settings; set them there",
    ),
    (
        {"name": "x", "clients": [{}], "server": {"kind": "iis"}},
        'server.kind: "iis": must be one of builtin, nginx, apache, command, url',
    ),
    (
        {"name": "x", "clients": [{}], "workload": {"kind": "specweb"}},
        'workload.kind: "specweb": must be one of single, surge, prowgen, replay, requests',
    ),
    (
        {"name": "x", "clients": [{}], "workload": {"kind": "surge", "size": "1KiB"}},
        'workload.size: belongs to kind = "single"; these files have sizes of their own',
    ),
    (
        surge(inactive_off={"model": "pareto", "shape": 0, "scale": "1s"}),
        "workload.inactive_off.shape: 0: must be above 0",
    ),
    (
        surge(embedded={"model": "zipf"}),
        'workload.embedded.model: "zipf": must be one of none, constant, pareto, gamma',
    ),
    (surge(embedded={"cap": 20}), "workload.embedded.model: missing; give one of none, constant, pareto, gamma"),
    (surge(locality=3), "workload.locality: 3: must be a table"),
    (
        surge(request_sizes={"shape": 1, "scale": "1000B", "kap": "1MB"}),
        "workload.request_sizes.kap: unknown field; did you mean cap? valid here: shape, scale, cap",
    ),
    (
        {"name": "x", "clients": [{}], "workload": {"size": "1KiB", "files": [{"size": "2KiB"}]}},
        'workload.size: "1KiB": contradicts files; give one of the two',
    ),
    (
        {"name": "x", "clients": [{}], "workload": {"files": [{"size": "2KiB", "weight": -1}]}},
        "workload.files[1].weight: -1: must be at least 0",
    ),
    ({"name": "x", "clients": [{}], "workload": {"kind": "replay"}}, "workload.log: missing"),
    ({"name": "x", "clients": [{"workload": {"kind": "replay"}}]}, "clients.workload.log: missing"),
    (
        {"name": "x", "clients": [{"name": "far", "workload": {"kind": "surge", "size": "1KiB"}}]},
        'clients.far.workload.size: belongs to kind = "single"; these files have sizes of their own',
    ),
    (
        {"name": "x", "clients": [{"workload": {"size": "1KiB"}}], "workload": {"size": "2KiB"}},
        "workload: every group of clients has a workload of its own, so nobody uses it; leave it out, or one of theirs",
    ),
    (
        {
            "name": "x",
            "clients": [{"name": "a"}, {"name": "b", "workload": {"kind": "surge"}}],
            "server": {"kind": "command", "command": "x", "path": "/y"},
        },
        'server.path: "/y": says what is asked for, and so does clients.b.workload, which has more than one file; '
        "leave it out",
    ),
    (
        {
            "name": "x",
            "clients": [{}],
            "workload": {"files": [{"size": "2KiB"}]},
            "server": {"kind": "command", "command": "x", "path": "/y"},
        },
        'server.path: "/y": says what is asked for, and so does the workload, which has more than one file; leave it out',
    ),
    (
        {"name": "x", "clients": [{}], "workload": {"size": "0B"}},
        'workload.size: "0B": must be above zero, such as "64KiB"',
    ),
    ({"name": "x", "clients": [{}], "measure": {"runs": 0}}, "measure.runs: 0: must be at least 1"),
    (
        {"name": "x", "clients": [{}], "measure": {"duration": "0s"}},
        'measure.duration: "0s": must be above zero, such as "10s"',
    ),
    (
        {"name": "x", "clients": [{}, {}]},
        'clients: "clients": two groups have this name; give each [[clients]] a name of its own',
    ),
    (
        {"name": "x", "clients": [{"name": "rtt"}]},
        'clients: "rtt": a group cannot be named like a field of [[clients]]',
    ),
    (group(count=0), "clients.homes.count: 0: must be at least 1"),
    (group(count=-3), "clients.homes.count: -3: must be at least 1"),
    (group(count=True), "clients.homes.count: true: must be a whole number"),
    (group(count=2.5), "clients.homes.count: 2.5: must be a whole number"),
    (group(count="many"), 'clients.homes.count: "many": must be a whole number'),
    (group(rtt="100"), f'clients.homes.rtt: "100": unknown or missing unit; {DURATIONS}'),
    (group(rtt="-1ms"), f'clients.homes.rtt: "-1ms": {DURATIONS}'),
    (group(rtt=100), 'clients.homes.rtt: 100: must be text with a unit, such as "100ms"'),
    (group(mtu=9), "clients.homes.mtu: 9: must be at least 128"),
    (
        {"name": "x", "clients": [{}], "network": {"shared": {"down": {"mtu": 127}}}},
        "network.shared.down.mtu: 127: must be at least 128",
    ),
    (group(tcp={"min_path_mtu": 87}), "clients.homes.tcp.min_path_mtu: 87: must be at least 88"),
    (
        group(lost="3%"),
        "clients.homes.lost: unknown field; did you mean loss? "
        "valid here: name, count, background, observe, at, profile, rtt, loss, bandwidth, trace, queue, jitter, reorder, duplicate, "
        "corrupt, mtu, workload, http, think, start, arrivals, tcp",
    ),
    (group(loss="100%"), f'clients.homes.loss.rate: "100%": {LIMIT}'),
    (group(loss="61%"), f'clients.homes.loss.rate: "61%": {LIMIT}'),
    (group(loss="lots"), f'clients.homes.loss.rate: "lots": {PROBABILITIES}'),
    (group(loss=-0.1), f"clients.homes.loss.rate: -0.1: {PROBABILITIES}"),
    (group(loss=True), "clients.homes.loss: true: must be a table"),
    (group(loss={"model": "independent", "rate": "100%"}), 'clients.homes.loss.rate: "100%": must be below 100%'),
    (group(loss={"model": "independent"}), "clients.homes.loss.rate: missing"),
    (
        group(loss={"model": "independent", "rate": "3%", "burst": "9%"}),
        "clients.homes.loss.burst: only two-state loss has it",
    ),
    (group(loss={"model": "periodic", "rate": "3%", "every": 7}), "clients.homes.loss.rate: follows from every"),
    (group(loss={"model": "periodic"}), "clients.homes.loss.every: missing"),
    (
        group(loss={"model": "bursty", "rate": "3%"}),
        'clients.homes.loss.model: "bursty": did you mean two-state? must be one of two-state, independent, periodic, wasp2001',
    ),
    (
        group(loss={"model": "wasp2001", "rate": "4%"}),
        'clients.homes.loss.rate: "4%": must be 3%, 6% or 9%, the labels of the wasp2001 table',
    ),
    (group(loss={"model": "two-state"}), "clients.homes.loss.rate: missing; give rate (and burst), or p and r"),
    (group(loss={"rate": "3%", "p": "2%"}), f'clients.homes.loss.p: "2%": contradicts rate; {PAIRS}'),
    (group(loss={"p": "2%", "r": "5%", "burst": "3%"}), f'clients.homes.loss.burst: "3%": goes with rate; {PAIRS}'),
    (group(loss={"p": "100%", "r": "5%"}), 'clients.homes.loss.p: "100%": must be below 100%'),
    (group(loss={"p": "1%", "r": "0%"}), 'clients.homes.loss.r: "0%": must be above 0%, or a burst never ends'),
    (
        group(loss={"rate": "1%", "burst": "100%"}),
        'clients.homes.loss.burst: "100%": must be below 100%, or a burst never ends',
    ),
    (group(loss={"rate": "1%", "start": "bad"}), 'clients.homes.loss.start: "bad": must be good or stationary'),
    (
        group(loss={"up": "1%", "scope": "host"}),
        'clients.homes.loss.scope: "host": must be direction, connection or link',
    ),
    (
        group(loss={"up": {"rate": "1%", "scope": "link"}}),
        'clients.homes.loss.up.scope: "link": belongs beside up and down, for both',
    ),
    (group(http={"connections": 9}), "clients.homes.http.connections: 9: must be at most 8"),
    (group(http={"version": "2"}), 'clients.homes.http.version: "2": comes in a later version; valid now: 1.0, 1.1'),
    (group(http={"abort": {}}), "clients.homes.http.abort.after: missing; give after, bytes or both"),
    (group(think="soon"), f'clients.homes.think.value: "soon": {DURATIONS}'),
    (
        group(think={"model": "normal"}),
        'clients.homes.think.model: "normal": did you mean lognormal? must be one of none, constant, exponential, pareto, weibull, lognormal',
    ),
    (group(think={"model": "exponential"}), "clients.homes.think.mean: missing"),
    (group(arrivals={"rate": "100"}), f'clients.homes.arrivals.rate: "100": unknown or missing unit; {FREQUENCIES}'),
    (group(arrivals={}), "clients.homes.arrivals.rate: missing"),
    (group(http={"requests_per_connection": 0}), "clients.homes.http.requests_per_connection: 0: must be at least 1"),
    (group(tcp={"preset": "plan9"}), 'clients.homes.tcp.preset: "plan9": must be linux or bsd1999'),
    (
        group(tcp={"congestion": "bbr"}),
        'clients.homes.tcp.congestion: "bbr": comes in a later version; valid now: reno, cubic',
    ),
    (group(tcp={"recovery": "hope"}), 'clients.homes.tcp.recovery: "hope": must be one of reno, newreno, sack, rack'),
    (group(tcp={"sack": 1}), "clients.homes.tcp.sack: 1: must be true or false"),
    (group(bandwidth={"both": "1Mbit/s"}), "clients.homes.bandwidth.both: unknown field; valid here: up, down"),
    ({"name": "x", "clients": [{"count": 0}]}, "clients.count: 0: must be at least 1"),
    ({"name": "x", "clients": [{}, {"count": 0}]}, "clients[2].count: 0: must be at least 1"),
    (
        {"name": "x", "clients": [{}], "network": {"shared": {"up": {"loss": {"rate": "3%", "scope": "link"}}}}},
        'network.shared.up.loss.scope: "link": a link that connections share has one loss process a direction; leave scope out',
    ),
]


@pytest.mark.parametrize(("document", "message"), CASES, ids=[message.partition(": ")[0] for _, message in CASES])
def test_message(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse(document)
    assert str(raised.value) == message


def test_every_problem_has_a_line() -> None:
    with pytest.raises(InputError) as raised:
        parse(group(count=0, rtt="1") | {"seed": "one"})
    assert [problem.where for problem in raised.value.problems] == ["seed", "clients.homes.count", "clients.homes.rtt"]
    assert str(raised.value).splitlines() == [str(problem) for problem in raised.value.problems]


@given(st.text(), st.text(), st.text())
def test_a_problem_is_one_line(where: str, message: str, value: str) -> None:
    for problem in (Problem(where, message), Problem(where, message, value, has_value=True)):
        assert len(str(problem).splitlines()) == 1
    for error in (CannotRunError(message, where), RunFailedError(message, Path(value), where)):
        assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize(("text", "shown"), [("a\nb", r"a\nb"), ("a\r\n", r"a\r\n"), ("a\u2028b", r"a\u2028b")])
def test_a_line_break_is_shown_as_what_it_is(text: str, shown: str) -> None:
    assert str(Problem("x", text)) == f"x: {shown}"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["name", "count", "rtt", "loss", "bandwidth", "queue", "mtu", "http", "tcp", "other"])
LOSS_FIELDS = st.sampled_from(["model", "rate", "burst", "p", "r", "start", "scope", "up", "down"])


@given(
    st.dictionaries(FIELDS, VALUES, max_size=4) | st.fixed_dictionaries({"loss": st.dictionaries(LOSS_FIELDS, VALUES)})
)
def test_whatever_stands_in_a_group_is_valid_or_said_in_lines_that_name_a_field(fields: dict[str, Any]) -> None:
    try:
        parse({"name": "x", "clients": [fields]})
    except InputError as error:
        for problem in error.problems:
            assert problem.where.startswith("clients")
            assert "\n" not in str(problem)


@given(VALUES)
def test_no_document_breaks_the_reader(document: Any) -> None:
    with pytest.raises(InputError):
        parse(document)


@given(st.text() | st.text().map("http://{}".format))
def test_no_url_upsets_the_check(text: str) -> None:
    said = "valid"
    try:
        assert checked_url(text) == text
    except ValueError as error:
        said = str(error)
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8080", Location("localhost", 8080, "localhost:8080", "/")),
        ("HTTP://Example.org/a?b=c", Location("example.org", 80, "Example.org", "/a?b=c")),
        ("http://127.0.0.1/x?", Location("127.0.0.1", 80, "127.0.0.1", "/x")),
    ],
)
def test_a_url_is_taken_apart(url: str, expected: Location) -> None:
    assert Location.of(url) == expected
    assert checked_url(url) == url
