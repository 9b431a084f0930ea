"""Where the files of results are: in a directory that was named, or in one that is removed with the results."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any


class Files:
    """Where files are: in a directory that is named from a path, or in the temporary directory of an owner. That is no
    part of what results say: all of these are equal, and copies share them. What is sent to another process goes
    without temporary files.
    """

    def __init__(self, path: Path | None, owner: _Owner | None = None) -> None:
        self._path = path
        self._owner = owner

    @classmethod
    def here(cls) -> Files:
        """Those of a directory that is named from where the process is now."""
        try:
            return cls(Path.cwd())
        except FileNotFoundError:
            return cls(None)

    @classmethod
    def temporary(cls) -> Files:
        """Those of a new directory, which is there for as long as anything has it, and is removed with the last, or
        when the process ends.

        Raises:
            OSError: there is no room for it.
        """
        path = Path(tempfile.mkdtemp(prefix="waspbench-"))
        return cls(path, _Owner(path))

    @classmethod
    def of_another(cls, path: Path) -> Files | None:
        """Those at ``path`` in a directory of this process that is removed with the last that has it; None if it is in
        none.
        """
        place = path.resolve()
        owners = (_OWNERS.get(above) for above in (place, *place.parents))
        owner = next((owner for owner in owners if owner is not None), None)
        return None if owner is None else cls(path, owner)

    def at(self, path: Path) -> Files:
        """Those below ``path``, which is in the same directory."""
        return Files(path, self._owner)

    def directory(self, named: str | None) -> Path | None:
        """Where they are: in the directory that was ``named``, if one was."""
        if named:
            return Path(named) if self._path is None else self._path / named
        return None if self._owner is None else self._path

    def remove(self) -> None:
        """Removes a temporary directory now."""
        if self._owner is not None:
            self._owner.remove()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Files)

    def __hash__(self) -> int:
        return hash(Files)

    def __deepcopy__(self, memo: Any) -> Files:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Files, (self._path if self._owner is None else None,)


class _Owner:
    """Removes a directory when nothing has it any more. A forked process leaves it to the one that made it."""

    def __init__(self, path: Path) -> None:
        _OWNERS[path.resolve()] = self
        self.remove = weakref.finalize(self, _remove, path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


_OWNERS: weakref.WeakValueDictionary[Path, _Owner] = weakref.WeakValueDictionary()
