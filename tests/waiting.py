"""What tests wait for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

HANGS = 120.0
"""Seconds after which something hangs, however busy the machine is: for what has no bound of its own."""
SOON = 15.0
"""Seconds after which nothing is left of what has ended, however busy the machine is."""


def eventually(condition: Callable[[], bool], within: float = HANGS) -> bool:
    """Whether a condition comes true within so many seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def lives(pid: int) -> bool:
    """Whether a process is more than a dead one's entry, which waits for its parent to look at it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
