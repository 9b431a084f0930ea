"""The namespace of real clients: its device, the addresses of all of them, and the programs that run there.

A part of the holder process, which stays in the server's namespace: it enters this one to build it, and has programs
started in it. A process that only waits keeps the namespace visible from outside. All of it ends with process 1.
"""

import ipaddress
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

from waspbench.testbed import cpus, kernel, linux
from waspbench.testbed.errors import CannotDoIt, TestbedError
from waspbench.testbed.limits import raise_file_limit
from waspbench.testbed.netlink import Netlink, NetlinkError
from waspbench.testbed.protocol import ClientPlan, ProgramPlan

_MOST_DESCRIPTORS = 1 << 16
"""More than the holder has open."""


class ClientNamespace:
    """The network namespace whose device is the clients' end of the emulated network."""

    def __init__(self, plan: ClientPlan, server: str) -> None:
        """Builds it; the calling process is in its own namespace again afterwards.

        Raises:
            CannotDoIt: this machine cannot do it.
            TestbedError: the kernel refuses an address or a setting.
        """
        self._programs: dict[int, int] = {}
        own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            linux.unshare(linux.CLONE_NEWNET)
            try:
                self._net = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
                self.device = linux.open_tun(plan.device)[0][0]
                self.settings = _configure(plan, server)
                self._keep()
            finally:
                linux.setns(own, linux.CLONE_NEWNET)
        except OSError as error:
            raise CannotDoIt(f"the clients' network namespace cannot be made: {error.strerror}") from None
        finally:
            os.close(own)

    def _keep(self) -> None:
        """Leaves a process in the namespace, so that its counters can be read and it can be entered."""
        if os.fork() == 0:
            try:
                os.closerange(0, _MOST_DESCRIPTORS)
                while True:
                    signal.pause()
            finally:
                os._exit(1)

    def start(self, program: ProgramPlan, output: int, errors: int) -> None:
        """Starts a program in the namespace; its standard output and error are these descriptors.

        Raises:
            TestbedError: it cannot be started.
        """

        def prepare() -> None:
            linux.setns(self._net, linux.CLONE_NEWNET)
            os.sched_setaffinity(0, program.cpus)
            os.setpriority(os.PRIO_PROCESS, 0, program.niceness)
            raise_file_limit(program.nofile)

        try:
            process = subprocess.Popen(
                program.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=os.environ | program.environment,
                preexec_fn=prepare,
            )
        except OSError as error:
            raise TestbedError.at("program", f"{program.argv[0]!r} cannot be started: {error.strerror}") from None
        except subprocess.SubprocessError:
            where = cpus.show_list(program.cpus)
            raise TestbedError.at(
                "program", f"{program.argv[0]!r} cannot enter its namespace or use CPUs {where}"
            ) from None
        self._programs[process.pid] = program.number
        process.returncode = 0  # whoever collects all children collects it, too

    def ended(self, pid: int) -> int | None:
        """The number of the program that this process was, if it was one."""
        return self._programs.pop(pid, None)


def _configure(plan: ClientPlan, server: str) -> dict[str, str]:
    """Settings, device, addresses, the route to the server; returns the settings as the kernel shows them."""
    settings = kernel.apply(plan.sysctl)
    silence = Path(f"/proc/sys/net/ipv6/conf/{plan.device}/disable_ipv6")
    if silence.exists():
        silence.write_text("1")
    loopback, device = (socket.if_nametoindex(name) for name in ("lo", plan.device))
    first = ipaddress.IPv4Address(plan.first)
    last = first + (plan.count - 1)
    try:
        with Netlink() as netlink:
            netlink.set_link(loopback, up=True)
            netlink.set_link(device, mtu=plan.mtu, queue_length=plan.queue_length, up=True)
            for network in ipaddress.summarize_address_range(first, last):
                netlink.add_local(loopback, network)
            netlink.add_route(device, ipaddress.ip_network(server), first, None)
    except NetlinkError as error:
        raise TestbedError(f"the device {plan.device} cannot be set up: {error.strerror}") from None
    return settings


def plan_of(message: dict[str, Any] | None) -> ClientPlan | None:
    """The plan that crossed the socket."""
    return None if message is None else ClientPlan(**message)
