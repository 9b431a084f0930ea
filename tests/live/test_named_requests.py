"""Named requests before an application: it takes what is sent, and its answers are checked however they are framed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from waspbench import load, study

pytestmark = [pytest.mark.root, pytest.mark.slow]

REQUESTS: list[dict[str, Any]] = [
    {
        "name": "order",
        "method": "POST",
        "path": "/orders",
        "headers": {"Content-Type": "application/json"},
        "body": '{"item": 7, "count": 1}',
        "expect": {"status": 201, "contains": "accepted", "length": "== 21"},
    },
    {
        "name": "login",
        "method": "POST",
        "path": "/login?user={client:users.csv:1}",
        "headers": {"X-Client": "{client}", "X-Request": "{request}", "X-Id": "{uuid}"},
        "body": {"file": "login.json", "template": True},
        "expect": {"status": 200, "contains": "welcome"},
    },
    {"name": "chunked", "path": "/chunked", "expect": {"contains": "beforehand", "length": "== 15"}},
    {"name": "close", "path": "/close", "expect": {"contains": "to the end", "length": "== 17"}},
    {"name": "upload", "method": "PUT", "path": "/files", "body": {"size": "100000B"}, "expect": {"status": 204}},
    {"name": "delete", "method": "DELETE", "path": "/items/7", "expect": {"status": "2xx"}},
    {"name": "head", "method": "HEAD", "path": "/items/7"},
    {"name": "gone", "path": "/nothing", "expect": {"status": 404}},
    {"name": "lost", "path": "/nothing"},
    {"name": "text", "path": "/wrong", "expect": {"contains": "result"}},
    {"name": "status", "path": "/wrong", "expect": {"status": 201}},
    {"name": "length", "path": "/chunked", "expect": {"length": "> 15"}},
]
OTHERS = {"lost": "http_error", "text": "wrong", "status": "wrong", "length": "wrong"}


def folder(path: Path) -> str:
    """The files that the requests name, in ``path``."""
    (path / "users.csv").write_text("".join(f'"{name}","{name}\'s, secret"\n' for name in ("ann", "bob", "cleo")))
    (path / "login.json").write_text('{"user": "{client:users.csv:1}", "password": "{client:users.csv:2}"}')
    return str(path)


@pytest.mark.parametrize("connection", ["kept", "new"])
def test_an_application_answers_named_requests(tmp_path: Path, connection: str) -> None:
    words = [sys.executable, "-P", str(Path(__file__).with_name("application.py")), "{address}", "{port}"]
    limit = {} if connection == "kept" else {"requests_per_connection": 1}
    study(
        {
            "name": "application",
            "mode": "live",
            "server": {"kind": "command", "command": " ".join(words)},
            "workload": {"kind": "requests", "requests": REQUESTS, "folder": folder(tmp_path)},
            "clients": [{"count": 8, "rtt": "4ms", "think": "5ms", "http": limit}],
            "measure": {"warmup": "500ms", "duration": "4s", "runs": 1, "max_errors": "100%"},
        },
        output=tmp_path / "results",
    )
    for request in load(tmp_path / "results").requests:
        found = {outcome for outcome, count in request.outcomes.items() if count and outcome != "unfinished"}
        assert found == {OTHERS.get(request.name, "ok")}, (request.name, request.outcomes, request.statuses)
        assert sum(request.outcomes.values()) > 20


STEPS: list[dict[str, Any]] = [
    {
        "name": "sign-in",
        "method": "POST",
        "path": "/account/sign-in",
        "body": '{"user": "{client:users.csv}"}',
        "capture": {"token": {"after": '"token": "', "before": '"'}},
        "once": True,
    },
    {
        "name": "order",
        "method": "POST",
        "path": "/orders",
        "headers": {"Authorization": "Bearer {token}"},
        "body": '{"user": "{client:users.csv}", "for": "{line:people.csv}"}',
        "expect": {"status": 303},
        "capture": {"place": {"header": "Location"}},
        "think": "5ms",
    },
    {"name": "look", "path": "{place}&for={line:people.csv}", "expect": {"contains": "accepted"}},
    {"name": "account", "path": "/account/", "expect": {"contains": "signed in"}},
]


@pytest.mark.parametrize("connection", ["kept", "new"])
def test_an_application_knows_a_client_by_what_its_session_keeps(tmp_path: Path, connection: str) -> None:
    words = [sys.executable, "-P", str(Path(__file__).with_name("shop.py")), "{address}", "{port}"]
    limit = {} if connection == "kept" else {"requests_per_connection": 1}
    (tmp_path / "users.csv").write_text("ann\nbob\ncleo\n")
    (tmp_path / "people.csv").write_text("Mr. & Mrs. Bean\n\u00c4nne\n")
    workload = {"kind": "requests", "order": "session", "cookies": True, "requests": STEPS, "folder": str(tmp_path)}
    study(
        {
            "name": "shop",
            "mode": "live",
            "server": {"kind": "command", "command": " ".join(words)},
            "workload": workload,
            "clients": [{"count": 8, "rtt": "4ms", "think": "5ms", "http": limit}],
            "measure": {"warmup": "500ms", "duration": "4s", "runs": 1},
        },
        output=tmp_path / "results",
    )
    found = {request.name: request.outcomes for request in load(tmp_path / "results").requests}
    assert all(not count for counts in found.values() for name, count in counts.items() if name not in OF_A_RUN), found
    assert min(found[name]["ok"] for name in ("order", "look", "account")) > 20


OF_A_RUN = ("ok", "unfinished")


def test_the_built_in_server_answers_as_requests_expect(tmp_path: Path) -> None:
    asked = [
        request for request in REQUESTS if request["path"] != "/wrong" and request["name"] not in ("lost", "length")
    ]
    study(
        {
            "name": "built-in",
            "mode": "live",
            "workload": {"kind": "requests", "requests": asked, "folder": folder(tmp_path)},
            "clients": [
                {"name": "named", "count": 8, "rtt": "4ms", "think": "5ms"},
                {"name": "files", "count": 2, "rtt": "4ms", "think": "5ms", "workload": {"size": "20KB"}},
            ],
            "measure": {"warmup": "500ms", "duration": "3s", "runs": 1},
        },
        output=tmp_path / "results",
    )
    result = load(tmp_path / "results")
    assert set(result.outcomes) - {name for name, count in result.outcomes.items() if not count} <= {"ok", "unfinished"}
    statuses = {request.name: set(request.statuses) for request in result.requests}
    assert statuses == {
        "order": {"201"},
        "login": {"200"},
        "chunked": {"200"},
        "close": {"200"},
        "upload": {"204"},
        "delete": {"200"},
        "head": {"200"},
        "gone": {"404"},
    }
