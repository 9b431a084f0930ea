"""Texts, numbers and colours in plotly.js's JSON."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from waspbench.figures import style
from waspbench.figures.figure import Trace

Plotly = dict[str, Any]
"""An object of plotly.js's JSON."""

PAPER, INK, MUTED, RULE = "#ffffff", "#1b1f24", "#545d68", "#cfd6dd"
DARK = {
    PAPER: "#15181c",
    INK: "#e6e9ed",
    MUTED: "#a9b3be",
    RULE: "#3b444e",
    style.REFERENCES[0]: "#989898",
    style.REFERENCES[1]: "#d0d0d0",
    "#0072b2": "#3a9bdc",
}
"""Colours on dark paper, by those on white paper."""

PIXELS_A_POINT = 4 / 3
DIGITS = 6
"""Significant digits of values: no more can be seen, and a page stays small."""
LINE = 30
"""Letters of what is said of a value before it goes on below."""
LARGE = 100.0
"""The value from which one decimal is said of one that is pointed at, as in tables; of others four digits are."""
SAID = ",.4~r"
"""How plotly writes a value along steps that is pointed at: four digits, without a power of ten."""


def text(of: str) -> str:
    """A text as plotly shows it letter by letter."""
    return html.escape(of, quote=False)


def wrapped(of: str, letters: int) -> str:
    """A text that goes on below after so many letters."""
    return "<br>".join(text(line) for line in textwrap.wrap(of, letters))


def rounded(values: Sequence[float | None]) -> list[float | None]:
    """Values with as many digits as can be seen; null of what is none."""
    return [float(f"{value:.{DIGITS}g}") if value is not None and math.isfinite(value) else None for value in values]


def shown(value: float | None) -> str:
    """A value that is pointed at: one decimal of a large one, as in tables, and else four digits."""
    if value is None:
        return "none"
    return f"{value:,.1f}" if abs(value) >= LARGE else style.number(float(f"{value:.4g}"))


def line_width(trace: Trace) -> float:
    """The width of a line in pixels."""
    return PIXELS_A_POINT * style.reference_width(trace) if trace.kind == "reference" else 2.0
