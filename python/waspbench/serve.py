"""The built-in web server in a process of its own: ``python -m waspbench.serve ADDRESS PORT``.

It serves ``/N`` as N bytes until SIGINT or SIGTERM. A testbed starts it by this module, so it imports little.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

from waspbench import _core


def argv(address: str, port: int) -> list[str]:
    """The command that serves at ``address`` and ``port``."""
    # -P: a file in the current directory must not be taken for a module.
    return [sys.executable, "-P", "-m", "waspbench.serve", address, str(port)]


def environment() -> dict[str, str]:
    """What that command needs to find this package."""
    root = Path(__file__).resolve().parents[1]
    return {} if root.name in ("site-packages", "dist-packages") else {"PYTHONPATH": str(root)}


def serve(address: str, port: int, on_listening: Callable[[str], object] | None = None) -> None:
    """Serves until SIGINT or SIGTERM, which it takes over for the rest of this process's life.

    ``on_listening`` gets the URL once connections are accepted.

    Raises:
        ValueError: the address is not one.
        OSError: the address cannot be listened on.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        # The server's handler calls the one before it, and Python's would raise KeyboardInterrupt at the end.
        signal.signal(number, signal.SIG_DFL)
    _core.serve(address, port, on_listening)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
