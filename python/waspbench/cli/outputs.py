"""What a command writes beside the results, and how much it says meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from waspbench.errors import Argument, InputError

if TYPE_CHECKING:
    from waspbench.results.brief import Reported

_NOTHING = "has no effect beside --dry-run, which makes no runs"


def check_new(file: Path, *, force: bool) -> None:
    """Makes sure that a file can be written, and that none is lost.

    Raises:
        InputError: it cannot, or one is there already and ``force`` does not say that it may be written over.
    """
    if file.is_dir():
        raise InputError.at(Argument("output"), "is a directory; name a file", str(file))
    if file.exists() and not force:
        message = "exists already; name a new file, or write over it with --force"
        raise InputError.at(Argument("output"), message, str(file))
    if not file.parent.is_dir():
        raise InputError.at(Argument("output"), "cannot be written: there is no such directory", str(file))


@dataclass(frozen=True)
class Outputs:
    """What is to come out beside the results; ``quiet`` without progress."""

    json: bool = False
    junit: Path | None = None
    markdown: Path | None = None
    quiet: bool = False

    def check(self, *, dry_run: bool = False) -> None:
        """Refuses what a dry run does not write, and files that have no directory."""
        if dry_run and self.json:
            raise InputError.at("--json", _NOTHING)
        for flag, path in (("--junit", self.junit), ("--markdown", self.markdown)):
            if path is not None and dry_run:
                raise InputError.at(flag, _NOTHING, str(path))
            if path is not None and not path.parent.is_dir():
                raise InputError.at(flag, "cannot be written: there is no such directory", str(path))
            if path is not None and path.is_dir():
                raise InputError.at(flag, "cannot be written: it is a directory", str(path))

    def write(self, result: Reported) -> None:
        """Writes the files."""
        from waspbench.results.exports import junit, markdown

        for flag, path, content in (("--junit", self.junit, junit), ("--markdown", self.markdown, markdown)):
            if path is None:
                continue
            try:
                path.write_text(content(result), encoding="utf-8")
            except OSError as error:
                raise InputError.at(flag, f"cannot be written: {error.strerror}", str(path)) from None
