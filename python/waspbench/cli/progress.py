"""Progress on standard error: one line, rewritten each second, on a terminal; a line a second, or a run, elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from waspbench import _core
    from waspbench.runner.pipeline import Begun, StudyProgress

WIDTH = 80


class ProgressLine:
    """Shows progress on ``stream``: each second of a run that is made here, or each run that is finished elsewhere. A
    line of its own says once why a run is made again.

    As a context manager it leaves the terminal's line clean.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._in_place = stream.isatty()
        self._shown = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_place:
            self._write("\r\x1b[K")

    def __call__(self, progress: StudyProgress) -> None:
        """Shows ``progress``."""
        for begun in progress.again:
            self._tell_again(begun, progress.total)
        if progress.latest is not None and progress.sample is not None:
            line = second(progress.latest, progress.total, progress.sample)
            left = "" if progress.left is None or progress.total < 2 else f"  {clock(progress.left)} left"
            self._show(line + left if len(line + left) < WIDTH else line)
        elif self._in_place or progress.done != self._shown:
            self._show(line_of(progress))
        self._shown = progress.done

    def _tell_again(self, begun: Begun, total: int) -> None:
        at = f" ({begun.at})" if begun.at else ""
        line = f"{_name(begun, total)}{at} again: {'; '.join(begun.earlier)}\n"
        self._write(f"\r\x1b[K{line}" if self._in_place else line)

    def _show(self, line: str) -> None:
        self._write(f"\r\x1b[K{line}" if self._in_place else f"{line}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def second(run: Begun, total: int, sample: _core.Sample) -> str:
    """One line of at most 79 characters about a second of a run. What is in flight is left out where there is no room
    for it.
    """
    again = "" if run.attempt == 1 else " again"
    phase = "measuring" if sample["measuring"] else "warm-up"
    line = f"{_name(run, total)}{again}  {sample['elapsed']:5.0f} s {phase:<9}  {sample['throughput']:8,.0f} ok/s"
    in_flight, errors = f"  {sample['in_flight']:6,d} in flight", f"  {sample['errors']:,d} errors"
    whole = line + in_flight + errors
    return whole if len(whole) < WIDTH else line + errors


def _name(run: Begun, total: int) -> str:
    return f"run {run.run + 1}/{total}" if run.pilot is None else f"pilot {run.pilot}"


def line_of(progress: StudyProgress) -> str:
    """One line of at most 79 characters."""
    left = "" if progress.left is None else f", {clock(progress.left)} left"
    failed = f", {progress.failed} failed" if progress.failed else ""
    run = progress.latest
    pilot = "" if run is None or run.pilot is None else f", pilot {run.pilot}"
    at = "" if run is None else f"  {run.at}"
    return f"{progress.done} of {progress.total} runs{pilot}{left}{failed}{at}".rstrip()[: WIDTH - 1]


def clock(seconds: float) -> str:
    """A length of time as people say it: 45 s, 3 min, 2 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
