"""Parsers and checks of the testbed: no privilege, no process."""

import contextlib
import ipaddress
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waiting import HANGS
from waspbench.testbed import TestbedError, TestbedSpec, capability, command, cpus, files, kernel, listeners, process
from waspbench.testbed.apache import MPMS, Sizes, apache_configuration, event_sizes, parse_version, prefork
from waspbench.testbed.commandline import words
from waspbench.testbed.errors import CannotDoIt
from waspbench.testbed.machine import cpu_model, memory_bytes
from waspbench.testbed.netlink import NetlinkError, raise_refusal
from waspbench.testbed.servers import ask, nginx_configuration, parse_build, share_connections
from waspbench.testbed.testbed import queue_length


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_printed_cpu_list_reads_back(numbers: set[int]) -> None:
    assert cpus.parse_list(cpus.show_list(numbers)) == tuple(sorted(numbers))


@given(st.sets(st.integers(0, 300)))
def test_a_cpu_mask_is_the_number_that_the_kernel_reads(numbers: set[int]) -> None:
    words = cpus.mask(numbers).split(",")
    assert all(len(word) == 8 for word in words)
    assert int("".join(words), 16) == sum(1 << number for number in numbers)


@pytest.mark.parametrize("text", ["", "x", "1-", "3-1", "0,,1", "-1", "0 1", "99999"])
def test_what_is_no_cpu_list_is_refused_by_name(text: str) -> None:
    with pytest.raises(TestbedError, match=r"^server_cpus: .*would be valid"):
        cpus.parse_list(text, "server_cpus")


def test_server_and_emulator_get_different_cpus() -> None:
    assert cpus.place(None, None, [0, 1]) == cpus.Placement((0,), (1,))
    assert cpus.place("1", None, [0, 1]) == cpus.Placement((1,), (0,))
    assert cpus.place(None, "0", [0, 1]) == cpus.Placement((1,), (0,))
    assert cpus.place("0-2", "3", [0, 1, 2, 3]) == cpus.Placement((0, 1, 2), (3,))


def test_sharing_a_cpu_is_labelled() -> None:
    assert cpus.place(None, None, [5]) == cpus.Placement((5,), (5,), ("server and emulator share CPU 5",))
    assert cpus.place("0-1", None, [0, 1]).labels == ("server and emulator share CPU 0",)


def test_a_cpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(TestbedError, match=r"server_cpus: there is no CPU 7 for this process: 0-1 would be valid"):
        cpus.place("7", None, [0, 1])
    with pytest.raises(TestbedError, match=r"emulator_cpus: '0-99' names 100 CPUs: 64 at most would be valid"):
        cpus.place(None, "0-99", range(100))


@given(st.text())
def test_no_text_upsets_the_parser_of_listeners(text: str) -> None:
    listeners.parse(text)


@pytest.mark.parametrize(
    ("line", "shown", "takes"),
    [
        ("   0: 010012C6:0050 00000000:0000 0A", "198.18.0.1:80", True),
        ("   0: 00000000:0050 00000000:0000 0A", "0.0.0.0:80", True),
        ("   0: 00000000000000000000000000000000:0050 0:0 0A", "[::]:80", True),
        ("   0: 0000000000000000FFFF0000010012C6:0050 0:0 0A", "[::ffff:c612:1]:80", True),
        ("   0: 0100007F:0050 00000000:0000 0A", "127.0.0.1:80", False),
        ("   0: 010012C6:0051 00000000:0000 0A", "198.18.0.1:81", False),
        ("   0: 010012C6:0050 00000000:0000 01", None, False),
    ],
)
@pytest.mark.skipif(sys.byteorder == "big", reason="needs a little-endian kernel")
def test_a_listener_is_one_in_state_listen_on_the_address_or_any(line: str, shown: str | None, takes: bool) -> None:
    found = listeners.parse(f"  sl  local_address ...\n{line} 00000000:00000000 00:00000000 00000000 0 0 4711 1\n")
    assert [(str(listener), listener.inode) for listener in found] == ([(shown, 4711)] if shown else [])
    address = ipaddress.ip_address("198.18.0.1").packed
    assert any(listener.takes(address, 80) for listener in found) is takes


@given(st.integers(0, 300_000), st.sampled_from(files.CONTENTS))
def test_content_has_its_size_and_begins_as_every_longer_one(size: int, kind: str) -> None:
    assert files.content(300_000, kind)[:size] == files.content(size, kind)
    assert len(files.content(size, kind)) == size


def test_random_content_does_not_compress() -> None:
    import gzip

    assert len(gzip.compress(files.content(1_000_000))) > 990_000


@pytest.mark.parametrize("path", ["1024", "/", "/a//b", "/../etc", "/a/", "/a?b", "/."])
def test_what_cannot_be_a_file_is_refused(path: str) -> None:
    with pytest.raises(TestbedError, match="cannot be the path of a file"):
        files.check([(path, 1)])


def test_a_file_of_two_sizes_is_refused() -> None:
    with pytest.raises(TestbedError, match="/a is asked for with 1 and with 2 bytes"):
        files.check([("/a", 1), ("/a", 2)])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"net.ipv4.tcp_sak": 1}, "this kernel has no setting 'net.ipv4.tcp_sak'"),
        ({"net.ipv4": 1}, "this kernel has no setting 'net.ipv4'"),
        ({"vm.swappiness": 1}, "'vm.swappiness' is not a network setting"),
        ({"net/ipv4/tcp_sack": 1}, "is not a network setting"),
        ({"net.../x": 1}, "is not a network setting"),
        ({"net.ipv4.tcp_sack": ""}, "net.ipv4.tcp_sack: '' is not a value"),
        ({"net.ipv4.tcp_sack": True}, "net.ipv4.tcp_sack: True is not a value"),
    ],
)
def test_a_wrong_sysctl_is_refused_by_name(settings: dict[str, str | int], message: str) -> None:
    with pytest.raises(TestbedError, match=message):
        kernel.check(settings)


def test_sysctl_values_become_text() -> None:
    assert kernel.check({"net.ipv4.tcp_rmem": " 4096  65536 65536", "net.ipv4.tcp_sack": 0}) == {
        "net.ipv4.tcp_rmem": "4096 65536 65536",
        "net.ipv4.tcp_sack": "0",
    }


@given(st.text(max_size=15))
def test_a_parent_is_found_behind_any_process_name(name: str) -> None:
    assert process.parent_in(f"12 ({name}) S 34 12 12 0 -1") == 34


def test_descendants_are_found_through_dead_generations() -> None:
    assert process.descendants(1, {2: 1, 3: 2, 4: 2, 5: 4, 9: 8, 1: 0}) == [2, 3, 4, 5]


def test_nginx_tells_its_version_and_what_it_lacks() -> None:
    build = parse_build("nginx version: nginx/1.22.1\nconfigure arguments: --without-http_uwsgi_module --prefix=/usr\n")
    assert build is not None
    assert build.version == (1, 22, 1)
    assert build.options == {"--without-http_uwsgi_module", "--prefix"}
    assert parse_build("bash: nginx: nothing of the kind") is None


def test_apache_tells_its_version() -> None:
    assert parse_version("Server version: Apache/2.4.57 (Debian)\nServer built:   2023-04-13T03:26:51\n") == "2.4.57"
    assert parse_version("bash: apache2: nothing of the kind") is None


def test_a_program_that_cannot_be_asked_or_tells_nothing_is_named() -> None:
    with pytest.raises(CannotDoIt, match=r"server.kind: /no/such/server does not run: .*No such file"):
        ask("/no/such/server", "-v", parse_version)
    with pytest.raises(CannotDoIt, match=f"server.kind: {re.escape(sys.executable)} -V does not tell its version"):
        ask(sys.executable, "-V", parse_build)


@pytest.mark.parametrize("access_log", [False, True])
def test_nginx_writes_nowhere_but_in_memory(access_log: bool) -> None:
    text = nginx_configuration(
        address="198.18.0.1", port=80, user="root", workers=1, worker_connections=9, access_log=access_log
    )
    paths = [
        word.rstrip(";") for word in text.split() if word.startswith("/") and not word.startswith("/.wasp-posted/")
    ]
    assert paths
    assert all(path.startswith("/dev/shm/") for path in paths)
    assert "listen 198.18.0.1:80 backlog=65535;" in text
    assert ("access_log off;" in text) is not access_log


@pytest.mark.parametrize(
    ("connections", "limit", "expected"),
    [
        (100, 20_000, (1, 356)),
        (19_488, 20_000, (1, 19_744)),
        (20_000, 20_000, (2, 19_744)),
        (50_000, 20_000, (3, 19_744)),
        (300, 512, (2, 256)),
    ],
)
def test_nginx_gets_workers_as_descriptors_allow(connections: int, limit: int, expected: tuple[int, int]) -> None:
    assert share_connections(connections, limit) == expected


def test_too_few_descriptors_for_nginx_are_told() -> None:
    with pytest.raises(CannotDoIt, match="nginx cannot keep 1 connections open where a process may have 100 files"):
        share_connections(1, 100)
    with pytest.raises(CannotDoIt, match="nginx cannot keep 100000 connections open"):
        share_connections(100_000, 1024)


def test_several_workers_of_nginx_have_a_listening_socket_each() -> None:
    text = nginx_configuration(address="198.18.0.1", port=80, user="root", workers=2, worker_connections=9)
    assert "listen 198.18.0.1:80 backlog=65535 reuseport;" in text


@pytest.mark.parametrize(
    ("connections", "limit", "processes"), [(64, 20_000, 4), (20_000, 20_000, 4), (60_000, 20_000, 7), (64, 400, 4)]
)
def test_apache_has_room_for_twice_the_connections(connections: int, limit: int, processes: int) -> None:
    sizes = event_sizes(connections, limit)
    assert sizes.processes == processes
    assert sizes.processes * sizes.threads * sizes.per_thread >= 2 * connections


def test_what_apache_cannot_keep_open_is_told() -> None:
    with pytest.raises(CannotDoIt, match="the limit of 300 open files"):
        event_sizes(1, 300)
    with pytest.raises(CannotDoIt, match="needs a process for each of 1000000000 connections"):
        prefork(1_000_000_000)


@pytest.mark.parametrize("access_log", [False, True])
@pytest.mark.parametrize("mpm", MPMS)
def test_apache_writes_nowhere_but_in_memory(mpm: str, access_log: bool) -> None:
    sizes = Sizes(3, 64, 2)
    text = apache_configuration(address="198.18.0.1", port=80, mpm=mpm, sizes=sizes, user=None, access_log=access_log)
    paths = [word.rstrip(">") for word in text.split() if word.startswith("/")]
    assert paths
    assert all(path.startswith(("/dev/shm", "/usr/lib/apache2/modules/")) for path in paths)
    assert f"mpm_{mpm}_module" in text
    assert ("CustomLog" in text) is access_log
    assert "\nUser " not in text


KNOWN = {"address": "198.18.0.1", "port": "80"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("serve {address}:{port}", ["serve", "198.18.0.1:80"]),
        ("serve 'two words' --port={port}", ["serve", "two words", "--port=80"]),
        ("awk '{{ print }}'", ["awk", "{ print }"]),
        ("serve {{port}}", ["serve", "{port}"]),
        ("serve $HOME a;b", ["serve", "$HOME", "a;b"]),
    ],
)
def test_a_line_is_split_as_a_shell_does_and_filled_in(line: str, expected: list[str]) -> None:
    assert words(line, KNOWN, "server.command") == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("serve {prot}", "{prot} stands for nothing: {address}, {port} would be valid"),
        ("serve {}", "{} stands for nothing"),
        ("serve 'a", "is not a command line: no closing quotation"),
        (" ", "' ' is empty"),
    ],
)
def test_a_line_that_is_none_is_refused(line: str, message: str) -> None:
    with pytest.raises(TestbedError, match=re.escape(message)) as raised:
        words(line, KNOWN, "server.command")
    assert str(raised.value).startswith("server.command: ")


@given(st.text())
def test_no_line_upsets_the_splitting(line: str) -> None:
    with contextlib.suppress(TestbedError):
        assert words(line, KNOWN, "server.command")


def test_the_queue_grows_with_the_clients_within_bounds() -> None:
    assert [queue_length(clients) for clients in (1, 1_000, 10_000_000)] == [10_032, 42_000, 1 << 18]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"address": "10.0.0.1"}, "address: 10.0.0.1 is not in 198.18.0.0/17"),
        ({"prefix": "198.18.0.0/33"}, "prefix: .*would be valid"),
        ({"prefix": "198.18.0.1/17"}, "prefix: .*would be valid"),
        ({"port": 0}, "port: 0 is out of range: 1 to 65535 would be valid"),
        ({"mtu": 67}, "mtu: 67 is out of range"),
        ({"clients": 0}, "clients: 0 is out of range"),
        ({"device": "a" * 16}, "device: .* cannot name a device"),
        ({"content": "text"}, "content: 'text' is not a kind of content"),
        ({"sysctl": {"net.nothing": 1}}, "no setting 'net.nothing'"),
    ],
)
def test_a_wrong_field_is_refused_before_anything_starts(fields: dict[str, object], message: str) -> None:
    with pytest.raises(TestbedError, match=message):
        TestbedSpec(command(["true"]), **fields).plan()  # type: ignore[arg-type]


def test_a_program_that_is_not_there_cannot_be_started() -> None:
    with pytest.raises(CannotDoIt, match="there is no program 'no-such-server'"):
        command(["no-such-server"])


def test_a_netlink_refusal_carries_the_kernels_words() -> None:
    import struct

    words = b"Invalid\0"
    body = struct.pack("=i", -22) + bytes(16) + struct.pack("=HH", 4 + len(words), 1) + words
    with pytest.raises(NetlinkError, match=r"Invalid argument \(Invalid\)"):
        raise_refusal(struct.pack("=IHHII", 16 + len(body), 2, 0, 1, 0) + body)
    raise_refusal(struct.pack("=IHHIIi", 20, 2, 0, 1, 0, 0))


def test_the_machine_is_described_from_its_files() -> None:
    assert cpu_model("processor\t: 0\nmodel name\t: A Fine CPU\nflags\t\t: fpu\n") == "A Fine CPU"
    assert memory_bytes("MemTotal:       24684092 kB\nMemFree: 1 kB\n") == 24_684_092 * 1024


@pytest.mark.parametrize("module", ["holder", "lease"])
def test_what_is_started_for_each_run_loads_no_heavy_libraries(module: str) -> None:
    heavy = "{'numpy', 'polars', 'pydantic', 'scipy', 'rich', 'cyclopts'}"
    program = f"import sys, waspbench.testbed.{module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env=process.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("program", "seconds", "support"),
    [
        ("pass", HANGS, capability.Support(True)),
        ("raise SystemExit(3)", HANGS, capability.Support(False, "the attempt ended with status 3")),
        ("print('first'); print('no TUN'); raise SystemExit(1)", HANGS, capability.Support(False, "no TUN")),
        (
            "import time; time.sleep(600)",
            0.1,
            capability.Support(False, "making namespaces and a TUN device took more than 0.1 s"),
        ),
    ],
)
def test_no_support_comes_with_a_reason(
    program: str, seconds: float, support: capability.Support, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "HOLDER", [sys.executable, "-c", program])
    assert capability.live_support(seconds) == support
