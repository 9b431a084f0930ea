"""The built-in web server in a process of its own: ``python -m waspbench.serve ADDRESS PORT [CONTENT]``.

It serves ``/N`` as N bytes until SIGINT or SIGTERM, and what the file CONTENT tells in JSON. A testbed starts it by
this module, so it imports little.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from waspbench import _core

Answer = tuple[str, str, bool, int, list[tuple[str, str]], str, int]
"""Method and target of a request, and whether the target is a regular expression; status of its answer, header fields,
what the body begins with, and its size.
"""


def argv(address: str, port: int, content: str | None = None) -> list[str]:
    """The command that serves at ``address`` and ``port`` what the file at ``content`` tells."""
    # -P: a file in the current directory must not be taken for a module.
    told = [] if content is None else [content]
    return [sys.executable, "-P", "-m", "waspbench.serve", address, str(port), *told]


def content_of(files: Mapping[str, int], answers: Sequence[Answer]) -> str:
    """The text of such a file: ``files`` are sizes by path."""
    return json.dumps({"files": files, "answers": answers})


def read_content(text: str) -> tuple[dict[str, int], list[Answer]]:
    """The files and the answers in such a text."""
    found = json.loads(text)
    answers: list[Answer] = [
        (method, target, is_pattern, status, [(name, value) for name, value in headers], text, size)
        for method, target, is_pattern, status, headers, text, size in found["answers"]
    ]
    return found["files"], answers


def environment() -> dict[str, str]:
    """What that command needs to find this package."""
    root = Path(__file__).resolve().parents[1]
    return {} if root.name in ("site-packages", "dist-packages") else {"PYTHONPATH": str(root)}


def serve(
    address: str,
    port: int,
    on_listening: Callable[[str], object] | None = None,
    files: Mapping[str, int] | None = None,
    answers: Sequence[Answer] = (),
) -> None:
    """Serves until SIGINT or SIGTERM, which it takes over for the rest of this process's life.

    ``on_listening`` gets the URL once connections are accepted. ``files`` are sizes by path; their content is made up.
    ``answers`` go before files.

    Raises:
        ValueError: the address is not one.
        OSError: the address cannot be listened on.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        # The server's handler calls the one before it, and Python's would raise KeyboardInterrupt at the end.
        signal.signal(number, signal.SIG_DFL)
    _core.serve(address, port, on_listening, files, answers)


if __name__ == "__main__":
    told = read_content(Path(sys.argv[3]).read_text(encoding="utf-8")) if len(sys.argv) > 3 else (None, [])
    serve(sys.argv[1], int(sys.argv[2]), files=told[0], answers=told[1])
