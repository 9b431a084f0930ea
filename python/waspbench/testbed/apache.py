"""Apache httpd as Debian packages it, with a configuration made for benchmarking."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from waspbench.testbed.errors import CannotDoIt
from waspbench.testbed.protocol import ACCESS_LOG, DOCUMENT_ROOT, PRIVATE, SERVER_LOG
from waspbench.testbed.servers import SPARE_FILES, Launch, ask, file_limit, find_program, worker_user

MPMS = ("event", "prefork")

MODULES = Path("/usr/lib/apache2/modules")

COMBINED = r'''"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""'''
"""The combined log format, which is nginx's own. What writes it, mod_log_config, is built into Debian's Apache."""

EVENT_THREADS = 64
"""Threads of each process of the event MPM. A kept connection that waits takes none of them."""

EVENT_PROCESSES = 4
"""Processes of the event MPM, as long as descriptors and connections ask for no more."""


@dataclass(frozen=True)
class Sizes:
    """How an MPM is sized to the connections that it must keep open at once."""

    processes: int
    threads: int = 0
    """Of each process; prefork has none."""
    per_thread: int = 0
    """Connections beyond the first that each thread may keep waiting (AsyncRequestWorkerFactor)."""


def apache(address: str, port: int, *, mpm: str = "event", connections: int = 1024, access_log: bool = False) -> Launch:
    """Apache httpd serving `DOCUMENT_ROOT`, with its event or its prefork MPM.

    Raises:
        CannotDoIt: it is not installed, does not say its version, or cannot keep so many connections here.
    """
    program = find_program("apache2")
    module = MODULES / f"mod_mpm_{mpm}.so"
    if program is None or not module.exists():
        missing = "apache is not installed" if program is None else f"apache has no module {module}"
        advice = "install Debian's (`apt-get install apache2-bin`, which starts nothing) or take the server 'builtin'"
        raise CannotDoIt.at("server.kind", missing, advice)
    sizes = event_sizes(connections, file_limit(connections + SPARE_FILES)) if mpm == "event" else prefork(connections)
    configuration = apache_configuration(
        address=address,
        port=port,
        mpm=mpm,
        sizes=sizes,
        user=worker_user() if os.geteuid() == 0 else None,
        access_log=access_log,
    )
    return Launch(
        "apache",
        (program, "-D", "FOREGROUND", "-f", f"{PRIVATE}/apache.conf"),
        ask(program, "-v", parse_version),
        private_files={"apache.conf": configuration},
        connections=connections,
        ordinary_user=True,
        access_log=access_log,
    )


def event_sizes(connections: int, limit: int) -> Sizes:
    """Sizes of the event MPM when each process may have `limit` descriptors.

    Processes do not share connections evenly, so together they have room for twice as many.

    Raises:
        CannotDoIt: the limit leaves no room for connections.
    """
    room = limit - SPARE_FILES // 2
    if room < 2 * EVENT_THREADS:
        raise CannotDoIt.at("server.kind", f"the limit of {limit} open files (ulimit -n) leaves apache no connections")
    processes = max(EVENT_PROCESSES, -(-2 * connections // room))
    return Sizes(processes, EVENT_THREADS, max(2, -(-2 * connections // (processes * EVENT_THREADS))))


def prefork(connections: int) -> Sizes:
    """Sizes of the prefork MPM: a process for each connection.

    Raises:
        CannotDoIt: the machine has not as many processes.
    """
    most = min(_number("/proc/sys/kernel/pid_max"), _number("/proc/sys/kernel/threads-max")) * 3 // 4
    if connections > most:
        message = (
            f"apache's prefork MPM needs a process for each of {connections} connections, and this machine has "
            f"room for {most} (kernel.pid_max, kernel.threads-max); fewer clients or mpm 'event' would be valid"
        )
        raise CannotDoIt.at("server.mpm", message)
    return Sizes(connections)


def apache_configuration(
    *,
    address: str,
    port: int,
    mpm: str,
    sizes: Sizes,
    user: tuple[str, str] | None,
    modules: Path = MODULES,
    access_log: bool = False,
) -> str:
    """The text of Apache's configuration; `user` is that of its workers and their group where it starts as root."""
    host = f"[{address}]" if ":" in address else address
    log = f"CustomLog {ACCESS_LOG} {COMBINED}\n" if access_log else ""
    identity = f"User {user[0]}\nGroup {user[1]}\n" if user else ""
    if mpm == "event":
        sizing = f"""\
ServerLimit {sizes.processes}
StartServers {sizes.processes}
ThreadLimit {sizes.threads}
ThreadsPerChild {sizes.threads}
MaxRequestWorkers {sizes.processes * sizes.threads}
MinSpareThreads {sizes.threads}
MaxSpareThreads {sizes.processes * sizes.threads}
AsyncRequestWorkerFactor {sizes.per_thread}
"""
    else:
        # Every process is there from the start: forking under load would be measured with the rest.
        sizing = f"""\
ServerLimit {sizes.processes}
StartServers {sizes.processes}
MinSpareServers {sizes.processes}
MaxSpareServers {sizes.processes + 1}
MaxRequestWorkers {sizes.processes}
"""
    return f"""\
ServerRoot {PRIVATE}
DefaultRuntimeDir {PRIVATE}
PidFile {PRIVATE}/apache.pid
ErrorLog {SERVER_LOG}
LogLevel error
{log}ServerName {host}:{port}
{identity}LoadModule mpm_{mpm}_module {modules}/mod_mpm_{mpm}.so
LoadModule authz_core_module {modules}/mod_authz_core.so
{sizing}MaxConnectionsPerChild 0
Listen {host}:{port}
ListenBacklog 65535
Timeout 300
KeepAlive On
KeepAliveTimeout 3600
MaxKeepAliveRequests 0
EnableSendfile On
DocumentRoot {DOCUMENT_ROOT}
<Directory {DOCUMENT_ROOT}>
    AllowOverride None
    Options FollowSymLinks
    Require all granted
    ForceType application/octet-stream
</Directory>
"""


def parse_version(text: str) -> str | None:
    """Parses the output of `apache2 -v`."""
    found = re.search(r"Apache/(\d+(?:\.\d+)+)", text)
    return None if found is None else found[1]


def _number(path: str) -> int:
    return int(Path(path).read_text(encoding="utf-8"))
