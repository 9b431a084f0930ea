"""Counters of the current network namespace: the device's, TCP's, IP's, and the machine's softnet drops.

Parsers are functions of text; `read` looks at the files. All counters only grow; an increase over a run is a fate of
packets or a reason not to trust the run.
"""

import ipaddress
import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

Counters = dict[str, dict[str, int]]


def parse_pairs(text: str) -> Counters:
    """Parses /proc/net/netstat or /proc/net/snmp: pairs of lines `Name: field...` and `Name: value...`.

    A pair that does not match (another kernel's idea of the file) is left out.
    """
    tables: Counters = {}
    lines = text.splitlines()
    for names, values in itertools.pairwise(lines):
        title, _, fields = names.partition(":")
        other, _, numbers = values.partition(":")
        if title != other or not fields.split() or fields.split()[0].lstrip("-").isdigit():
            continue
        try:
            tables[title] = dict(zip(fields.split(), map(int, numbers.split()), strict=True))
        except ValueError:
            continue
    return tables


def parse_softnet(text: str) -> dict[str, int]:
    """Parses /proc/net/softnet_stat, hexadecimal, one line a CPU; sums over CPUs (the machine's, not a namespace's).

    Columns (net/core/net-procfs.c): processed, dropped (backlog full), time_squeeze, ..., received_rps is the tenth.
    """
    totals = {"processed": 0, "dropped": 0, "time_squeeze": 0, "received_rps": 0}
    for line in text.splitlines():
        columns = line.split()
        for name, column in (("processed", 0), ("dropped", 1), ("time_squeeze", 2), ("received_rps", 9)):
            try:
                totals[name] += int(columns[column], 16)
            except (IndexError, ValueError):
                continue
    return totals


@dataclass(frozen=True)
class Listener:
    """A socket that listens for TCP connections."""

    address: bytes
    port: int
    inode: int

    def takes(self, address: bytes, port: int) -> bool:
        """Whether it takes connections to this address, as its own, as any, or as any of both families."""
        return self.port == port and (not any(self.address) or self.address in (address, _MAPPED + address))

    def __str__(self) -> str:
        host = str(ipaddress.ip_address(self.address))
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


_MAPPED = bytes(10) + b"\xff\xff"
"""What makes an IPv4 address one of IPv6 (RFC 4291, 2.5.5.2)."""


def listeners(table: str) -> list[Listener]:
    """The sockets that listen, in the text of /proc/net/tcp or tcp6; what is no line of such a file is left out."""
    found = []
    for line in table.splitlines()[1:]:
        columns = line.split()
        if len(columns) < 10 or columns[3] != "0A":
            continue
        address, _, number = columns[1].partition(":")
        try:
            words, port, inode = bytes.fromhex(address), int(number, 16), int(columns[9])
        except ValueError:
            continue
        if len(words) not in (4, 16):
            continue
        # The kernel prints the address as 32-bit words in the machine's own byte order.
        order = 1 if sys.byteorder == "big" else -1
        found.append(Listener(b"".join(words[at : at + 4][::order] for at in range(0, len(words), 4)), port, inode))
    return found


def read_listeners() -> list[Listener]:
    """The sockets that listen in the current network namespace."""
    return [listener for name in ("tcp", "tcp6") for listener in listeners(_text(f"/proc/net/{name}"))]


def read(device: str) -> Counters:
    """Reads every counter: tables `device`, `softnet`, and those of netstat and snmp (`Tcp`, `TcpExt`, `Ip`...)."""
    tables = parse_pairs(_text("/proc/net/snmp")) | parse_pairs(_text("/proc/net/netstat"))
    tables["softnet"] = parse_softnet(_text("/proc/net/softnet_stat"))
    statistics = Path("/sys/class/net") / device / "statistics"
    tables["device"] = {file.name: int(_text(str(file)) or 0) for file in sorted(statistics.glob("*"))}
    return tables


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
