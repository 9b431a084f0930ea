"""The closed-loop client over the kernel's TCP, in a process of its own: ``python -m waspbench.fetch OPTIONS``.

OPTIONS is an `Order` as JSON. What was fetched goes to standard output as `ROW`s. A testbed starts it by this module in
the namespace of the clients, so it imports little.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass

from waspbench import _core

ROW = (("start", "<u8"), ("end", "<u8"), ("status", "<u8"), ("bytes", "<u8"))
"""The columns of a request that came to its end, as numpy names them: start and end in nanoseconds of CLOCK_MONOTONIC,
the status code (0: no whole response), bytes of the body.
"""


@dataclass(frozen=True)
class Order:
    """What to fetch. Instants are nanoseconds of CLOCK_MONOTONIC."""

    address: str
    port: int
    path: str
    first_source: str
    """The first address that connections come from; those that follow have the next ones."""
    sources: int
    """How many addresses there are, which the lanes use in turn."""
    lanes: int
    """Connections at once."""
    requests_per_connection: int | None
    """None keeps connections."""
    pause: int
    """Mean of the exponential pauses between two connections of a lane, in nanoseconds."""
    begin: int
    """When the first lane begins."""
    spread: int
    """In how many nanoseconds all of them do."""
    end: int
    """When all end."""

    def argv(self) -> list[str]:
        """The command that carries it out."""
        # -P: a file in the current directory must not be taken for a module.
        return [sys.executable, "-P", "-m", "waspbench.fetch", json.dumps(asdict(self))]


def main(arguments: list[str]) -> int:
    """Entry of the process; returns the exit status."""
    order = Order(**json.loads(arguments[0]))
    try:
        fetched = _core.fetch(**asdict(order))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.buffer.write(fetched)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
