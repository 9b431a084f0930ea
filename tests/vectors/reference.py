"""Loss recovery by the book: a second, small implementation that the vectors come from.

It shares nothing with the engine and follows the pseudo-code of RFC 5681, RFC 6582, RFC 6675 and 4.4BSD. A window of W
segments leaves at time 0 in congestion avoidance (cwnd = ssthresh = W) with unlimited data behind it; the first
transmissions at the given positions (from 0) are lost, nothing else is; each segment that arrives is acknowledged at
once; the path takes one round trip and no time a segment; limited transmit is off; the RTO is ten round trips. The
value is the number of round trips until all W are cumulatively acknowledged.

``python tests/vectors/reference.py > tests/vectors/recovery.csv`` writes the vectors.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

MSS = 1000
RTO = 10.0
DUP_THRESH = 3
VARIANTS = ("reno", "newreno", "sack", "bsd1999")


@dataclass
class Sender:
    """Sequence numbers count segments; windows are in bytes."""

    variant: str
    window: int
    lost: set[int]
    una: int = 0
    nxt: int = 0
    highest: int = 0
    dup: int = 0
    inflation: int = 0
    fast: bool = False
    recover: int = -2  # the SYN is before segment 0
    partial: bool = False
    timeouts: int = 0
    backoff: int = 1
    now: float = 0.0
    deadline: float = RTO
    received: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    resent: set[int] = field(default_factory=set)
    doomed: set[int] = field(default_factory=set)
    events: list[tuple[float, int, str, int]] = field(default_factory=list)
    order: int = 0

    def __post_init__(self) -> None:
        self.cwnd = self.ssthresh = self.window * MSS

    # The network and the receiver

    def transmit(self, segment: int) -> None:
        if segment in self.lost:
            self.lost.discard(segment)
        else:
            self.order += 1
            heapq.heappush(self.events, (self.now + 0.5, self.order, "data", segment))

    def receive(self, segment: int) -> None:
        self.received.add(segment)
        ack = next(n for n in itertools.count(self.una) if n not in self.received)
        self.order += 1
        heapq.heappush(self.events, (self.now + 0.5, self.order, "ack", ack))
        self.reports[self.order] = {n for n in self.received if n > ack}

    # Windows

    @property
    def bsd(self) -> bool:
        return self.variant == "bsd1999"

    def halve(self) -> None:
        if self.bsd:
            self.ssthresh = max(self.cwnd // 2 // MSS, 2) * MSS
        else:
            self.ssthresh = max((self.highest - self.una) * MSS // 2, 2 * MSS)

    def grow(self) -> None:
        if self.cwnd < self.ssthresh or (self.bsd and self.cwnd == self.ssthresh):
            self.cwnd += MSS
        else:
            self.cwnd += max(MSS * MSS // self.cwnd, 1)

    def send(self) -> None:
        if self.variant == "sack":
            return self.send_by_pipe()
        while (self.nxt - self.una + 1) * MSS <= max(self.cwnd + self.inflation, MSS):
            self.transmit(self.nxt)
            self.nxt += 1
            self.highest = max(self.highest, self.nxt)

    # Events

    def acknowledge(self, ack: int, report: set[int]) -> None:
        if self.variant == "sack":
            return self.acknowledge_selectively(ack, report)
        if ack > self.una:
            acked, self.una = ack - self.una, ack
            self.nxt = max(self.nxt, ack)
            self.progress(acked)
        elif ack == self.una:
            self.duplicate()
        self.send()

    def progress(self, acked: int) -> None:
        self.backoff = 1
        if not self.fast:
            self.dup = 0
            self.grow()
        elif self.variant != "newreno":
            if self.bsd and self.dup == DUP_THRESH:
                self.cwnd += self.inflation  # tests for more than three, so the inflated window stays
            self.leave()
            if self.bsd:
                self.grow()
        elif self.una > self.recover:
            self.cwnd = min(self.ssthresh, max((self.highest - self.una) * MSS, MSS) + MSS)
            self.leave()
        else:
            self.transmit(self.una)
            self.inflation += (1 - acked) * MSS
            if self.partial:
                return  # the impatient variant: only the first partial acknowledgment restarts the timer
            self.partial = True
        self.deadline = self.now + RTO

    def leave(self) -> None:
        self.fast, self.dup, self.inflation = False, 0, 0

    def duplicate(self) -> None:
        self.dup += 1
        if self.fast:
            self.inflation += MSS
        elif self.dup == DUP_THRESH and (self.variant != "newreno" or self.una - 1 > self.recover):
            self.halve()
            self.cwnd, self.inflation = self.ssthresh, DUP_THRESH * MSS
            self.fast, self.partial, self.recover = True, False, self.highest - 1
            self.transmit(self.una)
            self.deadline = self.now + RTO * self.backoff

    def timeout(self) -> None:
        self.timeouts += 1
        self.halve()
        self.cwnd = MSS
        self.leave()
        self.recover = self.highest - 1
        self.nxt = self.una
        self.doomed = set(range(self.una, self.highest))
        self.resent = set()
        self.backoff *= 2
        self.deadline = self.now + RTO * self.backoff
        self.send()

    # RFC 6675

    def is_lost(self, segment: int) -> bool:
        above = sorted(n for n in self.held if n > segment)
        runs = sum(1 for n in above if n - 1 not in self.held)
        return segment in self.doomed or runs >= DUP_THRESH or len(above) > DUP_THRESH - 1

    def pipe(self) -> int:
        flying = [n for n in range(self.una, self.nxt) if n not in self.held]
        return sum((not self.is_lost(n)) + (n in self.resent) for n in flying)

    def acknowledge_selectively(self, ack: int, report: set[int]) -> None:
        news = report - self.held - set(range(ack))
        self.held |= news
        if ack > self.una:
            self.una, self.backoff, self.deadline = ack, 1, self.now + RTO
            self.held = {n for n in self.held if n >= ack}
            if self.una > self.recover:
                self.fast, self.doomed = False, set()
            if not self.fast:
                self.dup = 0
                self.grow()
        if news and ack <= self.una:
            self.dup += 1
        self.maybe_recover()
        self.send()

    def maybe_recover(self) -> None:
        found = self.dup >= DUP_THRESH or (self.una < self.nxt and self.is_lost(self.una))
        if found and not self.fast and self.una > self.recover:
            self.halve()
            self.cwnd = self.ssthresh
            self.fast, self.recover = True, self.nxt - 1
            self.doomed.add(self.una)
            self.resend(self.una)
            self.deadline = self.now + RTO * self.backoff

    def resend(self, segment: int) -> None:
        self.resent.add(segment)
        self.transmit(segment)

    def send_by_pipe(self) -> None:
        while True:
            # Without limited transmit nothing new leaves before recovery begins.
            waiting = not self.fast and not self.doomed and self.dup > 0
            pipe = self.nxt - self.una if waiting else self.pipe()
            if (pipe + 1) * MSS > self.cwnd:
                return
            holes = [n for n in range(self.una, self.nxt) if n not in self.held | self.resent and self.is_lost(n)]
            if holes and (self.fast or self.doomed):
                self.resend(holes[0])
            else:
                self.transmit(self.nxt)
                self.nxt += 1
                self.highest = self.nxt

    def run(self) -> tuple[int, int]:
        self.reports: dict[int, set[int]] = {}
        self.send()
        while self.una < self.window:
            if not self.events or self.events[0][0] >= self.deadline:
                self.now = self.deadline
                self.timeout()
                continue
            self.now, order, kind, number = heapq.heappop(self.events)
            if kind == "data":
                self.receive(number)
            else:
                self.acknowledge(number, self.reports.pop(order))
        assert self.now == int(self.now)
        return int(self.now), self.timeouts


def patterns() -> Iterator[tuple[int, tuple[int, ...]]]:
    """Windows and the positions lost in them."""
    for window in (4, 6, 8, 10, 12, 16, 24):
        counts = (1, 2) if window <= 12 else (1,)
        for count in counts:
            for lost in itertools.combinations(range(window), count):
                yield window, lost
        for count in (2, 3, 4):
            for step in (1, 2, 3):
                lost = tuple(range(0, count * step, step))
                if lost[-1] < window and (count > 2 or window > 12):
                    yield window, lost


def rows() -> Iterator[str]:
    yield "variant,window,lost,rounds,timeouts"
    for window, lost in patterns():
        seen: tuple[int, int] | None = None
        for variant in VARIANTS:
            result = Sender(variant, window, set(lost)).run()
            if variant == "reno":
                seen = result
            if variant != "bsd1999" or result != seen:
                yield f"{variant},{window},{' '.join(map(str, lost))},{result[0]},{result[1]}"


if __name__ == "__main__":
    print("\n".join(rows()))
