"""A shop that knows its users by a cookie and a token: ``python shop.py ADDRESS PORT``.

POST /account/sign-in  200 with a token in the body, and two cookies: one for all paths, one for those below /account
POST /orders           303 with the place of the order in Location, for a user with the cookie and the token; else 401
GET /orders/N?key=K&for=F   200 for the user who has made that order for F; else 404
GET /account/          200 with both cookies; else 401
"""

from __future__ import annotations

import json
import secrets
import sys
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit


class Shop(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    users: ClassVar[dict[str, tuple[str, str]]] = {}
    orders: ClassVar[dict[str, tuple[str, str, str]]] = {}

    def log_message(self, format: str, *args: object) -> None:
        """Keeps quiet."""

    def answer(self, status: int, body: dict[str, str], *fields: tuple[str, str]) -> None:
        """Sends an answer in JSON."""
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (*fields, ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def cookies(self) -> dict[str, str]:
        """The cookies of the request."""
        jar: SimpleCookie = SimpleCookie(self.headers.get("Cookie", ""))
        return {name: morsel.value for name, morsel in jar.items()}

    def do_POST(self) -> None:
        """A user who signs in, or an order."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/account/sign-in":
            session, token = secrets.token_hex(16), secrets.token_urlsafe(900)
            self.users[session] = (body["user"], token)
            fields = [f"session={session}; Path=/; HttpOnly; Secure", "area=account", "old=1; Max-Age=0"]
            self.answer(200, {"token": token}, *(("Set-Cookie", field) for field in fields))
            return
        cookies = self.cookies()
        user, token = self.users.get(cookies.get("session", ""), ("", ""))
        fits = user == body["user"] and self.headers.get("Authorization") == f"Bearer {token}" and len(cookies) == 1
        if not fits:
            self.answer(401, {"error": "who?"})
            return
        key, number = secrets.token_hex(4), str(len(self.orders))
        self.orders[number] = (user, key, body["for"])
        host = self.headers["Host"]
        self.answer(303, {}, ("Location", f"http://{host}/orders/{number}?key={key}"))

    def do_GET(self) -> None:
        """An order, or the account."""
        cookies = self.cookies()
        user = self.users.get(cookies.get("session", ""), ("", ""))[0]
        if self.path == "/account/":
            known = user and cookies.get("area") == "account" and len(cookies) == 2
            self.answer(200 if known else 401, {"state": "signed in" if known else "who?"})
            return
        asked = urlsplit(self.path)
        query = parse_qs(asked.query)
        order = (user, query["key"][0], query["for"][0])
        found = self.orders.get(asked.path.removeprefix("/orders/")) == order
        self.answer(200 if found else 404, {"state": "accepted" if found else "none"})


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Shop).serve_forever()
