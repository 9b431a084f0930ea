"""Files that named requests use: whose lines are values of placeholders, or that are bodies."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from waspbench import _core
from waspbench.errors import InputError
from waspbench.experiment.model import Experiment
from waspbench.experiment.requests import BodyTable, Request, Requests
from waspbench.experiment.uses import uses

MOST = 16 << 20
"""Bytes of a file; a longer one is refused."""
MOST_TOGETHER = 256 << 20
"""Bytes of all files of an experiment."""


def contents(experiments: Iterable[Experiment], read: Callable[[str, str], bytes]) -> dict[str, bytes]:
    """The content of every file that the named requests of some experiments use, by its path. ``read`` reads a path,
    which a field names.

    Raises:
        InputError: they are too long together, or one cannot be read.
    """
    found: dict[str, bytes] = {}

    def content(path: str, field: str) -> bytes:
        if path not in found:
            found[path] = read(path, field)
            if sum(map(len, found.values())) > MOST_TOGETHER:
                raise InputError.at(field, f"{path}: all files of requests together may have {MOST_TOGETHER:,d} bytes")
        return found[path]

    for experiment in experiments:
        for use in uses(experiment):
            if isinstance(use.workload, Requests):
                _read_all(use.workload, use.field, content)
    return found


def _read_all(workload: Requests, field: str, content: Callable[[str, str], bytes]) -> None:
    """Reads what the requests of a workload at ``field`` use."""
    for request in workload.requests:
        at = f"{field}.requests.{request.name}"
        texts = list(_texts(request))
        if isinstance(request.body, BodyTable) and request.body.file is not None:
            body = content(workload.path_of(request.body.file), f"{at}.body.file")
            # The engine says if it is no text.
            texts += [("body.file", body.decode(errors="replace"))] if request.body.template else []
        for name, text in texts:
            for file in _core.files_of_text(text):
                content(workload.path_of(file), f"{at}.{name}")


def _texts(request: Request) -> Iterator[tuple[str, str]]:
    """The templates of a request by their fields, but for a body that is in a file."""
    yield "path", request.path
    yield from ((f"headers.{name}", value) for name, value in request.headers.items())
    if isinstance(request.body, str):
        yield "body", request.body
    elif request.body is not None and request.body.text is not None and request.body.template:
        yield "body.text", request.body.text


def encoded(files: Mapping[str, bytes]) -> dict[str, str]:
    """Contents of files as the engine takes them: in base64."""
    return {path: b64encode(content).decode() for path, content in files.items()}


def described(scenario: dict[str, Any]) -> dict[str, Any]:
    """``scenario`` as results keep it: of each file its SHA-256 and size in place of its content."""
    if "files" not in scenario:
        return scenario
    return {**scenario, "files": {path: _about(b64decode(text)) for path, text in scenario["files"].items()}}


def _about(content: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
