"""Clients that go through sessions: what results and a dry run tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from waspbench import load
from waspbench.cli.app import invoke

EXPERIMENT = """
name = "checkout"
[workload]
kind = "requests"
order = "session"
cookies = true

[[workload.requests]]
name = "sign-in"
path = "/sign-in"
once = true
capture = { token = { header = "X-Token" } }

[[workload.requests]]
name = "list"
path = "/items/{line:users.csv}"
think = "200ms"
capture = { id = { after = "<", before = ">" } }

[[workload.requests]]
name = "order"
method = "POST"
path = "/orders"
headers = { X-Token = "{token}" }
body = "{line:users.csv} {id}"

[[clients]]
count = 5
rtt = "10ms"

[measure]
warmup = "300ms"
duration = "6s"
runs = 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "checkout.toml").write_text(EXPERIMENT)
    (tmp_path / "users.csv").write_text("ann\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_steps_of_a_session_have_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        invoke(["run", "checkout.toml", "--mode", "sim", "-o", "results", "--assert", "request:order.mean < 1s"]) == 0
    )
    printed = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    assert "the pauses of a session take 0.2s on average, which is more than half of the warm-up of 0.3s" in printed
    assert "request sign-in: made once by each client; those made in the warm-up are not in its figures" in printed
    requests = {request.name: request for request in load(folder / "results").requests}
    assert list(requests) == ["sign-in", "list", "order"]
    assert all(request.errors in (0, None) for request in requests.values())
    assert not requests["sign-in"].outcomes["ok"]
    done = [requests[name].outcomes["ok"] for name in ("list", "order")]
    # 27 sessions of 0.22 s for each of five clients and two runs, but for those that the ends of the interval cut.
    assert all(255 <= count <= 280 for count in done), done
    assert abs(done[0] - done[1]) <= 10


def test_a_dry_run_shows_the_steps_of_a_first_session(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert invoke(["run", "checkout.toml", "--mode", "sim", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    begin = "requests, as in the first session of a client; captured values and cookies are not known beforehand:\n"
    assert printed.startswith(begin)
    assert "    POST /orders HTTP/1.1\n" in printed
    assert "    X-Token: {token}\n" in printed
    assert "\n    Content-Length: (depends on {id})\n" in printed
    assert "\n    ann {id}\n" in printed


def test_a_dry_run_shows_sessions_beside_other_requests(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = '{ kind = "requests", requests = [{ name = "look", path = "/" }] }'
    (folder / "both.toml").write_text(f'{EXPERIMENT}\n[[clients]]\nname = "robots"\nworkload = {own}\n')
    assert invoke(["run", "both.toml", "--mode", "sim", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "\nrequests, each as the first one of a client, or as in its first session; captured" in printed
    assert "  look of robots\n" in printed
