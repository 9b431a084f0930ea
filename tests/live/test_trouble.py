"""Trouble on this side: one clear line, the right exit status, no traceback."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import HANGS
from waspbench import CannotRunError, live
from waspbench.experiment import parse
from waspbench.testbed import Placement, apache, servers

SHORT = "--mode live --clients 2 --warmup 100ms --duration 500ms --runs 1 -o out"


def wasp(directory: Path, arguments: str, files: int | None = None) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-m", "waspbench", *arguments.split()]
    return subprocess.run(
        command, cwd=directory, preexec_fn=limit, capture_output=True, text=True, timeout=HANGS, check=False
    )


@pytest.mark.root
@pytest.mark.parametrize(("files", "why"), [(8, "Too many open files"), (11, "a process may have 11 files")])
def test_too_few_descriptors_are_told(files: int, why: str, tmp_path: Path) -> None:
    done = wasp(tmp_path, f"bench {SHORT}", files)
    assert done.returncode == 3
    assert why in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = wasp(tmp_path, f"serve --port {port}")
    assert done.returncode == 3
    assert done.stderr == f"wasp: cannot listen on 127.0.0.1:{port}: Address already in use (os error 98)\n"


@pytest.mark.parametrize("kind", ["nginx", "apache"])
def test_a_server_that_is_not_installed_is_told_with_how_to_get_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (servers, sys.modules[apache.__module__]):
        monkeypatch.setattr(module, "find_program", lambda name: None)
    asked = parse({"name": "x", "server": {"kind": kind}, "clients": [{}]})
    missing = rf"server\.kind: {kind} is not installed: install .*apt-get install {kind}"
    with pytest.raises(CannotRunError, match=missing):
        live.spec(asked, Placement((0,), (0,)))


def test_more_clients_than_a_server_can_hold_are_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "file_limit", lambda wanted: 320)
    monkeypatch.setattr(servers, "find_program", lambda name: sys.executable)
    monkeypatch.setattr(servers, "ask", lambda *asked: servers.Build((1, 22, 1), frozenset()))
    for kind in ("nginx", "builtin"):
        asked = parse({"name": "x", "server": {"kind": kind}, "clients": [{"count": 20_000}]})
        with pytest.raises(CannotRunError, match=rf"{kind}.* cannot keep 20000 connections open"):
            live.spec(asked, Placement((0,), (0,)))
