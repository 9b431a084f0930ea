"""What the engine is told of what an experiment leaves open."""

from __future__ import annotations

DEFAULT_HTTP: dict[str, object] = {
    "version": "1.1",
    "requests_per_connection": None,
    "connections": 1,
    "pipeline": 1,
    "method": "GET",
    "conditional": False,
    "body": None,
    "headers": {},
    "timeout": "60s",
    "next_after": "response",
    "abort": None,
    "read_rate": None,
}
