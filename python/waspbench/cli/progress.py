"""Progress on standard error: one line a second, rewritten in place on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from waspbench.session import Progress


class ProgressLine:
    """Shows progress on ``stream``. As a context manager it leaves the terminal's line clean."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._in_place = stream.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_place:
            self._write("\r\x1b[K")

    def __call__(self, progress: Progress) -> None:
        """Shows ``progress``."""
        line = text_of(progress)
        self._write(f"\r\x1b[K{line}" if self._in_place else f"{line}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def text_of(progress: Progress, what: str | None = None) -> str:
    """One line of at most 79 characters; ``what`` is said of the run in place of its number."""
    phase = "measuring" if progress.measuring else "warm-up"
    return (
        f"{what or f'run {progress.run + 1}/{progress.runs}'}  {progress.elapsed:5.0f} s {phase:<9}"
        f"  {progress.throughput:8,.0f} ok/s  {progress.in_flight:6,d} in flight  {progress.errors:,d} errors"
    )
