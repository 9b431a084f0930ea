"""Servers that a testbed starts and stops itself: how each is launched, as plain data.

A managed server is an argument vector, an environment, some generated text files and a description. nginx's
configuration is generated here, Apache's in `apache`; `commandline` has servers that any other command starts.
"""

import grp
import os
import pwd
import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from waspbench.testbed import linux
from waspbench.testbed.errors import CannotDoIt
from waspbench.testbed.protocol import ACCESS_LOG, DOCUMENT_ROOT, PRIVATE

T = TypeVar("T")

SPARE_FILES = 512
"""Descriptors that a server needs beside one for each connection."""

MOST_WORKERS = 64
"""More workers of nginx than this on the server's CPUs would measure their number, not nginx."""


@dataclass(frozen=True)
class Launch:
    """How to start one server in the foreground, listening on the address and port that the testbed was given."""

    name: str
    argv: tuple[str, ...]
    version: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    private_files: Mapping[str, str] = field(default_factory=dict)
    """Generated text files by their path below `PRIVATE`: a memory file system that only the server sees."""
    connections: int = 1024
    """Connections that it must be able to keep open at once."""
    stop: tuple[str, ...] = ()
    """A command that ends it, run beside it; SIGTERM to the first process unless there is one."""
    ordinary_user: bool = False
    """Whether it refuses to run as root, which in a user namespace everybody is: it is given another number there."""
    shown: tuple[str, ...] = ()
    """The command as results tell it, where argv and environment say nothing on another machine."""
    asked_by: str = "server.kind"
    """The field of the experiment that asks for it."""
    access_log: bool = False
    """Whether it logs each request to `ACCESS_LOG`, which the testbed then hands out."""

    @property
    def nofile(self) -> int:
        """Descriptors that one process of the server may need."""
        return self.connections + SPARE_FILES

    def describe(self) -> dict[str, object]:
        """What belongs beside the results: name, version, command, generated configuration."""
        return {
            "name": self.name,
            "version": self.version,
            "argv": list(self.shown or self.argv),
            "environment": {} if self.shown else dict(self.environment),
            "stop": list(self.stop),
            "files": dict(self.private_files),
        }


def nginx(address: str, port: int, *, connections: int = 1024, cpus: int = 1, access_log: bool = False) -> Launch:
    """nginx with a configuration made for benchmarking, serving `DOCUMENT_ROOT`.

    A worker for each of its CPUs, or as many as the limit of descriptors makes necessary for `connections` at once.

    Raises:
        CannotDoIt: nginx is not installed, or does not say its version.
    """
    program = find_program("nginx")
    if program is None:
        advice = "install it (Debian and Ubuntu: `apt-get install nginx-light`) or take the server 'builtin'"
        raise CannotDoIt.at("server.kind", "nginx is not installed", advice)
    build = ask(program, "-V", parse_build)
    workers, per_worker = share_connections(connections, file_limit(connections + SPARE_FILES))
    configuration = nginx_configuration(
        address=address,
        port=port,
        user=" ".join(worker_user()),
        workers=max(workers, cpus),
        worker_connections=per_worker,
        modules=[module for module in _TEMP_PATHS if f"--without-http_{module}_module" not in build.options],
        access_log=access_log,
    )
    argv = [program, "-p", PRIVATE, "-c", f"{PRIVATE}/nginx.conf"]
    if build.version >= (1, 19, 5):
        argv += ["-e", "stderr"]  # else it opens the log that it was compiled with, before it reads ours
    return Launch(
        "nginx",
        tuple(argv),
        ".".join(map(str, build.version)),
        private_files={"nginx.conf": configuration},
        connections=connections,
        access_log=access_log,
    )


_POSTED = "/.wasp-posted"
"""Where nginx redirects a POST to within itself."""

_TEMP_PATHS = {"proxy": "proxy", "fastcgi": "fastcgi", "uwsgi": "uwsgi", "scgi": "scgi"}


def nginx_configuration(
    *,
    address: str,
    port: int,
    user: str,
    workers: int,
    worker_connections: int,
    modules: Sequence[str] = tuple(_TEMP_PATHS),
    access_log: bool = False,
) -> str:
    """The text of nginx's configuration. `modules` are the compiled-in ones whose temporary directories must move."""
    temporary = "".join(f"    {_TEMP_PATHS[module]}_temp_path {PRIVATE}/temp-{module};\n" for module in modules)
    host = f"[{address}]" if ":" in address else address
    log = ACCESS_LOG if access_log else "off"
    # Files are not for POST (405): answered by the file all the same, after `mirror` has read the body.
    # A listening socket for each worker, so that the kernel spreads connections over them evenly.
    reuseport = " reuseport" if workers > 1 else ""
    return f"""\
daemon off;
user {user};
worker_processes {workers};
pid {PRIVATE}/nginx.pid;
lock_file {PRIVATE}/nginx.lock;
error_log stderr error;
events {{
    worker_connections {worker_connections};
    multi_accept on;
}}
http {{
    client_body_temp_path {PRIVATE}/temp-body;
{temporary}    access_log {log};
    default_type application/octet-stream;
    sendfile on;
    tcp_nodelay on;
    tcp_nopush on;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    open_file_cache max=10000 inactive=3600s;
    open_file_cache_valid 3600s;
    client_max_body_size 0;
    server {{
        listen {host}:{port} backlog=65535{reuseport};
        root {DOCUMENT_ROOT};
        error_page 405 =200 {_POSTED}/file$uri;
        location ^~ {_POSTED}/file/ {{
            internal;
            alias {DOCUMENT_ROOT}/;
            mirror {_POSTED}/read;
        }}
        location = {_POSTED}/read {{
            internal;
            return 204;
        }}
    }}
}}
"""


def share_connections(connections: int, limit: int) -> tuple[int, int]:
    """How many workers nginx needs, and `worker_connections` of each, when each process may have `limit` descriptors.

    The kernel spreads connections over workers by a hash (`reuseport`): a worker's part differs from its fair share by
    a few square roots of it, for which an eighth is left.

    Raises:
        CannotDoIt: that would take more workers than `MOST_WORKERS`.
    """
    room = limit - SPARE_FILES // 2
    if connections + SPARE_FILES // 2 <= room:
        return 1, connections + SPARE_FILES // 2
    workers = -(-9 * connections // (8 * room)) if room >= 64 else MOST_WORKERS + 1
    if workers > MOST_WORKERS:
        message = f"nginx cannot keep {connections} connections open where a process may have {limit} files"
        raise CannotDoIt.at(
            "server.kind", f"{message} (`ulimit -Hn`)", "fewer clients, a higher limit, or root would be valid"
        )
    return workers, room


def check_room(server: str, connections: int) -> None:
    """Makes sure that a server of one process can keep so many connections open.

    Raises:
        CannotDoIt: it cannot, because a process may not have so many files.
    """
    limit = file_limit(connections + SPARE_FILES)
    if connections + SPARE_FILES // 8 > limit:
        message = (
            f"{server}, which is one process, cannot keep {connections} connections open where a process may "
            f"have {limit} files (`ulimit -Hn`)"
        )
        raise CannotDoIt.at("server.kind", message, "fewer clients, a higher limit, or nginx would be valid")


def file_limit(wanted: int) -> int:
    """The descriptors that a server started here will be allowed, when `wanted` are asked for."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return wanted
    if wanted <= hard or not linux.has_capability(linux.CAP_SYS_RESOURCE):
        return min(wanted, hard)
    ceiling = int(Path("/proc/sys/fs/nr_open").read_text(encoding="utf-8"))
    # The holder raises its hard limit to exactly what is wanted, or leaves it as it is.
    return wanted if wanted <= ceiling else hard


@dataclass(frozen=True)
class Build:
    """What `nginx -V` says of a program."""

    version: tuple[int, ...]
    options: frozenset[str]


def parse_build(text: str) -> Build | None:
    """Parses the output of `nginx -V` (also that of its descendants that keep the form)."""
    version = re.search(r"version: \S+/(\d+(?:\.\d+)+)", text)
    if version is None:
        return None
    return Build(tuple(map(int, version[1].split("."))), frozenset(re.findall(r"--[\w-]+", text)))


def ask(program: str, flag: str, parse: Callable[[str], T | None]) -> T:
    """What a program says of its version with a flag, on whichever of its outputs, as `parse` understands it.

    Raises:
        CannotDoIt: it does not run, or says nothing that `parse` understands.
    """
    try:
        said = subprocess.run(
            [program, flag], capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotDoIt.at("server.kind", f"{program} does not run: {error}") from None
    found = parse(said.stdout + said.stderr)
    if found is None:
        raise CannotDoIt.at("server.kind", f"{program} {flag} does not tell its version")
    return found


def find_program(program: str) -> str | None:
    """Path of a program, if there is one."""
    # Debian keeps servers in /usr/sbin, which an ordinary user's PATH leaves out.
    return shutil.which(program, path=os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin")


def worker_user() -> tuple[str, str]:
    """User and group of a server's workers: nobody; in a user namespace only root exists."""
    if os.geteuid() != 0:
        return "root", "root"
    try:
        nobody = pwd.getpwnam("nobody")
        return "nobody", grp.getgrgid(nobody.pw_gid).gr_name
    except KeyError:
        return "root", "root"
