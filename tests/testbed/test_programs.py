"""Clients that are programs: their namespace, its device, and what comes of them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from waspbench.testbed import Launch, ProgramSpec, Testbed, TestbedError, TestbedSpec, process
from waspbench.testbed.protocol import DOCUMENT_ROOT, NOT_STARTED

pytestmark = pytest.mark.root

SERVER = Launch("http.server", (sys.executable, "-m", "http.server", "--directory", DOCUMENT_ROOT, "80"))

LOOK = """
import json, os, socket, sys
def bound(address):
    with socket.socket() as one:
        try:
            one.bind((address, 0))
        except OSError:
            return False
    return True
devices = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
print(json.dumps({
    "bound": [bound(f"198.18.0.{number}") for number in range(1, 6)],
    "devices": devices,
    "nice": os.getpriority(os.PRIO_PROCESS, 0),
    "cpus": sorted(os.sched_getaffinity(0)),
    "metrics": open("/proc/sys/net/ipv4/tcp_no_metrics_save").read().strip(),
    "environment": os.environ["LOOK"],
}))
sys.exit(7)
"""


def spec(programs: int = 3) -> TestbedSpec:
    return TestbedSpec(SERVER, files=[("/1024", 1024)], programs=programs)


def test_a_program_has_the_clients_addresses_and_a_device_of_its_own() -> None:
    cpus = sorted(os.sched_getaffinity(0))[-1:]
    with Testbed(spec()) as bed:
        assert bed.client_device is not None
        program = bed.start_program(ProgramSpec([sys.executable, "-c", LOOK], cpus, {"LOOK": "here"}))
        assert bed.await_program(program, 10)
        assert (program.status, program.errors()) == (7, "")
        seen = json.loads(program.output())
        assert seen == {
            "bound": [False, True, True, True, False],
            "devices": ["lo", "wasp1"],
            "nice": 10,
            "cpus": cpus,
            "metrics": "1",
            "environment": "here",
        }
        assert bed.server_failure() is None


def test_programs_and_the_server_are_told_apart() -> None:
    with Testbed(spec()) as bed:
        sleeper = bed.start_program(ProgramSpec(["sleep", "60"], [min(os.sched_getaffinity(0))]))
        assert not bed.await_program(sleeper, 0.3)
        (server,) = bed.server_pids()
        keeper = bed.client_namespace()
        assert keeper is not None
        assert process.network_of(server) == process.network_of(bed.namespace())
        assert process.network_of(keeper) not in (process.network_of(server), process.network_of(os.getpid()))
        assert "wasp1:" in Path(f"/proc/{keeper}/net/dev").read_text()
        # It keeps the namespace open and nothing else.
        assert os.listdir(f"/proc/{keeper}/fd") == []


def test_a_program_that_cannot_be_started_says_why_and_the_testbed_goes_on() -> None:
    with Testbed(spec()) as bed:
        program = bed.start_program(ProgramSpec(["/no/such/program"], [min(os.sched_getaffinity(0))]))
        assert bed.await_program(program, 10)
        assert program.status == NOT_STARTED
        assert program.errors() == "program: '/no/such/program' cannot be started: No such file or directory"
        assert bed.server_failure() is None


def test_a_testbed_of_emulated_clients_has_no_such_device() -> None:
    with Testbed(spec(0)) as bed:
        assert bed.client_device is None
        assert bed.client_namespace() is None


def test_more_programs_than_addresses_are_refused() -> None:
    with pytest.raises(TestbedError, match="programs: 40000 is out of range: 0 to 32765 would be valid"):
        spec(40_000).plan()
