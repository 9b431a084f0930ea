"""Where a server is that runs already: the URL, as far as a live run can follow it."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from waspbench.experiment.units import url_path


@dataclass(frozen=True)
class Location:
    """A checked URL in its parts."""

    host: str
    """A name, or an IPv4 address."""
    port: int
    authority: str
    """Host and port as they stand in the URL: what the `Host` field says."""
    target: str
    """Path and query: what is asked for."""

    @classmethod
    def of(cls, url: str) -> Location:
        """The parts of a URL.

        Raises:
            ValueError: it is none that can be measured; the message says what would be valid.
        """
        parts = _split(url)
        host = parts.hostname or ""
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        url_path(target)
        return cls(host, parts.port or 80, parts.netloc, target)

    def address(self) -> str:
        """The host's first IPv4 address.

        Raises:
            OSError: the name is not known.
        """
        found = socket.getaddrinfo(self.host, self.port, socket.AF_INET, socket.SOCK_STREAM)
        return str(found[0][4][0])


def checked_url(value: Any) -> str:
    """Checks that a value is a URL that can be measured, and returns it as it is.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, str):
        raise ValueError("must be a URL, such as http://127.0.0.1:8080/index.html")
    Location.of(value)
    return value


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"not a URL: {str(error).lower()}") from None
    if parts.scheme == "https":
        raise ValueError("https:// comes in a later version; http:// is valid now")
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError("must be a URL, such as http://127.0.0.1:8080/index.html")
    if port == 0 or "@" in parts.netloc or parts.fragment:
        raise ValueError("must have no user, no port 0 and no fragment (#)")
    if ":" in parts.hostname:
        raise ValueError("IPv6 comes in a later version; an IPv4 address or a name is valid now")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", parts.hostname):
        raise ValueError("must name a host by letters, digits, '.', '_' and '-', or by its IPv4 address")
    if re.fullmatch(r"[0-9.]+", parts.hostname):
        ipaddress.IPv4Address(parts.hostname)
    return parts
