"""The access log of a run's server, kept beside the tables of the run:

    POINT/access_log/run-0.log

It comes after them and leaves them room, so that no figure is lost for a log.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import BinaryIO

from waspbench.results.whole_files import NotWrittenError, write_whole

LONGEST_LINE = 1 << 16
"""Bytes in which a line is sure to end: servers take no request line and header of this length."""


def log_path(point: Path, run: int) -> Path:
    """Where the access log of run ``run`` is."""
    return point / "access_log" / f"run-{run}.log"


def keep(log: BinaryIO, path: Path) -> list[str]:
    """Copies a log that nobody writes any more to ``path``. If that would take more than half of the room that the disk
    has left, only its beginning is copied, up to the end of a line.

    Returns what is to be noted: what of the log is not kept, and why.
    """
    status = os.fstatvfs(log.fileno())
    notes = ["the access log lacks its end: the server's memory file system was full"] if status.f_bavail == 0 else []
    try:
        kept = write_whole(path, lambda partial: _copy(log, partial))
    except NotWrittenError as error:
        return [*notes, f"the access log is not kept: {error.reason}"]
    size = os.fstat(log.fileno()).st_size
    if kept < size:
        notes.append(
            f"the first {kept:,d} of {size:,d} bytes of the access log are kept: the disk has little room left"
        )
    return notes


def _copy(log: BinaryIO, target: Path) -> int:
    """Copies what there is room for; returns how many bytes were copied."""
    size, most = os.fstat(log.fileno()).st_size, shutil.disk_usage(target.parent).free // 2
    length = size if size <= most else _end_of_line(log, most)
    done = 0
    with target.open("wb") as copy:
        while sent := os.sendfile(copy.fileno(), log.fileno(), done, length - done):
            done += sent
    return done


def _end_of_line(log: BinaryIO, most: int) -> int:
    """Where the last line ends that is within the first ``most`` bytes."""
    start = max(0, most - LONGEST_LINE)
    return start + os.pread(log.fileno(), most - start, start).rfind(b"\n") + 1
