"""A TCP client of forty lines on the other side of the TUN device."""

import ipaddress
import os
import select
import struct
import time
from collections.abc import Callable

from waiting import HANGS

Fetch = Callable[[int, str], bytes]

SERVER = ipaddress.IPv4Address("198.18.0.1").packed
CLIENT = ipaddress.IPv4Address("198.18.0.2").packed
FIN, SYN, PSH, ACK = 1, 2, 8, 16


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip_packet(protocol: int, payload: bytes) -> bytes:
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, CLIENT, SERVER)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


class Peer:
    """Sends and receives frames (10-byte virtio header, then an IP packet) on a descriptor."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._port = 40_000

    def send(self, packet: bytes) -> None:
        os.write(self._device, bytes(10) + packet)

    def receive(self, protocol: int) -> bytes:
        """The payload of the next IP packet of a protocol."""
        deadline = time.monotonic() + HANGS
        while True:
            assert select.select([self._device], [], [], max(0, deadline - time.monotonic()))[0], "nothing arrives"
            packet = os.read(self._device, 70_000)[10:]
            if packet[0] >> 4 == 4 and packet[9] == protocol:
                return packet[(packet[0] & 15) * 4 :]

    def ping(self) -> bytes:
        echo = struct.pack("!BBHHH", 8, 0, 0, 1, 1) + b"are you there"
        self.send(ip_packet(1, echo[:2] + struct.pack("!H", checksum(echo)) + echo[4:]))
        return self.receive(1)

    def fetch(self, port: int, path: str) -> bytes:
        """One HTTP/1.0 exchange, for as long as the server keeps the connection; nothing is ever lost here."""
        # A new port each time: the server keeps the old one in TIME_WAIT.
        self._port += 1
        local, sent, expected = self._port, 1_000, 0

        def segment(flags: int, payload: bytes = b"") -> None:
            tcp = struct.pack("!HHIIBBHHH", local, port, sent, expected, 0x50, flags, 65_535, 0, 0) + payload
            pseudo = CLIENT + SERVER + struct.pack("!BBH", 0, 6, len(tcp))
            self.send(ip_packet(6, tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]))

        def answer() -> bytes:
            while struct.unpack("!H", (tcp := self.receive(6))[2:4])[0] != local:
                pass  # the last words of the connection before
            return tcp

        segment(SYN)
        expected = (int(struct.unpack("!I", answer()[4:8])[0]) + 1) % 2**32
        sent += 1
        request = f"GET {path} HTTP/1.0\r\n\r\n".encode()
        segment(ACK | PSH, request)
        sent += len(request)
        received = b""
        while True:
            tcp = answer()
            sequence, flags = int(struct.unpack("!I", tcp[4:8])[0]), tcp[13]
            payload = tcp[(tcp[12] >> 4) * 4 :]
            if sequence != expected:
                continue
            received += payload
            expected = (expected + len(payload) + (flags & FIN)) % 2**32
            segment(ACK | (flags & FIN))
            if flags & FIN:
                return received
