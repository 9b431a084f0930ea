"""Progress on standard error: one line, rewritten each second, on a terminal; a line a run elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from waspbench.runner.pipeline import Begun, StudyProgress

WIDTH = 80

SILENCE = 60.0
"""Seconds after which a line says how a run goes on, where there is no terminal: some programs that read it take a
longer silence for a hang.
"""


class ProgressLine:
    """Shows progress on ``stream``. On a terminal it is one line that is rewritten. Elsewhere, such as in a log, there
    is a line for each run: when its measured interval begins, or when it is finished where it is made in another
    process; and one each minute of a long one. A line of its own says once why a run is made again, and is all that a
    ``quiet`` one shows.

    As a context manager it leaves the terminal's line clean.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._in_place = stream.isatty() and not quiet
        self._told: Begun | None = None
        self._counted = 0
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_place:
            self._write("\r\x1b[K")

    def __call__(self, progress: StudyProgress) -> None:
        """Shows ``progress``."""
        for begun in progress.again:
            self._tell_again(begun, progress.total)
        if self._quiet:
            return
        if self._in_place:
            self._show(second(progress))
        elif self._is_due(progress):
            self._show(second(progress, WIDTH * 10))

    def _is_due(self, progress: StudyProgress) -> bool:
        """Whether there is news for a log, or the last line is long ago."""
        run, sample = progress.latest, progress.sample
        begins = sample is not None and sample["measuring"] and run != self._told
        ends = sample is None and progress.done > self._counted
        if begins:
            self._told = run
        # What was told when it was measured needs not be told again when it is finished. Pilots are not counted.
        counts = begins and run is not None and run.pilot is None
        self._counted = max(self._counted, progress.done + (1 if counts else 0))
        return begins or ends or time.monotonic() - self._said >= SILENCE

    def _tell_again(self, begun: Begun, total: int) -> None:
        at = f" ({begun.at})" if begun.at else ""
        line = f"{_name(begun, total)}{at} again: {'; '.join(begun.earlier)}\n"
        self._write(f"\r\x1b[K{line}" if self._in_place else line)

    def _show(self, line: str) -> None:
        self._write(f"\r\x1b[K{line}" if self._in_place else f"{line}\n")

    def _write(self, text: str) -> None:
        self._said = time.monotonic()
        self._stream.write(text)
        self._stream.flush()


def second(progress: StudyProgress, width: int = WIDTH) -> str:
    """One line of less than ``width`` characters about a second of the run that is made here, or else about how many
    are finished. Where there is no room, it is without its point, then without what is in flight, and then without the
    time that is left.
    """
    run, sample = progress.latest, progress.sample
    if run is None or sample is None:
        return line_of(progress)
    again = "" if run.attempt == 1 else " again"
    phase = "measuring" if sample["measuring"] else "warm-up"
    name = f"{_name(run, progress.total)}{again}"
    line = f"{name}  {sample['elapsed']:5.0f} s {phase:<9}  {sample['throughput']:8,.0f} ok/s"
    in_flight, errors = f"  {sample['in_flight']:6,d} in flight", f"  {sample['errors']:,d} errors"
    left = f"  {_left(progress)}" if progress.total > 1 and _left(progress) else ""
    at = f"  {run.at}" if run.at else ""
    for rest in (in_flight + errors + left + at, in_flight + errors + left, errors + left, errors):
        if len(line + rest) < width:
            break
    return line + rest


def _name(run: Begun, total: int) -> str:
    return f"run {run.run + 1}/{total}" if run.pilot is None else f"pilot {run.pilot}"


def line_of(progress: StudyProgress) -> str:
    """One line of at most 79 characters."""
    left = f", {_left(progress)}" if _left(progress) else ""
    failed = f", {progress.failed} failed" if progress.failed else ""
    run = progress.latest
    pilot = "" if run is None or run.pilot is None else f", pilot {run.pilot}"
    at = progress.ended or ("" if run is None else run.at)
    return f"{progress.done} of {progress.total} runs{pilot}{left}{failed}  {at}".rstrip()[: WIDTH - 1]


def _left(progress: StudyProgress) -> str:
    """The time that is left; empty where that is not known, or there is none."""
    if progress.left is None or progress.done >= progress.total:
        return ""
    return f"{clock(max(1.0, progress.left))} left"


def clock(seconds: float) -> str:
    """A length of time as people say it: 45 s, 3 min, 2 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
