"""One process at a time makes the runs of a directory."""

from __future__ import annotations

import errno
import fcntl
import os
import weakref
from pathlib import Path

from waspbench.closeable import Closeable
from waspbench.errors import InputError


class DirectoryLock(Closeable):
    """Held by whoever makes runs in a directory, and taken by the kernel from who ends in whatever way."""

    def __init__(self, directory: Path) -> None:
        """Takes it.

        Raises:
            InputError: somebody else has it.
        """
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._give_back = weakref.finalize(self, os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno != errno.EWOULDBLOCK:
                return  # a file system that has no locks
            self.close()
            message = "its runs are being made by another process; wait until that has ended"
            raise InputError.at(str(directory), message) from None

    def close(self) -> None:
        """Gives it back, as often as you like."""
        self._give_back()
