"""Colour on a terminal, for what must not be missed: what failed, what must not be trusted, and verdicts."""

from __future__ import annotations

import os
import sys
from typing import Literal, TextIO

Tone = Literal["good", "bad", "unclear"]

_CODES: dict[Tone, str] = {"good": "32", "bad": "1;31", "unclear": "33"}
"""Select Graphic Rendition of ECMA-48: green, bold red, yellow."""


def paint(text: str, tone: Tone, stream: TextIO | None = None) -> str:
    """``text`` for ``stream`` (standard output unless given), in colour where that is wanted there."""
    return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if is_wanted(sys.stdout if stream is None else stream) else text


def is_wanted(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal that knows colours. The environment overrides that: ``NO_COLOR`` refuses them
    (no-color.org), ``FORCE_COLOR`` asks for them.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def tone_of(passed: bool | None) -> Tone:
    """That of a check: good where it passed, unclear where that is undecided."""
    return "unclear" if passed is None else "good" if passed else "bad"
