"""What a search for capacity looks for, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["search", "sweep"]
"""A search goes where most is to be gained or told; a sweep goes through the powers of two, as the paper does."""

Find = Literal["throughput", "clients", "rate"]
"""The largest throughput; or the most clients, or the highest rate of arrivals, that meet the objectives."""

FINDS: tuple[Find, ...] = ("throughput", "clients", "rate")

HIGH: dict[Find, int] = {"throughput": 4096, "clients": 16_384, "rate": 65_536}
"""Where a search ends unless told. One under an objective climbs until a load misses it and seldom comes that far; one
for throughput shares out the range.
"""


@dataclass(frozen=True)
class Search:
    """What is looked for, and how."""

    method: Method = "search"
    """search, or sweep: the paper's powers of two, for throughput only."""
    low: float = 8
    """Least load to try: clients in all, or arrivals a second where a rate is to be found."""
    high: float | None = None
    """Most load to try, likewise; 4,096 for throughput, 16,384 clients, or 65,536 arrivals a second unless given."""
    most: int = 15
    """Runs of a search at most, for each point."""
    confirm: int = 4
    """Fresh runs of a search at the load that it found."""
    objectives: tuple[str, ...] = ()
    """Conditions that each run must meet for its load to count, such as "p99 < 1s". Percentiles are those of all
    transactions that ended.
    """
    find: Find = "throughput"
    """The largest throughput, or the most clients or the highest rate of arrivals that meet the objectives."""

    @property
    def top(self) -> float:
        """Most load to try."""
        return HIGH[self.find] if self.high is None else self.high
