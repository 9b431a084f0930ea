"""Progress on standard error: one line, rewritten each second, on a terminal; a line a second, or a run, elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from waspbench import _core
    from waspbench.runner.pipeline import StudyProgress

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
        self._told: tuple[int, tuple[str, ...]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_place:
            self._write("\r\x1b[K")

    def __call__(self, progress: StudyProgress) -> None:
        """Shows ``progress``."""
        self._tell_again(progress)
        if progress.sample is not None:
            line = second(progress, progress.sample)
            left = "" if progress.left is None or progress.total < 2 else f"  {clock(progress.left)} left"
            self._show(line + left if len(line + left) < WIDTH else line)
        elif self._in_place or progress.done != self._shown:
            self._show(line_of(progress))
        self._shown = progress.done

    def _tell_again(self, progress: StudyProgress) -> None:
        """Says why a run is made again, unless that was said."""
        told = (progress.run, progress.earlier)
        if not progress.earlier or told == self._told:
            return
        self._told = told
        at = f" ({progress.at})" if progress.at else ""
        line = f"{_name(progress)}{at} again: {'; '.join(progress.earlier)}\n"
        self._write(f"\r\x1b[K{line}" if self._in_place else line)

    def _show(self, line: str) -> None:
        self._write(f"\r\x1b[K{line}" if self._in_place else f"{line}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def second(progress: StudyProgress, sample: _core.Sample) -> str:
    """One line of at most 79 characters about a second of a run. What is in flight is left out where there is no room
    for it.
    """
    again = "" if progress.attempt == 1 else " again"
    phase = "measuring" if sample["measuring"] else "warm-up"
    line = f"{_name(progress)}{again}  {sample['elapsed']:5.0f} s {phase:<9}  {sample['throughput']:8,.0f} ok/s"
    in_flight, errors = f"  {sample['in_flight']:6,d} in flight", f"  {sample['errors']:,d} errors"
    whole = line + in_flight + errors
    return whole if len(whole) < WIDTH else line + errors


def _name(progress: StudyProgress) -> str:
    return f"run {progress.run + 1}/{progress.total}" if progress.pilot is None else f"pilot {progress.pilot}"


def line_of(progress: StudyProgress) -> str:
    """One line of at most 79 characters."""
    left = "" if progress.left is None else f", {clock(progress.left)} left"
    failed = f", {progress.failed} failed" if progress.failed else ""
    pilot = "" if progress.pilot is None else f", pilot {progress.pilot}"
    return f"{progress.done} of {progress.total} runs{pilot}{left}{failed}  {progress.at}".rstrip()[: WIDTH - 1]


def clock(seconds: float) -> str:
    """A length of time as people say it: 45 s, 3 min, 2 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
