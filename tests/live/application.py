"""An application with a few answers: ``python application.py ADDRESS PORT``. It refuses what it does not understand.

POST /orders      201 if the body is the JSON that it expects, of this type; else 400
GET /chunked      a text over two chunks
GET /close        a text, and the end of the connection after it
GET /wrong        200, and an error in the body
POST /login       200 for a user with the password of that user, and an id that was not there before; else 403
PUT /files        204 for a body of 100,000 bytes; else 400
DELETE /items/7   204
HEAD /items/7     the head of an answer of 12 bytes
anything else     404
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar


class Application(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    seen: ClassVar[set[tuple[str, ...]]] = set()

    def log_message(self, format: str, *args: object) -> None:
        """Keeps quiet."""

    def answer(self, status: int, body: bytes = b"", **fields: str) -> None:
        """Sends an answer whose length is told."""
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        """What came with the request."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_POST(self) -> None:
        """An order."""
        body = self.body()
        if self.path.startswith("/login?user="):
            fits = self.knows(self.path.partition("=")[2], json.loads(body))
            self.answer(200 if fits else 403, b"welcome" if fits else b"who?")
            return
        typed = self.headers.get("Content-Type") == "application/json"
        fits = self.path == "/orders" and typed and json.loads(body) == {"item": 7, "count": 1}
        self.answer(201 if fits else 400, b'{"state": "accepted"}' if fits else b"what?")

    def knows(self, user: str, login: dict[str, str]) -> bool:
        """Whether the password is that of the user, and the request a new one."""
        key = (self.headers["X-Client"], self.headers["X-Request"], self.headers["X-Id"])
        is_new = key not in self.seen and all(key[2] != each[2] for each in self.seen)
        self.seen.add(key)
        return is_new and login == {"user": user, "password": f"{user}'s, secret"}

    def do_PUT(self) -> None:
        """An upload."""
        self.answer(204 if len(self.body()) == 100_000 else 400)

    def do_DELETE(self) -> None:
        """An item that goes."""
        self.answer(204 if self.path == "/items/7" else 404)

    def do_HEAD(self) -> None:
        """An item, of which only the head is sent."""
        self.send_response(200)
        self.send_header("Content-Length", "12")
        self.end_headers()

    def do_GET(self) -> None:
        """What can be read."""
        if self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"6\r\nbefore\r\n")
            self.wfile.write(b"9\r\nhand text\r\n0\r\n\r\n")
        elif self.path == "/close":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"a text to the end")
            self.close_connection = True
        elif self.path == "/wrong":
            self.answer(200, b'{"error": "no such thing"}')
        else:
            self.answer(404, b"nothing here")


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Application).serve_forever()
