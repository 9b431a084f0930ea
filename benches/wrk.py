"""The yardstick: wrk through a veth pair before the same server in the same testbed.

The server stands in the testbed of a live run (same configuration file, settings, CPUs); instead of the TUN device its
traffic takes a veth pair whose other end is in a network namespace of wrk's own. Packets that the server receives are
steered to the server's CPUs (RPS), as on the TUN device, so that all of its kernel work is done there. wrk's end is
left as it is: steering that one to wrk's CPU too makes wrk slower. Nothing has a name on disk: the namespace ends with
the process that keeps it, and that one with this process.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from usage import CpuTimes, cpu_times, cpu_use
from waspbench.closeable import Closeable
from waspbench.testbed import CannotDoIt, Testbed, TestbedError, TestbedSpec, cpus, linux

CLIENT_ADDRESS = "198.19.0.2"
"""In the second half of the range for benchmarks (RFC 2544); the first half belongs to the TUN device."""

_PROGRAMS = ("wrk", "ip", "nsenter", "taskset")
_SERVER_END, _CLIENT_END = "yard0", "yard1"
_EDGE = 0.5
"""Seconds at either end of a run that the CPU figures leave out."""
_WARM_UP = 1
"""Seconds of load before the first measurement."""
_CLIENT_SETTINGS = {"ipv4/ip_local_port_range": "1024 65535", "ipv4/tcp_no_metrics_save": "1"}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Report:
    """What wrk says of a run."""

    requests: int
    """Responses that arrived in full."""
    seconds: float
    """Length of the run, as printed."""
    requests_per_s: float
    errors: int
    """Socket errors of every kind, and responses with a status that is neither 2xx nor 3xx."""


@dataclass(frozen=True)
class Measured:
    """One run of wrk, with what it cost."""

    requests_per_s: float
    errors: int
    server: CpuTimes
    """The server's CPUs over the run but for its edges."""
    client_busy: float
    """Part of the run that wrk was on its CPU, from 0 to 1, kernel included."""


def parse(text: str) -> Report:
    """Parses what wrk 4 prints.

    Raises:
        ValueError: it is not that.
    """
    total = re.search(r"^\s*(\d+) requests in ([\d.]+)(us|ms|s|m|h), ", text, re.MULTILINE)
    rate = re.search(r"^Requests/sec:\s*([\d.]+)$", text, re.MULTILINE)
    if total is None or rate is None:
        raise ValueError(f"it printed no result: {' / '.join(text.split(chr(10))[-3:])!r}")
    socket = re.search(r"^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text, re.MULTILINE)
    status = re.search(r"^\s*Non-2xx or 3xx responses: (\d+)", text, re.MULTILINE)
    errors = sum(int(count) for match in (socket, status) if match for count in match.groups())
    return Report(int(total[1]), float(total[2]) * _SECONDS[total[3]], float(rate[1]), errors)


def version() -> str | None:
    """The version of the wrk that is installed."""
    if shutil.which("wrk") is None:
        return None
    # It prints its usage too, and ends with status 1.
    said = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False)
    match = re.search(r"^wrk (\S+)", said.stdout + said.stderr, re.MULTILINE)
    return match[1] if match else None


def require() -> None:
    """Finds out whether the yardstick can be used here.

    Raises:
        CannotDoIt: names what is missing.
    """
    if os.geteuid() != 0:
        raise CannotDoIt("wrk: a veth pair whose receive processing is steered needs root")
    for program in _PROGRAMS:
        if shutil.which(program) is None:
            raise CannotDoIt(f"wrk: the program {program!r} is not installed (Debian: wrk, iproute2, util-linux)")


class Yardstick(Closeable):
    """A server with wrk before it. Use it as a context manager, on the main thread."""

    def __init__(self, spec: TestbedSpec) -> None:
        """Starts the server of a live run's testbed and joins wrk's namespace to it.

        Raises:
            CannotDoIt: this machine cannot do it.
            TestbedError: it failed.
        """
        require()
        self._spec = spec
        self._bed = Testbed(spec)
        self._keeper: subprocess.Popen[bytes] | None = None
        try:
            self._server = self._bed.server_pids()[0]
            self._keeper = subprocess.Popen(["sleep", "infinity"], preexec_fn=_new_network)
            self._join(self._keeper.pid)
            self._warm = False
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Takes everything away."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.kill()
            keeper.wait()
        self._bed.close()

    def measure(self, path: str, seconds: int, connections: int, headers: Sequence[str] = ()) -> Measured:
        """One run of wrk with one thread, after a short one if it is the first.

        Raises:
            TestbedError: wrk failed.
        """
        if not self._warm:
            self._wrk(path, _WARM_UP, connections, headers).wait()
            self._warm = True
        used = -_children_s()
        process = self._wrk(path, seconds, connections, headers)
        time.sleep(_EDGE)
        before = cpu_times()
        time.sleep(max(0.0, seconds - 2 * _EDGE))
        after = cpu_times()
        text, complaint = process.communicate(timeout=60)
        used += _children_s()
        if process.returncode != 0:
            raise TestbedError(f"wrk: it ended with status {process.returncode}: {complaint.strip()}")
        try:
            report = parse(text)
        except ValueError as error:
            raise TestbedError(f"wrk: {error}") from None
        return Measured(
            requests_per_s=report.requests_per_s,
            errors=report.errors,
            server=cpu_use(self._spec.placement.server, before, after),
            client_busy=used / report.seconds,
        )

    def _wrk(self, path: str, seconds: int, connections: int, headers: Sequence[str]) -> subprocess.Popen[str]:
        assert self._keeper is not None
        extra = [word for header in headers for word in ("-H", header)]
        url = f"http://{self._spec.address}:{self._spec.port}{path}"
        return subprocess.Popen(
            [
                *("nsenter", f"--net=/proc/{self._keeper.pid}/ns/net"),
                *("taskset", "-c", cpus.show_list(self._spec.placement.emulator)),
                *("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", *extra, url),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=linux.die_with_parent,
        )

    def _join(self, client: int) -> None:
        """Lays the veth pair between the namespaces, with the congestion control of the testbed on both routes."""
        server, spec = self._server, self._spec
        congestion = ("congctl", spec.congestion) if spec.congestion else ()
        _ip(server, "link", "add", _SERVER_END, "type", "veth", "peer", "name", _CLIENT_END, "netns", str(client))
        _ip(server, "link", "set", _SERVER_END, "up")
        _ip(client, "link", "set", "lo", "up")
        _ip(client, "address", "add", f"{CLIENT_ADDRESS}/32", "dev", _CLIENT_END)
        _ip(client, "link", "set", _CLIENT_END, "up")
        _ip(server, "route", "add", CLIENT_ADDRESS, "dev", _SERVER_END, "src", spec.address, *congestion)
        _ip(client, "route", "add", spec.address, "dev", _CLIENT_END, "src", CLIENT_ADDRESS, *congestion)
        _steer(server, _SERVER_END, spec.placement.server)


def _children_s() -> float:
    """CPU seconds of all children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _new_network() -> None:
    """In the process that keeps wrk's network namespace: makes it, and dies with the parent."""
    linux.unshare(linux.CLONE_NEWNET)
    for name, value in _CLIENT_SETTINGS.items():
        Path("/proc/sys/net", name).write_text(value, encoding="utf-8")
    linux.die_with_parent()


def _ip(process: int, *arguments: str) -> None:
    """Runs ip(8) in the network namespace of a process."""
    command = ["nsenter", f"--net=/proc/{process}/ns/net", "ip", *arguments]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise TestbedError(f"ip {' '.join(arguments)}: {said.stderr.strip() or f'status {said.returncode}'}")


def _steer(process: int, device: str, to: Sequence[int]) -> None:
    """Has a device's packets received on some CPUs; its sysfs is the one that the process has mounted."""
    path = Path(f"/proc/{process}/root/sys/class/net/{device}/queues/rx-0/rps_cpus")
    try:
        path.write_text(cpus.mask(to), encoding="utf-8")
    except OSError as error:
        raise CannotDoIt(f"wrk: {device}: its receive processing cannot be steered: {error.strerror}") from None
