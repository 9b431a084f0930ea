"""Presets of the modelled server: what work costs the servers of the papers, with the origin of each number.

No number was fitted to a figure with loss or with distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Number(NamedTuple):
    """The value of a field of ``server.model``."""

    value: Any
    """As the experiment file has it: CPU times are text with a unit."""
    origin: str
    """Where it comes from."""


@dataclass(frozen=True)
class ServerPreset:
    """A modelled server."""

    server: str
    """The server whose costs these are, and its machine."""
    source: str | None
    """Publication that measured it; None if nobody did."""
    values: dict[str, Number]
    """Fields of ``server.model``. Fields that are not here are not set."""


_NAHUM = (
    "Nahum, Rosu, Seshan and Almeida, The Effects of Wide-Area Conditions on WWW Server Performance, SIGMETRICS 2001"
)
_SIMMONDS = (
    "Simmonds, Williamson, Bradford, Arlitt and Unger, Web Server Benchmarking Using Parallel WAN Emulation, 2003"
)
_RULE = (
    "rule of thumb of 1 Hz for each bit/s of TCP (Foong, Huff, Hum, Patwardhan and Regnier, TCP performance "
    "re-visited, ISPASS 2003): 58.4 us at 200 MHz for a segment of 1,460 bytes and half an acknowledgment, in equal "
    "parts for each packet"
)
_TCP = (
    "fewer than 200 instructions in TCP (Clark, Romkey and Salwen, An analysis of TCP processing overhead, LCN 1988), "
    "one a cycle at 200 MHz"
)
_PACKETS_2001 = {
    "per_syn": Number("39us", _RULE),
    "per_data": Number("39us", _RULE),
    "per_ack": Number("39us", _RULE),
    "per_duplicate_ack": Number("39us", _RULE),
    "per_segment": Number("39us", _RULE),
    "per_timer": Number("1us", _TCP),
}
_PACKETS_2003 = {
    field: Number("8us", "assumed, the same for every packet")
    for field in ("per_syn", "per_data", "per_ack", "per_duplicate_ack", "per_segment")
}
_PEAKS = (
    "solved from the peaks of Figures 5, 9 and 10: 3,800/s of 1 KiB with a connection each, 6,500/s with 8 requests a "
    "connection, 8,000/s with 8 pipelined, 220/s of 64 KiB; in packets of 576 bytes, with TCP preset linux"
)
_ONE_RATE = "zero: part of per_request, from which one throughput cannot tell it apart"
_ROUND = "round number of a fast server"

FLAT = "flat"
"""The preset of a server that names none."""

PRESETS: dict[str, ServerPreset] = {
    FLAT: ServerPreset(
        "a fast server that handles packets at once",
        None,
        {
            "cores": Number(1, "assumed"),
            "per_connection": Number("20us", _ROUND),
            "per_request": Number("30us", _ROUND),
            "per_kib": Number("1us", _ROUND),
            "per_packet": Number("0ms", "zero: packets are handled at once"),
        },
    ),
    "flash-2001": ServerPreset(
        "Flash on a Power3 with 200 MHz",
        _NAHUM,
        {
            "cores": Number(1, "section 3.1: the machine has one processor"),
            "concurrency": Number("event", "section 3.2: Flash is single-threaded and event-driven"),
            "workers": Number(1, "section 3.2"),
            "fin_with_data": Number(True, "section 3.2: send_file() puts the FIN on the last data segment"),
            **_PACKETS_2001,
            "per_connection": Number(
                "94us",
                "the rest of 0.97 ms an operation without loss (1,035/s at 256 users); that it is half is assumed",
            ),
            "per_request": Number("94us", "the other half of that rest"),
            "per_kib": Number("0us", "zero: section 3.2, send_file() and checksums on the adapter touch no byte"),
            "per_wakeup": Number("0us", _ONE_RATE),
        },
    ),
    "apache-2001": ServerPreset(
        "Apache 1.3.17 on a Power3 with 200 MHz",
        _NAHUM,
        {
            "cores": Number(1, "section 3.1: the machine has one processor"),
            "concurrency": Number("process", "section 3.2: Apache is process-based"),
            "processes": Number(256, "the most that Apache 1.3 starts (HARD_SERVER_LIMIT); the paper tells no number"),
            **_PACKETS_2001,
            "per_connection": Number(
                "550us",
                "section 4.4: Flash has about twice the capacity. The rest of twice its 0.97 ms; about half of it is "
                "assumed",
            ),
            "per_request": Number("600us", "what is left of that rest"),
            "per_kib": Number("0us", "zero: part of per_request"),
            "per_wakeup": Number("0us", _ONE_RATE),
            "per_runnable": Number("0us", _ONE_RATE),
        },
    ),
    "apache-2003": ServerPreset(
        "Apache 1.3.23 on a Compaq ES40",
        _SIMMONDS,
        {
            "cores": Number(
                1,
                "inferred: one client makes 160/s (6.25 ms), about three round trips of 2 ms and 0.25 ms, so that the "
                "0.26 ms of work of a request are not shared among the four processors that Apache used",
            ),
            "concurrency": Number("process", "section 4.1: Apache is process-based"),
            "processes": Number(128, "section 4.1: MaxClients and StartServers"),
            **_PACKETS_2003,
            "per_timer": Number("1us", "assumed"),
            "per_wakeup": Number("37.5us", _PEAKS),
            "per_connection": Number("53us", _PEAKS),
            "per_request": Number("18.8us", _PEAKS),
            "per_kib": Number("41.9us", _PEAKS),
            "per_runnable": Number("0us", "zero: the peaks are of one number of processes and have this cost in them"),
        },
    ),
}
"""The presets by name."""
