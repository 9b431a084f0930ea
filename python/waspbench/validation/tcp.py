"""Everything that the simulated senders are held to."""

from __future__ import annotations

from collections.abc import Callable

from waspbench.validation import bulk, latency, paper2001
from waspbench.validation.page import Table

SIMULATED: tuple[Callable[[], Table], ...] = (
    latency.slow_start,
    latency.cardwell,
    bulk.pftk,
    bulk.variants,
    bulk.cubic,
    paper2001.variants,
)


def validate_tcp(say: Callable[[str], None]) -> list[Table]:
    """Measures all tables; ``say`` is told of each when it is done."""
    tables = []
    for measure in SIMULATED:
        tables.append(measure())
        say(f"{tables[-1].title}: bars met: {tables[-1].summary}")
    return tables
