"""The files that a managed server serves: made in memory, the same bytes everywhere."""

import os
import random
from collections.abc import Iterable
from pathlib import Path

from waspbench.testbed.errors import TestbedError

CONTENTS = ("random", "zero")

_PERIOD = 65_521
"""Bytes until the random content repeats: a prime that is longer than a gzip window, so that nothing compresses."""


def content(size: int, kind: str = "random") -> bytes:
    """The bytes of a file: zeros, or the first `size` of one fixed incompressible sequence.

    Raises:
        TestbedError: no such kind of content.
    """
    if kind == "zero":
        return bytes(size)
    if kind != "random":
        raise TestbedError.at("content", f"{kind!r} is not a kind of content: {' or '.join(CONTENTS)} would be valid")
    block = random.Random(0x57A5_B001).randbytes(_PERIOD)
    return (block * (size // _PERIOD + 1))[:size]


def check(files: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Checks paths and sizes of files to serve.

    Raises:
        TestbedError: names the path that cannot be that of a file, or the size that cannot be one.
    """
    checked: dict[str, int] = {}
    for path, size in files:
        parts = path.split("/")
        odd = any(part in ("", ".", "..") for part in parts[1:]) or {"?", "#", "\0"} & set(path)
        if odd or not path.startswith("/"):
            raise TestbedError.at(
                "workload.files", f"{path!r} cannot be the path of a file: '/1024' or '/a/b.html' would be valid"
            )
        if size < 0:
            raise TestbedError.at("workload.files", f"{path}: {size} is not a size in bytes: 0 or more would be valid")
        if checked.setdefault(path, size) != size:
            raise TestbedError.at("workload.files", f"{path} is asked for with {checked[path]} and with {size} bytes")
    return sorted(checked.items())


def write(root: str, files: Iterable[tuple[str, int]], kind: str) -> None:
    """Writes files below a directory.

    Raises:
        TestbedError: memory is full, or one file's path is another's directory.
    """
    for path, size in files:
        target = Path(root + path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if kind == "zero":
                # A hole: it reads as zeros and takes no memory.
                with target.open("wb") as file:
                    os.truncate(file.fileno(), size)
            else:
                target.write_bytes(content(size, kind))
        except OSError as error:
            raise TestbedError.at("workload.files", f"{path} ({size} bytes) cannot be made: {error.strerror}") from None
