"""What may be asked of a figure besides its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Log = Literal["x", "y", "xy", "none"]
"""The axes that are logarithmic."""


@dataclass(frozen=True)
class Options:
    """Which swept fields are where in a figure; what is not given follows from the results."""

    x: str | None = None
    """The swept field along the axis, such as ``clients.rtt``."""
    by: tuple[str, ...] = ()
    """Swept fields whose values are families of curves; the others become panels."""
