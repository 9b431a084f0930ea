"""Counters of the current network namespace: the device's, TCP's, IP's, and the machine's softnet drops.

Parsers are functions of text; `read` looks at the files. All counters only grow; an increase over a run is a fate of
packets or a reason not to trust the run.
"""

import itertools
import sys
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


def is_listening(table: str, packed_address: bytes, port: int) -> bool:
    """Whether /proc/net/tcp or tcp6 (as text) shows a socket that listens on the port at this address or at any."""
    for line in table.splitlines()[1:]:
        columns = line.split()
        if len(columns) < 4 or columns[3] != "0A":
            continue
        address, _, number = columns[1].partition(":")
        try:
            words = bytes.fromhex(address)
            listening_port = int(number, 16)
        except ValueError:
            continue
        # The kernel prints the address as 32-bit words in the machine's own byte order.
        order = 1 if sys.byteorder == "big" else -1
        here = b"".join(words[at : at + 4][::order] for at in range(0, len(words), 4))
        if listening_port == port and (not any(here) or here == packed_address):
            return True
    return False


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
