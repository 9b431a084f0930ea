"""A server that misbehaves: ``python misbehaving.py ADDRESS PORT CLIENTS BEHAVIOUR...``.

Clients are told apart by their addresses: the first CLIENTS meet the first behaviour, the next CLIENTS the second...
With one behaviour of `LISTENING` in place of all, it is the listening socket that misbehaves.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FOR_EVER = 3600.0


def reset(connection: socket.socket) -> None:
    """Closes so that the kernel sends RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def request(connection: socket.socket) -> bytes:
    """Reads one request; empty at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return b""
        data += more
    return data


def healthy(connection: socket.socket) -> None:
    while request(connection):
        connection.sendall(HEAD % 5 + b"hello")


def answering(*pieces: bytes, pause: float = 0.0) -> Callable[[socket.socket], None]:
    """Answers the first request with these pieces, and closes."""

    def answer(connection: socket.socket) -> None:
        request(connection)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause)

    return answer


def resetting(*pieces: bytes) -> Callable[[socket.socket], None]:
    """The same, but ends by a reset."""

    def answer(connection: socket.socket) -> None:
        answering(*pieces, pause=0.05)(connection)
        reset(connection)

    return answer


def silent(connection: socket.socket) -> None:
    request(connection)
    time.sleep(FOR_EVER)


def deaf(connection: socket.socket) -> None:
    """Never reads: the window closes and stays closed."""
    time.sleep(FOR_EVER)


def drip(connection: socket.socket) -> None:
    request(connection)
    for byte in HEAD % 1000 + bytes(1000):
        connection.sendall(bytes([byte]))
        time.sleep(1)


def flood(connection: socket.socket) -> None:
    """A head without an end."""
    request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-Filler: " + b"x" * 1000 + b"\r\n")


def keeps_for_one(connection: socket.socket) -> None:
    """Keeps the connection after its first request, and closes it on the second."""
    request(connection)
    connection.sendall(HEAD % 5 + b"hello")
    request(connection)


def too_long(connection: socket.socket) -> None:
    """More body than was announced, on a connection that is kept."""
    while request(connection):
        connection.sendall(HEAD % 5 + b"hello, and more than that")


def sends_on(connection: socket.socket) -> None:
    """Goes on sending after the client has had its response and closed."""
    request(connection)
    connection.sendall(HEAD % 5 + b"hello")
    while True:
        connection.sendall(bytes(1000))
        time.sleep(0.01)


BEHAVIOURS: dict[str, Callable[[socket.socket], None]] = {
    "healthy": healthy,
    "reset-at-once": reset,
    "reset-after-request": resetting(),
    "reset-in-head": resetting(b"HTTP/1.1 200"),
    "reset-in-body": resetting(HEAD % 1000, bytes(500)),
    "keeps-for-one": keeps_for_one,
    "silent": silent,
    "drip": drip,
    "garbage": answering(bytes(range(256)) * 8),
    "head-without-end": flood,
    "length-too-large": answering(HEAD % 1000 + bytes(500)),
    "length-too-small": too_long,
    "length-twice": answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
    "bad-chunk-size": answering(CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n"),
    "bad-chunk-end": answering(CHUNKED + b"5\r\nhelloXX0\r\n\r\n"),
    "huge-chunk-size": answering(CHUNKED + b"fffffffffffffffff\r\nhello"),
    "chunks-cut-off": answering(CHUNKED + b"5\r\nhello\r\n5\r\nhe"),
    "closes-at-once": lambda connection: None,
    "closes-after-request": answering(),
    "closes-in-head": answering(b"HTTP/1.1 200 OK\r\nContent-"),
    "sends-on": sends_on,
    "deaf": deaf,
}

LISTENING = ("refuses", "comes-back", "dies")
"""Behaviours of the whole server: it goes a second after its first connection; one comes back half a second later."""


class Server:
    def __init__(self, address: str, port: int, behaviours: list[str], each: int) -> None:
        self.place = (address, port)
        self.behaviours = behaviours
        self.each = each
        self.first = int(ipaddress.ip_address(address)) + 1

    def listen(self) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.behaviours == ["deaf"]:
            # The window that a connection begins with comes from here: too small for the request.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        listener.bind(self.place)
        listener.listen(1024)
        return listener

    def serve(self) -> None:
        listener = self.listen()
        whole = self.behaviours[0] if self.behaviours[0] in LISTENING else None
        away = None
        while True:
            connection, peer = listener.accept()
            if whole and away is None:
                away = time.monotonic() + 1
                listener.settimeout(0.1)
            if away is not None and time.monotonic() > away:
                connection.close()
                listener = self.leave(listener, str(whole))
                whole, away = None, None
                continue
            place = (int(ipaddress.ip_address(peer[0])) - self.first) // self.each
            behaviour = BEHAVIOURS.get(self.behaviours[place], healthy)
            connection.settimeout(None)
            threading.Thread(target=self.meet, args=(behaviour, connection), daemon=True).start()

    def leave(self, listener: socket.socket, how: str) -> socket.socket:
        if how == "dies":
            os._exit(7)
        listener.close()
        time.sleep(0.5 if how == "comes-back" else FOR_EVER)
        return self.listen()

    def meet(self, behaviour: Callable[[socket.socket], None], connection: socket.socket) -> None:
        with connection:
            try:
                behaviour(connection)
            except OSError:
                return  # the client has gone


if __name__ == "__main__":
    Server(sys.argv[1], int(sys.argv[2]), sys.argv[4:], int(sys.argv[3])).serve()
