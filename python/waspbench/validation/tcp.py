"""Everything that TCP is held to."""

from __future__ import annotations

from collections.abc import Callable

from waspbench.validation import bulk, latency, linux, paper2001, reno
from waspbench.validation.page import Table

SIMULATED: tuple[Callable[[], Table], ...] = (
    latency.slow_start,
    latency.cardwell,
    bulk.pftk,
    bulk.variants,
    bulk.cubic,
    paper2001.variants,
)
LIVE: tuple[Callable[[], Table], ...] = (linux.compare, reno.compare)


def validate_tcp(live: bool, say: Callable[[str], None]) -> tuple[list[Table], list[Table] | None]:
    """Measures everything: the simulated tables, and those against a live kernel if asked for.

    Args:
        live: compare with the kernel of this machine too.
        say: told of each table when it is done.
    """

    def measured(measures: tuple[Callable[[], Table], ...]) -> list[Table]:
        tables = []
        for measure in measures:
            tables.append(measure())
            say(f"{tables[-1].title}: bars met: {tables[-1].summary}")
        return tables

    return measured(SIMULATED), measured(LIVE) if live else None
