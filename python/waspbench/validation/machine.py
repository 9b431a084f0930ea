"""What the model has to know of the kernel that it is compared with: constants that differ from kernel to kernel."""

from __future__ import annotations

import gzip
import os
import re
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CONFIGURATIONS = (Path("/proc/config.gz"), Path(f"/boot/config-{os.uname().release}"))
"""Where the kernel's configuration may be."""
MEMORY, QUEUED, FIELDS = 55, 5, 9
"""``SO_MEMINFO`` of ``linux/socket.h``; its field ``SK_MEMINFO_WMEM_QUEUED``, and how many fields it has."""
DESCRIPTION = 256
"""What the kernel counts for a ``sk_buff``, bytes."""

OVERHEADS = range(448, 769)
"""From the headers of a kernel without tunnels and wireless networks to the largest (``MAX_TCP_HEADER``), and 320 bytes
of ``skb_shared_info``."""


@dataclass(frozen=True)
class Constants:
    """Constants of a kernel; None where it does not say."""

    ticks: int | None
    """Ticks a second (HZ)."""
    overhead: int | None
    """Memory of a segment in the send buffer beside its payload and its ``sk_buff``, bytes."""

    @property
    def tcp(self) -> dict[str, str]:
        """The fields of ``[server.tcp]`` that say so."""
        fields = {}
        if self.ticks is not None:
            fields["timer_granularity"] = f"{10**6 // self.ticks}us"
        if self.overhead is not None:
            fields["send_buffer_overhead"] = f"{self.overhead}B"
        return fields

    def __str__(self) -> str:
        ticks = "an unknown number of" if self.ticks is None else f"{self.ticks}"
        overhead = "an unknown number of" if self.overhead is None else f"{self.overhead}"
        return f"{ticks} ticks a second (HZ) and {overhead} bytes beside the payload of a segment"


def this_kernel() -> Constants:
    """Those of this machine's kernel."""
    return Constants(kernel_ticks(), segment_overhead())


def kernel_ticks(configurations: Sequence[Path] = CONFIGURATIONS) -> int | None:
    """Ticks a second (HZ), as the kernel's configuration says."""
    for path in configurations:
        try:
            raw = path.read_bytes()
        except OSError:
            continue
        text = gzip.decompress(raw) if path.suffix == ".gz" else raw
        found = re.search(rb"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)
        if found:
            return int(found[1])
    return None


def segment_overhead() -> int | None:
    """What a segment takes beside its payload, by what a connection to this machine itself counts for one that waits.

    None before Linux 6.3, whose kernels round the memory of headers up, so that it does not show there.
    """
    payload = b"x" * 100
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            socket.create_connection(listener.getsockname()) as sender,
        ):
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            sender.send(payload)
            fields = sender.getsockopt(socket.SOL_SOCKET, MEMORY, 4 * FIELDS)
    except OSError:
        return None
    return overhead_in(fields, len(payload))


def overhead_in(fields: bytes, payload: int) -> int | None:
    """What ``SO_MEMINFO`` counts beside ``payload`` bytes in one segment; None if that cannot be."""
    if len(fields) != 4 * FIELDS:
        return None
    found: int = struct.unpack(f"{FIELDS}I", fields)[QUEUED] - payload - DESCRIPTION
    return found if found in OVERHEADS else None
