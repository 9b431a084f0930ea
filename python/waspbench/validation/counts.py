"""How often the server sent again, and how often its timers ended, in the model and in the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.stats import binomtest

from waspbench.results import RunSummary
from waspbench.stats.comparison import ratio_interval
from waspbench.stats.levels import LEVEL
from waspbench.validation.page import Bar
from waspbench.validation.sides import Side
from waspbench.validation.simulation import mean

BAR, MANY = Bar.within(0.10), 2_000
"""The limits of the whole interval of a ratio, where each side counted so many."""


@dataclass(frozen=True)
class Counts:
    """What each run of the kernel and of the model counted, and how many responses it had."""

    kernel: Sequence[tuple[int, int]]
    model: Sequence[tuple[int, int]]

    @property
    def rate(self) -> float | None:
        """The kernel's count of a response."""
        return mean(_rates(self.kernel)) if self.kernel else None

    @property
    def ratio(self) -> float | None:
        """The model's rate over the kernel's."""
        return mean(_rates(self.model)) / self.rate if self.rate and self.model else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """That of the ratio; None where there is none."""
        return ratio_interval(_rates(self.kernel), _rates(self.model))

    @property
    def met(self) -> bool:
        """Whether the model counts as the kernel does, as far as so many can show."""
        interval = self.interval
        if self._many:
            return interval is not None and all(BAR.met(end) for end in interval)
        if interval is None:
            return self._alike
        return interval[0] <= 1 <= interval[1]

    @property
    def doubt(self) -> str:
        """Said behind a bar that is missed for want of precision alone."""
        interval = self.interval
        vague = self._many and interval is not None and interval[0] <= 1 <= interval[1]
        return " (interval too wide)" if vague else ""

    @property
    def _many(self) -> bool:
        return min(_sum(self.kernel)[0], _sum(self.model)[0]) >= MANY

    @property
    def _alike(self) -> bool:
        """Whether so few events are as likely in one response of either side (exact binomial test)."""
        (mine, responses), (its, others) = _sum(self.kernel), _sum(self.model)
        if not mine + its or not responses + others:
            return True
        share = responses / (responses + others)
        return bool(binomtest(mine, mine + its, share).pvalue >= 1 - LEVEL)

    @property
    def cells(self) -> tuple[str, str]:
        """The kernel's rate, and the ratio with its interval."""
        rate, ratio, interval = self.rate, self.ratio, self.interval
        spread = "" if interval is None else f" ({interval[0]:.2f} to {interval[1]:.2f})"
        return "?" if rate is None else f"{rate:.4f}", "" if ratio is None else f"{ratio:.2f}{spread}"


def _rates(counted: Sequence[tuple[int, int]]) -> list[float]:
    return [count / max(1, responses) for count, responses in counted]


def _sum(counted: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(count for count, _ in counted), sum(responses for _, responses in counted)


def _counted(side: Side, count: Callable[[RunSummary], int]) -> list[tuple[int, int]]:
    return [(count(run), run.outcomes.get("ok", 0)) for run in side.runs]


def retransmissions(kernel: Side, model: Side) -> Counts:
    """Segments that the server sent again, SYN-ACKs included."""
    return Counts(
        _counted(kernel, lambda run: (run.tcpext or {})["RetransSegs"]),
        _counted(model, lambda run: run.server_tcp.retransmitted if run.server_tcp else 0),
    )


def timeouts(kernel: Side, model: Side) -> Counts:
    """Expiries of the server's retransmission timers, those of SYN-ACKs included."""
    return Counts(
        _counted(kernel, lambda run: (run.tcpext or {})["TCPTimeouts"]),
        _counted(model, lambda run: run.server_tcp.timeouts if run.server_tcp else 0),
    )
