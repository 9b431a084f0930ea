"""The holder process: keeps the namespaces of a testbed, its device and its server, and dies with its parent.

Three processes, each killed by the kernel when the one before it ends (PR_SET_PDEATHSIG, SIGKILL):

    parent (the command)  ->  guard  ->  init, process 1 of a PID namespace  ->  the server, programs of clients

The guard unshares and then only waits: who unshares a PID namespace stays outside of it. When init ends, the kernel
kills everything in its namespace; with the last process the mounts go, with the last descriptor of the TUN device the
device goes, with both the network namespace. So nothing has to be cleaned up, and nothing has a name on disk.

Started as `python -m waspbench.testbed.holder FD PID`, with one end of a socket pair and the parent's process number
(`protocol` has what is said there), or with `--check` to find out whether this machine can do all that. It must stay
single-threaded and quick to start: standard library only.
"""

import contextlib
import ipaddress
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from waspbench.testbed import cpus, files, kernel, linux, listeners
from waspbench.testbed.clients import ClientNamespace, plan_of
from waspbench.testbed.errors import CannotDoIt, TestbedError
from waspbench.testbed.limits import raise_file_limit
from waspbench.testbed.netlink import Netlink, NetlinkError
from waspbench.testbed.protocol import (
    ACCESS_LOG,
    DOCUMENT_ROOT,
    NOT_STARTED,
    PRIVATE,
    SERVER_LOG,
    Channel,
    Message,
    Plan,
    ProgramPlan,
)

CLOSE_GRACE = 0.5
"""Seconds that a server has after SIGTERM at an orderly close."""

STOP_GRACE = 2.0
"""Seconds that it has from the start of the command that ends it, if there is one."""

_LOG_TAIL = 600
"""Bytes of a dead server's output that are told."""


def main(arguments: list[str]) -> int:
    """Entry of the process; returns the exit status."""
    if arguments == ["--check"]:
        return _guard(None, os.getppid())
    if len(arguments) != 2 or not all(argument.isdigit() for argument in arguments):
        sys.stderr.write("usage: python -m waspbench.testbed.holder FD PID, as the testbed starts it\n")
        return 2
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    return _guard(control, int(arguments[1]))


def _guard(control: socket.socket | None, parent: int) -> int:
    """Unshares, starts init, and ends with it. Without a control socket it only tries, and prints what is wrong."""
    try:
        _unshare()
        linux.die_with_parent()
    except (OSError, TestbedError) as error:
        return _give_up(control, error)
    if os.getppid() != parent:
        return 1
    # Init sees the guard's death as the end of this pipe: its own getppid() shows nothing from inside its namespace.
    guard_alive, guard_end = os.pipe()
    if (child := os.fork()) == 0:
        os.close(guard_end)
        status = 1
        try:
            status = _init(control, guard_alive)
        finally:
            os._exit(status)
    os.close(guard_alive)
    if control is not None:
        control.close()  # so that init's death is the socket's end
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF


def _give_up(control: socket.socket | None, error: Exception) -> int:
    """Tells the parent why there will be no testbed."""
    told = error if isinstance(error, TestbedError) else TestbedError(_plain(error))
    if control is None:
        sys.stdout.write(f"{told}\n")
        sys.stdout.flush()
    else:
        said = {
            "error": told.message,
            "field": told.field,
            "advice": told.advice,
            "cannot": isinstance(told, CannotDoIt),
        }
        Channel(control).send(said)
    return 1


def _plain(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return f"{type(error).__name__}: {error}"


def _unshare() -> None:
    """Enters new namespaces, with a user namespace around them when this is not root."""
    flags = linux.CLONE_NEWNET | linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        flags |= linux.CLONE_NEWUSER
    try:
        linux.unshare(flags)
    except OSError as error:
        which = "user, network, mount and PID" if user != 0 else "network, mount and PID"
        raise CannotDoIt(
            f"this machine does not let {'an ordinary user' if user else 'this root'} make {which} namespaces "
            f"(unshare: {error.strerror}); live runs need root or unprivileged user namespaces"
        ) from None
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _init(control: socket.socket | None, guard_alive: int) -> int:
    """The life of process 1; returns the exit status of the process."""
    try:
        linux.die_with_parent()
        os.umask(0o022)  # the server's workers may be another user, who must be able to read the files
        _mount()
        if control is None:
            for descriptor in _open_device("wasp0", 1):
                os.close(descriptor)
            return 0
        return Init(Channel(control), guard_alive).run()
    except (BrokenPipeError, ConnectionResetError):
        return 1  # the parent is gone
    except Exception as error:
        try:
            return _give_up(control, error)
        except OSError:
            return 1


def _mount() -> None:
    """Gives this mount namespace its own /proc and /sys (those of the new namespaces) and memory file system."""
    harmless = linux.MS_NOSUID | linux.MS_NODEV
    try:
        linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
        linux.mount("proc", "/proc", "proc", harmless | linux.MS_NOEXEC)
        linux.mount("sysfs", "/sys", "sysfs", harmless | linux.MS_NOEXEC)
        linux.mount("tmpfs", PRIVATE, "tmpfs", harmless, "mode=1777")
    except OSError as error:
        raise CannotDoIt(f"{error.filename} cannot be mounted in a namespace of its own: {error.strerror}") from None


def _mount_files(directory: str, path: str, asked_by: str) -> None:
    """Shows a directory of the machine among the files to serve, at a path of the server. The field ``asked_by`` of the
    experiment asks for it.
    """
    try:
        os.makedirs(DOCUMENT_ROOT + path)
        linux.mount(directory, DOCUMENT_ROOT + path, None, linux.MS_BIND)
    except OSError as error:
        hidden = f"; {PRIVATE} is hidden from the server" if Path(directory).is_relative_to(PRIVATE) else ""
        raise CannotDoIt.at(asked_by, f"{directory} cannot be served: {error.strerror}{hidden}") from None


def _open_device(name: str, queues: int) -> list[int]:
    try:
        return linux.open_tun(name, queues)[0]
    except OSError as error:
        raise CannotDoIt(f"{linux.TUN_DEVICE} cannot be used: {error.strerror}{linux.advice(error.errno)}") from None


class Init:
    """Process 1 of the testbed: builds it, then answers requests until its parent has had enough."""

    def __init__(self, channel: Channel, guard_alive: int) -> None:
        self._channel = channel
        self._guard_alive = guard_alive
        self._server: subprocess.Popen[bytes] | None = None
        self._server_status: int | None = None
        self._clients: ClientNamespace | None = None

    def run(self) -> int:
        """Returns the exit status of the process."""
        children, wakeup = os.pipe()
        os.set_blocking(wakeup, False)
        os.set_blocking(children, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        message = self._channel.receive(time.monotonic() + 60)
        if message is None:
            return 1
        plan = Plan(**message)
        self._build(plan)
        with selectors.DefaultSelector() as selector:
            for source in (self._channel.socket, children, self._guard_alive):
                selector.register(source, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if self._guard_alive in ready:
                    return 1
                if children in ready:
                    os.read(children, 4096)
                    self._reap(tell=True)
                if self._channel.socket.fileno() in ready and not self._answer(plan):
                    return 0

    def _build(self, plan: Plan) -> None:
        labels: list[str] = []
        descriptors = _open_device(plan.device, plan.queues)
        settings = _configure_network(plan)
        if plan.ordinary_user and plan.port < 1024:
            settings |= kernel.apply({"net.ipv4.ip_unprivileged_port_start": "0"})
        rps = _steer(plan, labels)
        for path, (directory, asked_by) in plan.directories.items():
            _mount_files(directory, path, asked_by)
        files.write(DOCUMENT_ROOT, plan.files, plan.content)
        clients = plan_of(plan.clients)
        if clients is not None:
            self._clients = ClientNamespace(clients, plan.address)
            descriptors.append(self._clients.device)
        if plan.access_log:
            # Made here: a server may listen before it has opened its log.
            descriptors.append(os.open(ACCESS_LOG, os.O_RDONLY | os.O_CREAT, 0o644))
        self._start_server(plan)
        description: Message = {
            "device": {
                "name": plan.device,
                "mtu": plan.mtu,
                "queues": plan.queues,
                "txqueuelen": plan.queue_length,
                "rps_cpus": rps,
                "offloads": linux.OFFLOADS,
            },
            "congestion": plan.congestion,
            "sysctl": settings,
            "labels": labels,
        }
        if clients is not None and self._clients is not None:
            description["clients"] = {"device": clients.device, "sysctl": self._clients.settings}
        self._channel.send({"ready": description}, tuple(descriptors))
        for descriptor in descriptors:
            os.close(descriptor)  # from now on the parent alone keeps the device, and the log, alive

    def _start_server(self, plan: Plan) -> None:
        for path, text in plan.private_files.items():
            target = Path(PRIVATE, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

        def prepare() -> None:
            os.sched_setaffinity(0, plan.server_cpus)
            raise_file_limit(plan.nofile)
            if plan.ordinary_user:
                linux.become_ordinary_user()

        with open(SERVER_LOG, "ab") as log:
            try:
                self._server = subprocess.Popen(
                    plan.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=os.environ | plan.environment,
                    preexec_fn=prepare,
                )
            except OSError as error:
                raise CannotDoIt.at(plan.asked_by, f"{plan.argv[0]!r} cannot be started: {error.strerror}") from None
            except subprocess.SubprocessError:
                message = (
                    f"it cannot be confined to CPUs {cpus.show_list(plan.server_cpus)}, given its descriptors or made "
                    "an ordinary user"
                )
                raise CannotDoIt.at(plan.asked_by, message) from None
        self._await_server(plan)

    def _await_server(self, plan: Plan) -> None:
        address = ipaddress.ip_address(plan.address).packed
        deadline = time.monotonic() + plan.ready_timeout
        while True:
            found = listeners.read()
            if any(listener.takes(address, plan.port) for listener in found):
                return
            self._reap(tell=False)
            if self._server_status is not None:
                advice = " (it must stay in the foreground)" if self._server_status == 0 else ""
                raise TestbedError.at(plan.asked_by, f"{self._ending()} before it listened{advice}")
            if time.monotonic() > deadline:
                where = f"{plan.address}:{plan.port}"
                instead = f"; it listens on {', '.join(map(str, found))}" if found else ""
                message = f"no listener on {where} within {plan.ready_timeout:g} s{instead}{_log_tail()}"
                raise TestbedError.at(plan.asked_by, message)
            time.sleep(0.005)

    def _reap(self, *, tell: bool) -> None:
        """Collects every dead child: the server, and orphans that process 1 inherits."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self._server is not None and pid == self._server.pid:
                self._server_status = os.waitstatus_to_exitcode(status)
                if tell:
                    self._channel.send({"server_ended": self._ending()})
            elif self._clients is not None and (number := self._clients.ended(pid)) is not None:
                ended = os.waitstatus_to_exitcode(status)
                self._channel.send({"program_ended": number, "status": ended})

    def _ending(self) -> str:
        status = self._server_status or 0
        how = f"ended with status {status}" if status >= 0 else f"was killed by {signal.Signals(-status).name}"
        return f"the server {how}{_log_tail()}"

    def _answer(self, plan: Plan) -> bool:
        """Answers what has arrived; False at the end."""
        if not self._channel.fill():
            return False
        while (message := self._channel.take()) is not None:
            match message.get("request"):
                case "start":
                    self._start_program(ProgramPlan(**message["program"]))
                case "close":
                    self._stop_server(plan)
                    return False
                case other:
                    raise TestbedError(f"the holder was asked for {other!r}, which it does not know")
        return True

    def _start_program(self, program: ProgramPlan) -> None:
        """Starts a program among the clients, which writes to the descriptors that came with the request."""
        output, errors = self._channel.descriptors[:2]
        del self._channel.descriptors[:2]
        try:
            if self._clients is None:
                raise TestbedError.at("program", "there is no namespace of clients for it")
            self._clients.start(program, output, errors)
        except TestbedError as error:
            os.write(errors, f"{error}\n".encode())
            self._channel.send({"program_ended": program.number, "status": NOT_STARTED})
        finally:
            os.close(output)
            os.close(errors)

    def _stop_server(self, plan: Plan) -> None:
        """Lets the server end in its own way, for a moment; process 1's end kills what is left."""
        if self._server is None or self._server_status is not None:
            return
        deadline = time.monotonic() + (STOP_GRACE if plan.stop else CLOSE_GRACE)
        if plan.stop:
            words = [word.replace("{pid}", str(self._server.pid)) for word in plan.stop]
            with open(SERVER_LOG, "ab") as log, contextlib.suppress(OSError):
                subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        else:
            os.kill(self._server.pid, signal.SIGTERM)
        while self._server_status is None and time.monotonic() < deadline:
            time.sleep(0.005)
            self._reap(tell=False)


def _log_tail() -> str:
    try:
        text = Path(SERVER_LOG).read_bytes()[-_LOG_TAIL:].decode(errors="replace")
    except OSError:
        return ""
    tail = " / ".join(line.strip() for line in text.splitlines()[-4:] if line.strip())
    return f": {tail}" if tail else ""


def _configure_network(plan: Plan) -> dict[str, str]:
    """Loopback, settings, address, device, route; returns the settings as the kernel shows them."""
    settings = kernel.apply(plan.sysctl)
    # Nobody on the emulated network speaks IPv6 yet, and the kernel would ask who does.
    silence = Path(f"/proc/sys/net/ipv6/conf/{plan.device}/disable_ipv6")
    if silence.exists():
        silence.write_text("1")
    device = socket.if_nametoindex(plan.device)
    address = ipaddress.ip_address(plan.address)
    with Netlink() as netlink:
        try:
            netlink.set_link(socket.if_nametoindex("lo"), up=True)
            netlink.set_link(device, mtu=plan.mtu, queue_length=plan.queue_length)
            netlink.add_address(device, address)
            netlink.set_link(device, up=True)
        except NetlinkError as error:
            raise TestbedError(f"the device {plan.device} cannot be set up: {error.strerror}") from None
        try:
            netlink.add_route(device, ipaddress.ip_network(plan.prefix), address, plan.congestion)
        except NetlinkError as error:
            known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
            message = (
                f"the kernel refuses {plan.congestion!r} for the route to {plan.prefix}: {error.strerror}; "
                f"{', '.join(known)} would be valid"
            )
            raise TestbedError.at("server.congestion", message) from None
    return settings


def _steer(plan: Plan, labels: list[str]) -> str | None:
    """Has the device's packets received on the server's CPUs (RPS); returns the mask, or None and adds a label."""
    wanted = cpus.mask(plan.server_cpus)
    queues = Path(f"/sys/class/net/{plan.device}/queues")
    try:
        for queue in queues.glob("rx-*"):
            (queue / "rps_cpus").write_text(wanted)
        return (queues / "rx-0/rps_cpus").read_text().strip()
    except OSError as error:
        labels.append(
            f"rps not set ({error.strerror}): the kernel's receive work for the server is done on the emulator's CPU"
        )
        return None


def _run() -> NoReturn:
    os._exit(main(sys.argv[1:]))


if __name__ == "__main__":
    _run()
