"""The built-in web server in a process of its own: ``python -m waspbench.serve ADDRESS PORT [FILES]``.

It serves ``/N`` as N bytes until SIGINT or SIGTERM, and the files that FILES lists, a size and a path on each line. A
testbed starts it by this module, so it imports little.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from waspbench import _core


def argv(address: str, port: int, files: str | None = None) -> list[str]:
    """The command that serves at ``address`` and ``port`` what the list at ``files`` names."""
    # -P: a file in the current directory must not be taken for a module.
    listed = [] if files is None else [files]
    return [sys.executable, "-P", "-m", "waspbench.serve", address, str(port), *listed]


def listing(files: Mapping[str, int]) -> str:
    """The text of a list of files: sizes by path."""
    return "".join(f"{size} {path}\n" for path, size in files.items())


def listed(text: str) -> dict[str, int]:
    """The files in such a text."""
    lines = (line.split(" ", 1) for line in text.splitlines())
    return {path: int(size) for size, path in lines}


def environment() -> dict[str, str]:
    """What that command needs to find this package."""
    root = Path(__file__).resolve().parents[1]
    return {} if root.name in ("site-packages", "dist-packages") else {"PYTHONPATH": str(root)}


def serve(
    address: str,
    port: int,
    on_listening: Callable[[str], object] | None = None,
    files: Mapping[str, int] | None = None,
) -> None:
    """Serves until SIGINT or SIGTERM, which it takes over for the rest of this process's life.

    ``on_listening`` gets the URL once connections are accepted. ``files`` are sizes by path; their content is made up.

    Raises:
        ValueError: the address is not one.
        OSError: the address cannot be listened on.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        # The server's handler calls the one before it, and Python's would raise KeyboardInterrupt at the end.
        signal.signal(number, signal.SIG_DFL)
    _core.serve(address, port, on_listening, files)


if __name__ == "__main__":
    known = listed(Path(sys.argv[3]).read_text(encoding="utf-8")) if len(sys.argv) > 3 else None
    serve(sys.argv[1], int(sys.argv[2]), files=known)
