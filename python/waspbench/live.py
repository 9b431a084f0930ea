"""What a live run needs of the testbed: server and CPUs."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import get_args

from waspbench import _core, serve
from waspbench.errors import Argument, CannotRunError, InputError, RunFailedError
from waspbench.experiment import Experiment, Mode
from waspbench.experiment.resolve import address_of, resolve
from waspbench.experiment.units import seconds
from waspbench.experiment.uses import uses
from waspbench.results import Invalid, RunSummary
from waspbench.suggestion import hint
from waspbench.testbed import (
    Bed,
    CannotDoIt,
    HostSpec,
    HostTestbed,
    Launch,
    Placement,
    Spec,
    TestbedError,
    TestbedSpec,
    apache,
    check_room,
    command,
    from_lines,
    host_support,
    is_local,
    live_support,
    nginx,
    place,
)
from waspbench.testbed.cpus import show_list
from waspbench.testbed.linux import may_steer
from waspbench.testbed.protocol import PRIVATE
from waspbench.workload.serving import Served, answers, by_path, served

SERVER_CPUS, EMULATOR_CPUS = Argument("server_cpus"), Argument("emulator_cpus")

PRIVATE_BLOCKS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15")
"""Addresses that are nobody's on the Internet: private networks (RFC 1918) and benchmarks (RFC 2544)."""

CONTENT = "content"
"""The file that tells the built-in server what it has, below its private directory."""
RELEASE = "release"
"""The profile of Cargo.toml with which the engine is built for live runs."""


def choose_mode(asked: Mode | None, experiment: Experiment) -> tuple[Mode, str]:
    """The mode to run in, and in a few words why.

    Raises:
        CannotRunError: live is asked for, and this machine cannot do it.
        InputError: there is no such mode.
    """
    if asked not in (None, *get_args(Mode)):
        message = f"{hint(asked, get_args(Mode))}must be one of {', '.join(get_args(Mode))}"
        raise InputError.at(Argument("mode"), message, asked)
    wanted = asked or experiment.mode
    if wanted == "sim":
        return "sim", "as asked"
    support = host_support() if experiment.server.kind == "url" else live_support()
    if support.ok:
        return "live", "as asked" if wanted else "this machine can"
    if wanted == "live":
        raise CannotRunError(f"this machine cannot do live: {support.why} (wasp doctor says more)", "mode")
    if experiment.server.kind != "builtin":
        message = (
            f"{experiment.server.kind!r} needs mode live, and this machine cannot do it: {support.why} "
            "(wasp doctor says more); mode sim would put a modelled server in its place"
        )
        raise CannotRunError(message, "server.kind")
    return "sim", f"this machine cannot do live: {support.why}"


def choose_cpus(server: str | None, emulator: str | None) -> Placement:
    """The CPUs of server and emulator from lists such as "0" or "0-1", or chosen.

    Raises:
        InputError: a list is none, or names a CPU that is not there.
    """
    try:
        return place(server, emulator)
    except TestbedError as error:
        raise InputError.at(Argument(error.field), error.said) from None


def placement(mode: Mode, server: str | None, emulator: str | None) -> Placement | None:
    """The CPUs of a run in ``mode``: None in simulation, which is placed on none.

    Raises:
        InputError: a list is none, names a CPU that is not there, or has no effect.
    """
    if mode == "live":
        return choose_cpus(server, emulator)
    for argument, asked in ((SERVER_CPUS, server), (EMULATOR_CPUS, emulator)):
        if asked is not None:
            raise InputError.at(argument, "only a live run places anything on CPUs", asked)
    return None


def check_access_log(experiment: Experiment, mode: Mode) -> None:
    """Refuses an access log of a server that is none.

    Raises:
        InputError: it is asked for in simulation.
    """
    if mode == "sim" and experiment.server.access_log:
        message = "is for live mode, and this is a simulation, whose modelled server logs nothing; leave it out"
        raise InputError.at("server.access_log", message, True)


@contextmanager
def usage() -> Iterator[None]:
    """Turns what the testbed says of what it is asked for into this package's errors."""
    try:
        yield
    except CannotDoIt as error:
        raise CannotRunError(error.said, error.field) from None
    except TestbedError as error:
        raise InputError.at(error.field or "server", error.said) from None


@contextmanager
def running() -> Iterator[None]:
    """Turns what the testbed and the engine say of a run into this package's errors."""
    try:
        yield
    except CannotDoIt as error:
        raise CannotRunError(error.said, error.field) from None
    except TestbedError as error:
        raise RunFailedError(error.said, field=error.field) from None
    except _core.EngineError as error:
        raise RunFailedError(str(error)) from None


def spec(experiment: Experiment, placement: Placement) -> Spec:
    """The testbed for a run of ``experiment``.

    Raises:
        CannotRunError: the server is not installed, or this process may not steer packets to several emulator threads.
        InputError: a kernel setting does not exist, the URL is not one of this machine, or the clients cannot be shared
            by as many threads as the emulator has CPUs.
    """
    _check_threads(experiment, placement)
    return (_running if experiment.server.kind == "url" else managed)(experiment, placement)


def managed(experiment: Experiment, placement: Placement, programs: int = 0) -> TestbedSpec:
    """The same for a server that the testbed starts itself, before emulated clients or so many that are programs."""
    most = connections(experiment)
    content = _content(experiment)
    there = address_of(experiment, "live")
    address, port = there["address"], there["port"]
    with usage():
        made = TestbedSpec(
            server=_launch(experiment, (address, port), most, len(placement.server)),
            address=address,
            port=port,
            prefix=experiment.network.prefix,
            clients=most,
            files=content.files,
            directories=content.directories,
            placement=placement,
            congestion=experiment.server.congestion,
            sysctl=experiment.server.sysctl,
            mtu=_device_mtu(experiment),
            ready_timeout=seconds(experiment.server.ready_timeout),
            programs=programs,
        )
        made.plan()
    return made


def _content(experiment: Experiment) -> Served:
    """What the server is to have; the built-in one makes its files up and has no directory.

    Raises:
        InputError: the server cannot have what is asked for.
    """
    if experiment.server.kind != "builtin":
        return served(experiment)
    for use in uses(experiment):
        if use.directory is not None:
            message = "the built-in server makes its files up; take nginx, apache or a command, or leave directory out"
            raise InputError.at(f"{use.field}.directory", message, str(use.directory))
    return Served([])


def _running(experiment: Experiment, placement: Placement) -> HostSpec:
    """What stands before a server that runs already."""
    if placement.server_given:
        raise InputError.at(SERVER_CPUS, "a server that runs already stays on its CPUs; taskset(1) moves it")
    url, server = experiment.server.url, address_of(experiment, "live")
    if not is_local(server["address"]):
        message = (
            f"{server['address']} is not an address of this machine: the emulated network can only be put before a "
            "server here, because a real network on the way would be measured too"
        )
        raise InputError.at("server.url", message, url)
    _check_block(experiment, server["address"])
    prefixes = {"prefixes": (experiment.network.prefix,)} if experiment.network.names_addresses else {}
    return HostSpec(
        address=server["address"],
        port=server["port"],
        clients=connections(experiment),
        placement=placement,
        congestion=experiment.server.congestion,
        mtu=_device_mtu(experiment),
        **prefixes,
    )


def _device_mtu(experiment: Experiment) -> int:
    """The MTU of the network device before the server."""
    network = experiment.network
    given = network.shared.directions()["down"].mtu if network.kind == "star" else None
    return given or max(group.mtu for group in experiment.clients)


def _check_block(experiment: Experiment, server: str) -> None:
    """Addresses on this machine's own network are those of nobody else."""
    block = ipaddress.IPv4Network(experiment.network.prefix)
    if not any(block.subnet_of(ipaddress.IPv4Network(private)) for private in PRIVATE_BLOCKS):
        message = (
            "a server that runs already is reached from this machine's own network, where the clients' addresses must "
            f"be private ones; a prefix in one of {', '.join(PRIVATE_BLOCKS)} would be valid"
        )
        raise InputError.at("network.prefix", message, str(block))
    if ipaddress.IPv4Address(server) in block:
        message = f"the server has an address in it, {server}; a prefix without it would be valid"
        raise InputError.at("network.prefix", message, str(block))


def connections(experiment: Experiment) -> int:
    """Connections that all clients may have at once."""
    return sum(group.count * group.http.connections for group in experiment.clients)


def _check_threads(experiment: Experiment, placement: Placement) -> None:
    """Several threads have nothing in common but the device: not a queue, nor a loss chain."""
    threads = len(placement.emulator)
    if threads < 2:
        return
    try:
        _core.check_threads(json.dumps(resolve(experiment, mode="live")), threads)
    except _core.ScenarioError as error:
        raise InputError.at(EMULATOR_CPUS, error.message, show_list(placement.emulator)) from None
    if not may_steer():
        message = (
            f"{show_list(placement.emulator)!r}: several threads need the right to load a BPF program "
            "(CAP_BPF), by which the device gives each packet to the thread of its client; one CPU would be valid"
        )
        raise CannotRunError(message, EMULATOR_CPUS)


def _launch(experiment: Experiment, place: tuple[str, int], connections: int, cpus: int) -> Launch:
    server = experiment.server
    address, port = place
    if server.kind == "nginx":
        return nginx(address, port, connections=connections, cpus=cpus, access_log=server.access_log)
    if server.kind == "apache":
        mpm = server.mpm or "event"
        return apache(address, port, mpm=mpm, connections=connections, access_log=server.access_log)
    if server.kind == "command":
        assert server.command is not None
        return from_lines(server.command, server.stop, address=address, port=port, connections=connections)
    return _builtin(experiment, place, connections)


def _builtin(experiment: Experiment, place: tuple[str, int], connections: int) -> Launch:
    """The built-in server, told the sizes of files whose names do not tell them, and its answers to named requests."""
    check_room("builtin", connections)
    address, port = place
    files = {path: size for path, size in by_path(experiment).items() if path != f"/{size}"}
    named = answers(experiment)
    content = serve.content_of(files, named) if files or named else None
    launch = command(
        serve.argv(address, port, None if content is None else f"{PRIVATE}/{CONTENT}"),
        name="builtin",
        version=_core.version(),
        environment=serve.environment(),
        connections=connections,
        shown=("wasp", "serve", "--address", address, "--port", str(port)),
        asked_by="server.kind",
    )
    return launch if content is None else replace(launch, private_files={CONTENT: content})


def accounted(summary: RunSummary, bed: Bed) -> RunSummary:
    """The summary with what the engine cannot tell: a server that ended, the CPU of one that shares its CPUs, an engine
    that is not the release.
    """
    remark, profile = bed.remark(), _core.profile()
    reasons = [] if remark is None else [Invalid.of_package("server_gone", remark)]
    if profile != RELEASE:
        said = f"the engine is built for tests (profile {profile}) and slower than the {RELEASE}, which ./run builds"
        reasons.append(Invalid.of_package("profile", said))
    summary = summary.model_copy(update={"invalid": [*summary.invalid, *reasons]})
    used = summary.server_cpu.processes_s
    if not isinstance(bed, HostTestbed) or used is None or summary.interval_s <= 0:
        return summary
    of_all = used / summary.interval_s / bed.cpus_allowed
    busiest = used / summary.interval_s * (bed.busiest_part() or 0.0)
    cpu = summary.server_cpu.model_copy(update={"busy": min(max(of_all, busiest), 1.0)})
    notes = summary.notes
    if busiest > of_all:
        # A server of one thread is at its limit when that is busy, on however many CPUs it could be.
        notes = [*notes, f"server CPU is that of its busiest thread; it may run on {bed.cpus_allowed} CPUs"]
    return summary.model_copy(update={"server_cpu": cpu, "notes": notes})
