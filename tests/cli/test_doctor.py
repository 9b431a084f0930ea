"""`wasp doctor`: what it says and with which status, whatever the machine."""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waspbench import tabular
from waspbench.cli import doctor as command
from waspbench.cli.app import invoke
from waspbench.testbed import backlog, doctor, linux
from waspbench.testbed.capability import Support
from waspbench.testbed.doctor import Finding, Status, stolen


def found(name: str, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What is found of one thing, without an attempt at a live run."""
    for attempt in ("live_support", "host_support"):
        monkeypatch.setattr(doctor, attempt, lambda: Support(False, "not tried"))
    return [finding for finding in doctor.examine() if finding.name == name]


def proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, texts: dict[str, str]) -> None:
    """Puts a directory with these files in the place of /proc."""
    for name, text in texts.items():
        path = tmp_path / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    monkeypatch.setattr(doctor, "PROC", tmp_path / "proc")


FINE = Finding("CPUs", "ok", "2")
WORTH_KNOWING = Finding("nginx", "note", "nginx is not installed", "install it " * 20)
LACKING = Finding("device", "missing", "/dev/net/tun is not there", "modprobe tun")


@pytest.mark.parametrize(
    ("findings", "status", "verdict"),
    [
        ([FINE, WORTH_KNOWING], 0, "live runs can be made"),
        ([FINE, LACKING], 3, "live runs cannot be made; simulation works everywhere"),
    ],
)
def test_only_what_is_missing_is_a_failure(
    findings: list[Finding],
    status: int,
    verdict: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "examine", lambda: findings)
    monkeypatch.setattr(tabular, "terminal_width", lambda: 80)
    assert invoke(["doctor"]) == status
    shown = capsys.readouterr().out
    assert shown.endswith(f"\n{verdict}\n")
    assert all(len(line) <= 80 for line in shown.splitlines())
    flat = " ".join(shown.split())
    assert all(f"-> {finding.advice.strip()}" in flat for finding in findings if finding.advice)
    assert invoke(["doctor", "--json"]) == status
    said = json.loads(capsys.readouterr().out)
    assert said["live"] is (status == 0)
    assert [finding["name"] for finding in said["findings"]] == [finding.name for finding in findings]


@pytest.mark.parametrize("user", [0, 1000])
@pytest.mark.parametrize("clone", [True, False])
def test_what_root_is_to_run_is_named_by_its_path(
    clone: bool, user: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> Support:
        return Support(ok=False, why="x")

    for name in ("run", "bin/wasp", "python/waspbench/testbed"):
        (tmp_path / "a b" / name).parent.mkdir(parents=True, exist_ok=True)
        if clone or name != "run":
            (tmp_path / "a b" / name).touch()
    monkeypatch.setattr(doctor, "__file__", str(tmp_path / "a b/python/waspbench/testbed/doctor.py"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "a b/bin/python"))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(doctor, "live_support", refused)
    monkeypatch.setattr(doctor, "host_support", refused)
    program = f"'{tmp_path}/a b/run' wasp" if clone else f"'{tmp_path}/a b/bin/wasp'"
    advice = {finding.name: finding.advice for finding in doctor.examine()}
    assert advice["live runs"] == advice["URL runs"] == (f"sudo {program} bench" if user else "")


def test_every_machine_is_examined_to_the_end() -> None:
    findings = doctor.examine()
    names = [finding.name for finding in findings]
    assert {"device", "live runs", "URL runs", "user", "CPUs", "open files", "clock", "nginx", "apache"} <= set(names)


def test_a_device_that_is_not_there_comes_with_what_would_help(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(linux, "TUN_DEVICE", str(tmp_path / "tun"))
    lacking = Finding("device", "missing", f"{tmp_path}/tun is not there", "modprobe tun")
    assert lacking in doctor.examine()


def test_what_stops_live_runs_is_what_an_attempt_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "live_support", lambda: Support(False, "no namespaces here"))
    findings = doctor.examine()
    assert not doctor.able(findings)
    assert "no namespaces here" in [finding.says for finding in findings]


@pytest.mark.parametrize(("limit", "status"), [(1_024, "note"), (1 << 20, "ok")])
def test_a_low_limit_of_open_files_is_worth_a_word(limit: int, status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "file_limit", lambda wanted: limit)
    (finding,) = (finding for finding in doctor.examine() if finding.name == "open files")
    assert finding.status == status
    assert f"keeps {limit - 512:,d} connections" in finding.says
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert ("raises it" in finding.says) is (limit > soft)


def test_steal_is_the_eighth_column_of_all() -> None:
    assert stolen("cpu  50 0 20 20 5 0 0 5 0 0\ncpu0 1\n") == 0.05
    assert stolen("cpu  60 0 20 20 5 0 0 15 0 0\n", "cpu  50 0 20 20 5 0 0 5 0 0\n") == 0.5
    assert stolen("cpu  0 0 0 0 0 0 0 0\n") is None
    here = stolen(Path("/proc/stat").read_text())
    assert here is None or 0 <= here <= 1


@given(st.text())
def test_no_text_upsets_the_parser(text: str) -> None:
    stolen(text)
    stolen(f"cpu {text}")


@pytest.mark.parametrize(
    ("value", "writable", "status", "says"),
    [
        (1_000, True, "ok", "1,000 packets wait for a CPU at most.*; while a run lasts wasp makes it 10,000"),
        (1_000, False, "note", "1,000 packets .*: bursts to the server may be dropped"),
        (10_000, False, "ok", "10,000 packets wait for a CPU at most .net.core.netdev_max_backlog.$"),
    ],
)
def test_a_short_backlog_is_a_word_to_whom_cannot_change_it(
    value: int, writable: bool, status: Status, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = tmp_path / "netdev_max_backlog"
    setting.write_text(f"{value}\n")
    monkeypatch.setattr(backlog, "SETTING", setting)
    monkeypatch.setattr(os, "access", lambda path, mode: writable)
    [finding] = found("backlog", monkeypatch)
    assert finding.status == status
    assert re.match(says, finding.says)
    assert ("netdev_max_backlog=10000" in finding.advice) is (status == "note")


@pytest.mark.parametrize(
    ("count", "status", "says"),
    [("0", "ok", "follows no connection now"), ("17", "note", "follows 17 connections, 65,536 at most")],
)
def test_connections_are_followed_if_any_is(
    count: str, status: Status, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proc(
        monkeypatch,
        tmp_path,
        {"sys/net/netfilter/nf_conntrack_max": "65536", "sys/net/netfilter/nf_conntrack_count": count},
    )
    [finding] = found("conntrack", monkeypatch)
    assert (finding.status, finding.says.startswith(says)) == (status, True)


@pytest.mark.parametrize(
    ("rules", "tables", "status", "says"),
    [
        (None, "", "note", "not known"),
        (0, "", "ok", "no rules"),
        (3, "", "note", "3 lines of nft rules"),
        (None, "filter", "note", "iptables filter"),
    ],
)
def test_rules_that_cannot_be_seen_are_not_known(
    rules: int | None, tables: str, status: Status, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proc(monkeypatch, tmp_path, {"net/ip_tables_names": tables})
    monkeypatch.setattr(os, "geteuid", lambda: 1000 if rules is None else 0)
    nft = tmp_path / "nft"
    nft.write_text(f"#!/bin/sh\n[ \"$*\" = 'list ruleset' ] && yes | head -n {rules or 0}\n")
    nft.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    [finding] = found("firewall", monkeypatch)
    assert (finding.status, finding.says.startswith(says)) == (status, True)
