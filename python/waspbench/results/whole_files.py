"""Files that appear whole or not at all, and the directories above them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from waspbench.errors import RunFailedError

T = TypeVar("T")


class NotWrittenError(RunFailedError):
    """A file could not be written.

    Attributes:
        path: the file.
        reason: why.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: cannot be written: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.reason)


def write_whole(path: Path, write: Callable[[Path], T]) -> T:
    """Puts a file at ``path``: ``write`` is told where beside it, the file is synced, and renamed. Returns what
    ``write`` does.

    Raises:
        NotWrittenError: the disk is full or cannot be written; what was there is as it was.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        written = write(partial)
        _sync(partial)
        partial.rename(path)
        _sync(path.parent)
        return written
    except OSError as error:
        raise NotWrittenError(path, error.strerror or str(error)) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def make_above(directory: Path) -> None:
    """Makes the directories above one that are missing.

    Those that root makes belong to the owner of the directory that they are in, where root may give them away: what
    `sudo wasp` leaves is a `results` in which its user can go on. What is in it stays root's, which writes there.

    Raises:
        OSError: one cannot be made.
    """
    for missing in reversed([each for each in directory.parents if not each.exists()]):
        with suppress(FileExistsError):
            missing.mkdir()
            _hand_over(missing)


def _hand_over(made: Path) -> None:
    """Gives a directory that was just made to the owner of the one above."""
    if os.geteuid() != 0:
        return
    with suppress(OSError):
        above = made.parent.stat()
        descriptor = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            # Who has the directory above may have put another one in its place.
            if above.st_uid != 0 and os.fstat(descriptor).st_uid == 0 and not os.listdir(descriptor):
                os.fchown(descriptor, above.st_uid, above.st_gid)
        finally:
            os.close(descriptor)


class Room:
    """Room on the disk that is taken beforehand, so that a disk that tables fill still takes what says so."""

    NAME = ".room"

    def __init__(self, directory: Path, size: int) -> None:
        """Room for ``size`` bytes in ``directory``."""
        self._path = directory / self.NAME
        self._size = size

    def take(self) -> None:
        """Takes it.

        Raises:
            NotWrittenError: the disk has not so much.
        """
        try:
            with self._path.open("ab") as file:
                os.posix_fallocate(file.fileno(), 0, self._size)
        except OSError as error:
            self.release()
            raise NotWrittenError(self._path.parent, error.strerror or str(error)) from None

    def release(self) -> None:
        """Gives it back, if it was taken."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
