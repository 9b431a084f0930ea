"""The server under test with its configuration, the machine, and the kernel settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from waspbench.report.content import Block, Section, Words, code, facts
from waspbench.report.setting import plain
from waspbench.report.sources import Origin, Setup, Side
from waspbench.report.toml import toml
from waspbench.tabular import NONE

MOST_SETUPS = 4
"""Servers of different configuration that are shown in full; the manifests have all."""

_COMMANDS = {"argv": "command", "stop": "command that stops it"}


def of(origin: Origin) -> Section:
    """The servers and the machine of results."""
    return _section([*_servers(origin), *_machine(origin)])


def of_sides(sides: Sequence[tuple[str, Side]]) -> Section:
    """The same of the sides of a comparison, each with its letter. What is as of the first is not said again."""
    first = sides[0][1].origin
    blocks: list[Block] = []
    for letter, side in sides:
        alike = side is not sides[0][1] and side.origin.is_on_the_same(first)
        blocks += [*_servers(side.origin, f"{letter}: "), *_machine(side.origin, f"{letter}: ", alike=alike)]
    return _section(blocks)


def _section(blocks: list[Block]) -> Section:
    return Section(name="server", title="Server, machine and kernel settings", blocks=blocks)


def _servers(origin: Origin, before: str = "") -> Iterator[Block]:
    for setup in origin.setups[:MOST_SETUPS]:
        if len(origin.setups) > 1:
            more = " ..." if len(setup.where) > 3 else ""
            yield Words(text=f"{before}At {'; '.join(setup.where[:3])}{more}:")
        yield from _setup(setup, before)
    if len(origin.setups) > MOST_SETUPS:
        more = f"{len(origin.setups) - MOST_SETUPS} more configurations are in the manifests of the points."
        yield Words(text=f"{before}{more}")


def _setup(setup: Setup, before: str) -> Iterator[Block]:
    about = {name: value for name, value in setup.server.items() if value not in (None, "", [], {})}
    files = about.pop("files", {})
    tables = {name: about.pop(name) for name in list(about) if isinstance(about[name], Mapping)}
    pairs = [
        (_COMMANDS.get(name, name), shlex.join(map(str, value)) if name in _COMMANDS else plain(value))
        for name, value in about.items()
    ]
    if setup.settings:
        used, unused = (", ".join(setup.settings.get(part, [])) or "none" for part in ("used", "unused"))
        pairs += [("parts of [server] that this mode uses", used), ("parts that it does not use", unused)]
    yield facts(f"{before}Server", pairs)
    for name, text in files.items():
        yield code(f"{before}{name}", str(text), folded=len(files) > 1)
    if tables:
        yield code(f"{before}The server's {' and '.join(tables)}", toml(tables), "toml")
    yield from _testbed(setup.testbed, before)


def _testbed(testbed: Mapping[str, Any], before: str) -> Iterator[Block]:
    pairs = [
        (f"{name} {inner}" if inner else name, plain(value))
        for name, part in testbed.items()
        if name not in ("sysctl", "labels", "server", "machine")
        for inner, value in (part.items() if isinstance(part, Mapping) else (("", part),))
        if value is not None
    ]
    if pairs:
        yield facts(f"{before}Testbed", pairs)
    yield from _settings(f"{before}Kernel settings of the server's network namespace", testbed.get("sysctl") or {})


def _settings(title: str, settings: Mapping[str, Any]) -> Iterator[Block]:
    known = [(name, plain(value)) for name, value in settings.items() if value is not None]
    if known:
        yield facts(title, known)


def _machine(origin: Origin, before: str = "", *, alike: bool = False) -> Iterator[Block]:
    """The machine and the versions; ``alike`` says that they are those of A."""
    pairs = [("results", origin.directory), ("made at", origin.created)]
    if alike:
        yield facts(f"{before}Machine and versions", [*pairs, ("made", "on the machine and by the versions of A")])
        return
    machine, memory = origin.machine, origin.machine.get("memory_bytes")
    size = f", {memory / 2**30:,.1f} GiB of memory" if memory else ""
    model = f"{machine.get('cpu') or 'unknown CPU'} ({machine.get('architecture') or NONE})"
    pairs += [
        ("machine", f"{model}, {machine.get('cpus') or NONE} CPUs{size}"),
        ("kernel", f"{machine.get('kernel') or NONE} ({machine.get('distribution') or NONE})"),
        ("virtual machine", plain(machine.get("virtual"))),
        ("frequency governor", plain(machine.get("governor"))),
        ("simultaneous multithreading", plain(machine.get("smt"))),
        ("clock", plain(machine.get("clocksource"))),
        *((_VERSIONS.get(name, name), version) for name, version in origin.versions.items() if name != "kernel"),
    ]
    yield facts(f"{before}Machine and versions", pairs)
    if origin.mode == "live":  # nothing of it counts in a simulation
        yield from _settings(f"{before}Settings of the machine's kernel", machine.get("settings") or {})


_VERSIONS = {"profile": "engine compiled for"}
"""What the versions are called that are none of a program."""
