"""Testbeds as they are: namespaces, device, server, and nothing left of them."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from measuring import timed, within
from waiting import HANGS, SOON, eventually, lives
from waspbench.testbed import (
    DOCUMENT_ROOT,
    CannotDoIt,
    Launch,
    Testbed,
    TestbedError,
    TestbedSpec,
    apache,
    command,
    files,
    from_lines,
    nginx,
    place,
    process,
)
from waspbench.testbed.servers import find_program

from .peer import Peer

pytestmark = pytest.mark.root

WEB = [sys.executable, "-m", "http.server", "--directory", DOCUMENT_ROOT, "80"]
PYTHON_SERVER = Launch("http.server", tuple(WEB))


def needs(server: str) -> pytest.MarkDecorator:
    program = {"nginx": "nginx", "apache": "apache2"}.get(server, "python3")
    return pytest.mark.skipif(find_program(program) is None, reason=f"not installed: {program}")


needs_nginx = needs("nginx")


def spec(server: Launch = PYTHON_SERVER, **fields: object) -> TestbedSpec:
    return TestbedSpec(server, files=[("/1024", 1024), ("/deep/er", 200_000)], **fields)  # type: ignore[arg-type]


def state() -> dict[str, object]:
    """Everything that a testbed could leave behind: devices, mounts, processes of ours, names in memory and on disk."""
    return {
        "devices": sorted(os.listdir("/sys/class/net")),
        "mounts": Path("/proc/self/mounts").read_text(),
        "descendants": process.descendants(os.getpid(), process.parents()),
        "holders": holders(),
        "memory": sorted(os.listdir("/dev/shm")),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "settings": [
            Path(path).read_text() for path in ("/proc/sys/net/core/somaxconn", "/proc/sys/net/ipv4/tcp_sack")
        ],
    }


MARK = f"WASP_TEST_HOLDERS={os.getpid()}"
"""In the environment of every process that these tests start, however it got there."""
os.environ["WASP_TEST_HOLDERS"] = str(os.getpid())


def holders() -> set[int]:
    found = set()
    for pid in process.parents():
        try:
            # An entry that waits for the machine's process 1 has no command line.
            ours = MARK.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if ours and b"waspbench.testbed.holder" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
        except OSError:
            continue
    return found


@pytest.fixture
def unchanged() -> Iterator[dict[str, object]]:
    """Fails the test that leaves something behind."""
    before = state()
    yield before
    assert eventually(lambda: state() == before, SOON), (before, state())


SERVERS: dict[str, Callable[[], Launch]] = {
    "python": lambda: PYTHON_SERVER,
    "nginx": lambda: nginx("198.18.0.1", 80),
    "apache event": lambda: apache("198.18.0.1", 80, mpm="event", connections=16),
    "apache prefork": lambda: apache("198.18.0.1", 80, mpm="prefork", connections=16),
    "command": lambda: from_lines(
        "python3 -m http.server {port} --bind {address} --directory {root}",
        "kill -INT {pid}",
        address="198.18.0.1",
        port=80,
        connections=16,
    ),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name.split()[0])) for name in SERVERS])
def test_the_server_answers_through_the_device(name: str, unchanged: object) -> None:
    with Testbed(spec(SERVERS[name]())) as bed:
        peer = Peer(bed.device_fds[0])
        assert peer.ping()[:1] == b"\0"  # an echo reply
        for path, size in (("/1024", 1024), ("/deep/er", 200_000)):
            head, _, body = peer.fetch(80, path).partition(b"\r\n\r\n")
            assert b" 200 OK" in head.splitlines()[0]
            assert body == files.content(size)
        device = Path(f"/proc/{bed.namespace()}/net/dev").read_text().split(f"{bed.device_name}:")[1].split()
        assert int(device[9]) > 0  # packets to the device
        assert int(device[11]) == 0  # those dropped
        assert bed.server_failure() is None


def test_the_namespace_is_its_own(unchanged: dict[str, object]) -> None:
    with Testbed(spec()) as bed:
        assert "wasp0" not in os.listdir("/sys/class/net")
        (server,) = bed.server_pids()
        for kind in ("net", "mnt", "pid"):
            assert os.readlink(f"/proc/{server}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")
        devices = Path(f"/proc/{server}/net/dev").read_text().splitlines()[2:]
        assert {"lo", "wasp0"} <= {line.split(":")[0].strip() for line in devices}
        assert Path("/proc/self/mounts").read_text() == unchanged["mounts"]


@needs_nginx
def test_nginx_leaves_no_name_on_disk_and_shows_its_configuration(unchanged: object) -> None:
    watched = [Path(path) for path in ("/var/log/nginx", "/var/lib/nginx", "/run", "/var/lock")]
    before = {path: sorted(os.listdir(path)) for path in watched if path.exists()}
    with Testbed(spec(nginx("198.18.0.1", 80, connections=64, access_log=True))) as bed:
        Peer(bed.device_fds[0]).fetch(80, "/1024")
        description = bed.describe()
        assert len(bed.server_pids()) == 2  # master and worker
        assert {path: sorted(os.listdir(path)) for path in before} == before
    assert "worker_processes 1;" in str(description["server"])
    assert {path: sorted(os.listdir(path)) for path in before} == before


def test_the_server_and_the_devices_receive_work_are_on_the_servers_cpus(unchanged: object) -> None:
    placement = place(None, None)
    with Testbed(spec(placement=placement)) as bed:
        assert [os.sched_getaffinity(pid) for pid in bed.server_pids()] == [set(placement.server)]
        device = bed.describe()["device"]
        assert isinstance(device, dict)
        assert int(device["rps_cpus"].replace(",", ""), 16) == sum(1 << cpu for cpu in placement.server)


def test_settings_and_congestion_control_reach_the_namespace_only(unchanged: object) -> None:
    with Testbed(spec(sysctl={"net.ipv4.tcp_sack": 0}, congestion="reno", clients=1000)) as bed:
        (server,) = bed.server_pids()
        script = "cat /proc/sys/net/ipv4/tcp_sack; ip route; ip link show wasp0"
        inside = subprocess.run(
            ["nsenter", f"--net=/proc/{server}/ns/net", "sh", "-c", script], capture_output=True, text=True, check=True
        ).stdout
        assert inside.startswith("0\n")
        assert "198.18.0.0/17 dev wasp0 proto static scope link src 198.18.0.1 congctl reno" in inside
        assert "qlen 42000" in inside
        settings = bed.describe()["sysctl"]
        assert isinstance(settings, dict)
        assert settings["net.ipv4.tcp_sack"] == "0"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"congestion": "vegaz"}, "congestion: the kernel refuses 'vegaz'.* would be valid"),
        ({"sysctl": {"net.ipv4.tcp_mem": "1 2 3"}}, "'net.ipv4.tcp_mem' belongs to the whole machine"),
        ({"sysctl": {"net.ipv4.tcp_sack": "many"}}, "net.ipv4.tcp_sack: the kernel refuses the value 'many'"),
        ({"sysctl": {"net.ipv4.tcp_congestion_control": "vegaz"}}, "the kernel knows no 'vegaz'"),
        ({"server": command(["false"])}, "server.command: the server ended with status 1 before it listened"),
        ({"server": command(["sh", "-c", "echo too bad; exit 7"])}, "ended with status 7: too bad before it listened"),
        ({"server": command(["true"])}, "status 0 before it listened .it must stay in the foreground"),
        ({"server": command(["sleep", "99"]), "ready_timeout": 0.1}, "no listener on 198.18.0.1:80 within 0.1 s"),
        (
            {"server": command([*WEB, "--bind", "127.0.0.1"]), "ready_timeout": 5.0},
            "no listener on 198.18.0.1:80 within 5 s; it listens on 127.0.0.1:80",
        ),
    ],
)
def test_what_fails_is_told_in_one_line_and_leaves_nothing(
    fields: dict[str, object], message: str, unchanged: object
) -> None:
    with pytest.raises(TestbedError, match=message) as raised:
        Testbed(spec(**fields))  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_a_server_that_cannot_be_started_is_told(unchanged: object) -> None:
    with pytest.raises(CannotDoIt, match="'/no/such/server' cannot be started: No such file"):
        Testbed(spec(Launch("ghost", ("/no/such/server",))))


def test_the_death_of_the_server_is_told(unchanged: object) -> None:
    with Testbed(spec()) as bed:
        assert bed.server_failure() is None
        os.kill(bed.server_pids()[0], signal.SIGKILL)
        assert eventually(lambda: bed.server_failure() is not None)
        assert str(bed.server_failure()).startswith("the server was killed by SIGKILL")
        assert bed.server_pids() == []
        assert Path(f"/proc/{bed.namespace()}/net/dev").exists()  # what it did until then can still be read


def children() -> set[int]:
    """The processes that this one has started."""
    return {pid for pid, parent in process.parents().items() if parent == os.getpid()}


def test_the_death_of_the_holder_is_told(unchanged: object) -> None:
    before = children()
    with Testbed(spec()) as bed:
        (guard,) = children() - before
        os.kill(guard, signal.SIGKILL)
        assert eventually(lambda: bed.server_failure() is not None)
        assert str(bed.server_failure()).startswith("the testbed's process was killed")


def test_orphans_of_the_server_end_with_the_testbed(unchanged: object) -> None:
    script = f"(setsid sh -c 'trap \"\" TERM HUP INT; sleep 77 & wait' &) ; exec {' '.join(WEB)}"
    with Testbed(spec(command(["sh", "-c", script]))) as bed:
        assert eventually(lambda: len(bed.server_pids()) == 3)
        pids = bed.server_pids()
    assert not any(map(lives, pids))


def test_a_stubborn_server_does_not_delay_the_end(unchanged: object) -> None:
    script = "trap '' TERM; " + " ".join(WEB) + " & wait; sleep 60"

    def end() -> float:
        with Testbed(spec(command(["sh", "-c", script]))) as bed:
            return timed(bed.close)

    within(1.5, end)


def test_a_stop_line_ends_the_server_in_its_own_way(tmp_path: Path, unchanged: object) -> None:
    said = tmp_path / "said"
    script = f"trap 'echo goodbye >{said}; exit' USR1; {' '.join(WEB)} & wait"
    with Testbed(spec(command(["sh", "-c", script], stop=["kill", "-USR1", "{pid}"]))):
        assert not said.exists()
    assert said.read_text() == "goodbye\n"


def test_closing_twice_and_two_testbeds_at_once_are_fine(unchanged: object) -> None:
    with Testbed(spec()) as one, Testbed(spec()) as other:
        assert Peer(one.device_fds[0]).ping() == Peer(other.device_fds[0]).ping()
        one.close()
        one.close()
        assert Peer(other.device_fds[0]).ping()


def test_the_longest_queue_can_be_had(unchanged: object) -> None:
    with Testbed(spec(clients=1_000_000)) as bed:
        inside = ["nsenter", f"--net=/proc/{bed.namespace()}/ns/net", "ip", "link", "show", bed.device_name]
        shown = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
        assert f"qlen {1 << 18}" in shown
        assert Peer(bed.device_fds[0]).ping()


AS_NOBODY = """
mount -t tmpfs none /dev/net && mknod /dev/net/tun c 10 200 && chmod 666 /dev/net/tun &&
exec setpriv --reuid=65534 --regid=65534 --clear-groups \\
    --inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search "$@"
"""
IN_A_USER_NAMESPACE = """
import sys
from waspbench.testbed import Testbed, TestbedSpec, apache, nginx
server = {"nginx": nginx, "apache": apache}[sys.argv[1]]("198.18.0.1", 80, connections=16, access_log=True)
with Testbed(TestbedSpec(server, files=[("/1", 1)])) as bed:
    print(bool(bed.server_pids()), bed.describe()["user_namespace"], *bed.describe()["labels"])
"""


@pytest.mark.parametrize("server", [pytest.param(name, marks=needs(name)) for name in ("nginx", "apache")])
def test_an_ordinary_user_gets_a_testbed_that_is_labelled_without_rps(server: str, unchanged: object) -> None:
    # The device node of a mount namespace of its own stands for that of most distributions, which anybody may open; the
    # one capability lets nobody read the interpreter, wherever that is installed.
    shell = ["unshare", "-m", "sh", "-c", AS_NOBODY, "sh", sys.executable, "-P", "-c", IN_A_USER_NAMESPACE, server]
    done = subprocess.run(shell, env=process.environment(), capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.stdout.startswith("True True rps not set (Operation not permitted)"), done


OWNER = """
import sys, time
from waspbench.testbed import Testbed, TestbedSpec, command, DOCUMENT_ROOT
print("begun", flush=True)
bed = Testbed(TestbedSpec(command([sys.executable, "-m", "http.server", "--directory", DOCUMENT_ROOT, "80"])))
print(*bed.server_pids(), flush=True)
time.sleep(60)
"""


MARK = "WASP_TEST_PROCESSES"


def start_owner(mark: str = "") -> subprocess.Popen[str]:
    """A process that begins to make a testbed, and hears interrupts whatever started this one does; it and all that it
    starts have the mark.
    """
    return subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, "-c", OWNER],
        env=process.environment() | {MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def owned(owner: subprocess.Popen[str]) -> list[int]:
    """What the testbed of a process has started, once it is there."""
    assert owner.stdout is not None
    assert owner.stdout.readline() == "begun\n"
    servers = [int(pid) for pid in owner.stdout.readline().split()]
    return servers + process.descendants(owner.pid, process.parents())


def test_a_second_after_sigkill_of_the_owner_nothing_is_left(unchanged: dict[str, object]) -> None:
    def kill() -> float:
        with start_owner() as owner:
            pids = owned(owner)
            assert len(set(pids)) == 3  # guard, init, server
            return timed(owner.kill, lambda: not any(map(lives, pids)))

    within(1.0, kill)


def test_after_sigkill_of_an_owner_that_was_still_building_nothing_is_left(unchanged: dict[str, object]) -> None:
    build = "from waspbench.testbed import *; Testbed(TestbedSpec(command(['sleep', '61']), ready_timeout=60))"

    def kill() -> float:
        with subprocess.Popen(
            [sys.executable, "-c", build], env=process.environment(), start_new_session=True
        ) as owner:
            assert eventually(lambda: len(process.descendants(owner.pid, process.parents())) == 3)
            inside = process.descendants(owner.pid, process.parents())  # guard, init, server
            return timed(owner.kill, lambda: not any(map(lives, inside)))

    within(1.0, kill)


def marked(mark: str) -> list[int]:
    """Every process that has a mark in its environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


@pytest.mark.parametrize("milliseconds", range(0, 160, 20))
def test_sigkill_of_the_owner_is_survived_by_nothing_at_any_moment(milliseconds: int, unchanged: object) -> None:
    mark = f"{os.getpid()}-{milliseconds}"
    with start_owner(mark) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "begun\n"
        assert owner.pid in marked(mark)
        time.sleep(milliseconds / 1000)
        owner.kill()
    assert eventually(lambda: not marked(mark)), marked(mark)


def test_ctrl_c_reaches_the_owner_and_not_the_holder(unchanged: dict[str, object]) -> None:
    def interrupt() -> float:
        with start_owner() as owner:
            pids = owned(owner)
            assert owner.pid not in {os.getpgid(pid) for pid in pids}
            took = timed(lambda: os.killpg(owner.pid, signal.SIGINT), lambda: not any(map(lives, pids)))
        assert owner.returncode == -signal.SIGINT
        return took

    within(1.0, interrupt)


def test_a_testbed_made_by_a_thread_that_ended_says_so(unchanged: object) -> None:
    made: list[Testbed] = []
    thread = threading.Thread(target=lambda: made.append(Testbed(spec())))
    thread.start()
    thread.join()
    with made[0] as bed:
        assert eventually(lambda: bed.server_failure() is not None)
        assert "when the thread that made it ends" in str(bed.server_failure())
