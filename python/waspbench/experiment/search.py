"""How capacity is searched."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Search:
    """How capacity is searched."""

    method: str = "search"
    """search, or sweep: the paper's powers of two."""
    low: int = 8
    high: int = 4096
    most: int = 15
    """Runs of a search at most, for each point."""
    confirm: int = 4
    """Fresh runs of a search at the load that it found."""
    objectives: tuple[str, ...] = ()
