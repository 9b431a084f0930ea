"""Sockets that listen in the current network namespace, from /proc/net/tcp and tcp6."""

import ipaddress
import sys
from dataclasses import dataclass
from pathlib import Path


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


def parse(table: str) -> list[Listener]:
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


def read() -> list[Listener]:
    """The sockets that listen in the current network namespace."""
    return [listener for name in ("tcp", "tcp6") for listener in parse(_text(f"/proc/net/{name}"))]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
