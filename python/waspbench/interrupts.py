"""Interrupts (Ctrl-C, SIGTERM, SIGHUP) while something is written that must be whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def postponed() -> Iterator[None]:
    """Lets an interrupt that comes meanwhile take effect at the end."""
    came: list[int] = []
    try:
        with _handled_by(lambda number, frame: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])


@contextmanager
def ignored() -> Iterator[None]:
    """Ignores interrupts: a second Ctrl-C must not throw away what is being written because of the first."""
    with _handled_by(lambda number, frame: None):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Puts ``handler`` in the place of the handlers that are Python's; only the main thread has any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: found for number in SIGNALS if callable(found := signal.getsignal(number))}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, found in before.items():
            signal.signal(number, found)
