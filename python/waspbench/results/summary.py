"""What the engine says of one run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from waspbench.errors import Argument, InputError
from waspbench.results.formats import Record


class Finite(Record):
    """Figures by which the runs of a point are judged again: they are finite."""

    model_config = ConfigDict(allow_inf_nan=False)


class Lengths(Finite):
    """Lengths with which something would not be said again: both together where there are two."""

    enough_warmup_s: float | None = None
    """Length of the warm-up in seconds with which it would not be said again; None where that is not what helps, where
    no length of up to two hours does, and in results of older versions.
    """
    enough_s: float | None = None
    """Length of the measured interval in seconds; None likewise. It goes with the warm-up's, if there is one."""


PackageCode = Literal["failed", "interrupted", "profile", "server_gone"]
"""Codes of the reasons that this package gives; the others are the engine's (`waspbench._core.reason_codes`)."""


class Invalid(Lengths):
    """A reason not to trust a run, and what would help."""

    code: str
    """Kind of the reason, for programs."""
    group: str | None = None
    """Name of the group of clients that it is about; None where it is about all, and where there is only one."""
    message: str
    """The reason with its figures, for people."""

    @classmethod
    def of_package(cls, code: PackageCode, message: str) -> Invalid:
        """One that the engine does not give."""
        return cls(code=code, message=message)


class RunResponseTime(Record):
    """Response times of one run in milliseconds, of however few transactions; None when there were none. Percentiles
    that are not declared here are fields of their names, too, such as ``p99.9``.
    """

    mean: float | None
    """Their mean."""
    p50: float | None
    """The median."""
    p90: float | None
    """90 % took no longer."""
    p99: float | None
    """99 % took no longer."""
    max: float | None
    """The longest."""

    def at(self, name: str) -> float | None:
        """The figure called so, such as ``mean`` or ``p99.9``; for errors see `asked_for`."""
        value: float | None = asked_for(self, name)
        return value


def asked_for(times: Record, name: str) -> Any:
    """A figure of response times.

    Raises:
        InputError: it is a percentile that was not asked for when the results were made or loaded.
    """
    try:
        return getattr(times, name)
    except AttributeError:
        message = "the results were loaded without this percentile; give its name to load"
        raise InputError.at(Argument("percentiles"), message, name.removesuffix("_ci90")) from None


class Unseen(Record):
    """Transactions that take as long as any may, and that chance may have kept out of the interval."""

    lasting_s: float
    """How long they take in seconds: the clients' timeout."""
    one_in: float
    """One in so many transactions or fewer may have been missed (with a probability of 5 %)."""
    adds_s: float
    """What they would add to the mean response time of all that end, in seconds."""


COUNTS = r"(?:[0-8]?[0-9]:[0-9]{1,15}(?: [0-8]?[0-9]:[0-9]{1,15})*)?"
"""Counts by age, as in ``49:1 50:12``: bins of a quarter of an octave, each with its count. The first bin holds ages
below 2^20 ns, the last ages from 2^42 ns on.
"""

ByAge = Annotated[str, Field(pattern=f"^{COUNTS}$")]


Count = Annotated[int, Field(ge=0, lt=10**15)]
Amount = Annotated[float, Field(ge=0)]
Length = Annotated[float, Field(ge=0, le=1e9)]


class Window(Finite):
    """How a run was made, as far as it decides what ends in its interval."""

    warmup: Length
    """Seconds of the warm-up."""
    duration: Length
    """Seconds of the measured interval."""
    timeout: Length
    """Seconds after which every transaction is over."""
    closed: Amount
    """Share of the time that clients spend in transactions; 0 in an open loop."""


class Ages(Finite):
    """The transactions of a group that were in progress at some time of the interval, by how long they had been."""

    ended: ByAge
    """Those that ended in it, by their age then."""
    entered: ByAge
    """Those in progress when it began."""
    cut: ByAge
    """Those in progress when it ended."""
    began: Count
    """Those that began in it."""
    throughout: Count
    """Those that began before it and did not end in it."""
    sum_s: Amount
    """Sum of the times of those that ended in it, in seconds."""
    cut_square_s: Amount
    """Sum of the squares of the times inside it of those that one of its ends cuts, in square seconds."""
    window: Window
    """How the run was made."""
    in_progress_s: Amount
    """Time integral of those in progress over the interval, in seconds."""


def _numbers(count: int, sign: str = "") -> str:
    return rf"^{sign}[0-9]{{1,18}}(?: {sign}[0-9]{{1,18}}){{{count - 1}}}$"


class Fortieths(Record):
    """An open loop by fortieths of the interval; each text is 40 numbers."""

    backlog: Annotated[str, Field(pattern=_numbers(40, "-?"))]
    """By how many more were in progress, or waited as arrivals, at the end of each than at its beginning."""
    ok: Annotated[str, Field(pattern=_numbers(40))]
    """``ok`` transactions that ended in each."""
    time_ns: Annotated[str, Field(pattern=_numbers(40))]
    """Sum of their response times, without the time that it took to open a connection for them, in nanoseconds."""
    replays: bool
    """Whether requests come at the times of a log, whose rate need not be steady."""


class Course(Record):
    """When the transactions of a group ended."""

    ok: Annotated[str, Field(pattern=_numbers(300))]
    """The ``ok`` ones, as in ``0 0 12 13``, in each three-hundredth of the measured interval and of half an interval
    before it, or of the whole warm-up where that is shorter.
    """
    fortieths: Fortieths | None
    """Those of an open loop; None in a closed one."""


class Trend(Record):
    """How throughput went through the measured interval of a run, or of all runs of a point together (MSER-5)."""

    settled_s: float
    """Seconds from the start of the run until which it may differ from that of the rest."""
    early: float | None
    """By how much it differed from the rest's between the end of the warm-up and then, relative to it; 0 if it had
    settled before the end of the warm-up, None if nothing ended in the rest.
    """
    effect: float
    """By how much the throughput of the interval differs from the rest's, relative to it."""
    late: bool
    """Whether it is too much, and no chance."""
    enough_warmup_s: float | None
    """Length of the warm-up in seconds that would do; None if the warm-up did, or no length of up to two hours does."""


class Censoring(Record):
    """What transactions that the measured interval was too short for do to the mean of those that ended. Of several
    groups together: what is too much for one of them is too much, and the lengths do for all.
    """

    lacking: float
    """Share of the mean response time (from the actual start) that lacks, as estimated."""
    at_most: float | None
    """An upper estimate of that share; the runs are judged by the middle between both. Of one of n groups, the estimate
    and an nth of what the upper estimate of a single group would be above it. None in results of older versions.
    """
    excess: float | None
    """Little's law: mean number in progress over the rate of all that ended, over their mean time, less 1; None if
    nothing ended.
    """
    throughout: float | None
    """Share of the time in progress that is of transactions that were in progress all through the interval; None
    likewise.
    """
    censored: bool
    """Whether one of these is too much."""
    enough_s: float | None
    """Length of the measured interval in seconds with which at most 2 % would lack, the interval's own if no more
    lacks; None if no length of up to two hours would do.
    """
    enough_warmup_s: float | None
    """Length of the warm-up in seconds with which the same holds if the interval is as long at least; None likewise."""
    unseen: Unseen | None
    """What is too rare to have been seen for certain; None of several groups together, where transactions were seen
    that took half as long, and in results of older versions.
    """


class RunArrivals(Finite):
    """The arrivals of an open loop over the measured interval."""

    arrivals: Count
    """Arrivals that came."""
    begun: Count
    """Arrivals that began, those included that had waited."""
    shed: Count
    """Arrivals that were dropped, because as many as may wait did."""


class RunOpenLoop(RunArrivals):
    """The open loops of all groups."""

    from_start_ms: RunResponseTime
    """Response times from the actual start: what a closed loop would have measured."""


class ServerCpu(Record):
    """Use of the server's CPUs; in simulation the model's."""

    busy: float | None
    """1 - (idle + iowait), from 0 to 1 of all its CPUs. For a server that ran already: its processes' time, of all CPUs
    that it may use or of its busiest thread alone, whichever is more.
    """
    others: float | None = None
    """Part of their time, from 0 to 1, that threads of others than the run took: neither the server's nor those of this
    process and its descendants, nor interrupts. None in simulation, for a server that ran already, and in results of
    older versions.
    """
    steal: float | None
    """Part of their time, and of the emulator's CPUs', that the hypervisor took; None in simulation."""
    processes_s: float | None
    """CPU seconds of the server's processes; None in simulation."""


class ServerTcp(Record):
    """What the modelled server's TCP did in the measured interval, all connections together; in results of older
    versions in the whole run, warm-up included.
    """

    connections: int
    """Those that began, with a SYN."""
    segments_sent: int
    """Segments that it sent, those sent again included."""
    retransmitted: int
    """Segments sent again, SYN-ACKs included."""
    fast_retransmits: int
    """Entries into fast recovery."""
    timeouts: int
    """Those of SYN-ACKs included."""
    first_timeouts: int
    """Timeouts of data that had not timed out before."""
    first_timeouts_ms: int
    """Sum of the waits that these ended, in milliseconds."""


class Waits(Record):
    """How long packets waited in the emulator, in microseconds; None in simulation."""

    p50: float | None = None
    """Half of the packets waited no longer."""
    p99: float | None = None
    """99 % of the packets waited no longer."""
    max: float | None = None
    """The longest wait."""


class Emulator(Record):
    """The emulator's own part in what was measured; None in simulation."""

    cpu: float | None = None
    """Busy part of its CPU, from 0 to 1; of the busiest where it has several."""
    others: float | None = None
    """Part of its CPUs' time, from 0 to 1, that threads of others than the run took; None in results of older versions.
    """
    run_delay: float | None = None
    """Part of the interval, from 0 to 1, in which its thread was ready to run and another had its CPU (the kernel's run
    delay); the longest of its threads'. None in results of older versions.
    """
    run_delay_by_others: float | None = None
    """The run delay while other programs had the CPU: without the time that other threads of the run had there, and no
    more than the time that other programs had. None in results of older versions.
    """
    threads: int | None = None
    """Threads that it had."""
    lag_us: Waits = Waits()
    """Lateness of packets."""
    unread_us: Waits = Waits()
    """The most that frames can have waited before they were read; None in results of older versions."""


class GroupLateness(Record):
    """How long the emulator kept the packets of one group of clients waiting."""

    group: str
    """Name of the group."""
    limit_us: float
    """What is allowed at p99 of both: 1 ms, or 1 % of the group's least round-trip time where that is more."""
    lag_us: Waits
    """Lateness of packets from its clients."""
    unread_us: Waits
    """The most that frames for its clients can have waited before they were read."""


class RunDirection(Finite):
    """Packets of all clients' paths in one direction."""

    packets: Count
    """Packets that came to a link."""
    lost: Count
    """By the loss model."""
    loss_rate: float | None
    """lost / packets; None when there were no packets."""
    dropped: Count
    """For any other reason, such as a full queue."""
    expected_loss_rate: float | None = None
    """Mean of the packets' conditional probabilities of loss."""
    expected_standard_error: float | None = None
    """Standard error of loss_rate about that."""
    stationary_loss_rate: float | None = None
    """Long-run rate of the loss models."""


class RunNetwork(Record):
    """The emulated network as it was."""

    up: RunDirection
    """Packets from the clients."""
    down: RunDirection
    """Packets to the clients."""


class Stability(Record):
    """How the backlog of an open loop, and its response times, went through the measured interval of a run, or of all
    runs of a point together.
    """

    growth: float
    """By how much more was in progress or waited after each second: arrivals less what ended."""
    growth_by_age: float
    """That part of it which is so because some transactions take longer than the run had lasted."""
    growth_standard_error: float
    """Standard error of the growth, if each fortieth of the interval is by chance."""
    grows: bool
    """Whether it grows without end, which is ``overload``."""
    variance_inflation: float | None
    """Variance of the mean response time over what it would be if that of each fortieth of the interval told nothing of
    the next ones; None where too few ended.
    """
    standard_error: float | None
    """Relative standard error of a run's mean response time that follows from it."""
    enough_s: float | None
    """Length of the measured interval in seconds that would do; None if no length of up to two hours would, or too few
    transactions ended to tell.
    """


class Beginning(Finite):
    """How the clients of a group began, as far as the measured interval shows it."""

    cycle_s: float
    """Mean time in seconds from one transaction of a connection to the next; in an open loop, of a client."""
    opened: float
    """Share of the ``ok`` transactions, from 0 to 1, for which a connection was opened."""
    opening: float
    """By how much the mean response time differs from the long run's because connections were opened in the interval,
    or were not, relative to it.
    """
    renews: bool = False
    """Whether connections are closed after a number of requests, so that some are always opened."""
    in_step: float
    """By how much the rate differs from the long run's because the clients go in step, relative to it; 0 if chance
    explains that they do.
    """
    enough_warmup_s: float | None
    """Length of the warm-up in seconds with which few connections would be opened later; None if the warm-up did, or no
    length of up to two hours does.
    """
    enough_s: float | None
    """Length of the measured interval in seconds that would do; None likewise."""


class FirstLosses(Finite):
    """What the first losses of a connection did to its response times."""

    losses: Count
    """Losses that count as the first."""
    longer: float
    """By how much the mean response time would be longer if all connections had had as many, relative to it."""
    standard_error: float
    """Standard error of that."""


class CongestionWindows(Finite):
    """What losses had done to the congestion windows of a group's kept connections."""

    needed: float
    """Loss events after which the window of a connection tells nothing of its beginning."""
    fewer: float
    """Share of the ``ok`` transactions, from 0 to 1, whose connection had had fewer."""
    recovering: float
    """Time that a window needs to recover from a loss event, over the time that responses take between two of them."""
    slower: float
    """Time that a response takes with the windows of the long run, by a rule of thumb that gives rather too much, over
    the mean time that it took.
    """
    effect: FirstLosses | None
    """What the first losses of a connection did; None where too few connections had had as many to tell."""
    unsettled: bool
    """Whether too many of the response times are those of windows that tell of their beginning."""
    enough_warmup_s: float | None
    """Length of the warm-up in seconds after which few connections would have had fewer; None if the warm-up did, or no
    length of up to two hours does.
    """


class RunGroup(Record):
    """One group of clients. Results of older versions have outcomes and status codes only."""

    name: str
    """Name of the group."""
    background: bool = False
    """Whether the figures of all groups together leave it out."""
    throughput: float | None = None
    """``ok`` transactions a second."""
    goodput_bps: float | None = None
    """Bits of their bodies a second."""
    outcomes: dict[str, int]
    """Transactions by outcome."""
    statuses: dict[str, int]
    """Whole responses by status code."""
    response_time_ms: RunResponseTime | None = None
    """Of ``ok`` transactions, from the intended start, where there is one."""
    all_response_time_ms: RunResponseTime | None = None
    """The same of all transactions that ended, whatever their outcome."""
    ages: Ages | None = None
    """How old its transactions were that were in progress in the interval: by this the runs of a point are judged
    together. None in a run that was stopped, and in results of older versions.
    """
    course: Course | None = None
    """When its transactions ended; None likewise."""
    trend: Trend | None = None
    """Whether its throughput had settled; None in a run that was stopped, of too few transactions, and in results of
    older versions.
    """
    censoring: Censoring | None = None
    """Whether the interval was long enough for the group's longest transactions; None where too few were seen to tell,
    and in a run that was stopped.
    """
    beginning: Beginning | None = None
    """How its clients began; None in a run that was stopped, of too few transactions, and in results of older versions.
    """
    windows: CongestionWindows | None = None
    """What losses had done to the congestion windows of its connections; None where no connection is kept or nothing is
    lost, in a run that was stopped, of too few transactions, where the server's congestion control is not known to
    be Reno's or CUBIC, and in results of older versions.
    """
    open_loop: RunArrivals | None = None
    """The group's open loop; None where it has a closed one."""
    stability: Stability | None = None
    """Whether that offers what can be taken; None in a run that was stopped, and in results of older versions."""


class RunSummary(Record):
    """One run."""

    run: int = 0
    """Number of the run, from 0."""
    interval_s: float
    """Length of the measured interval in seconds."""
    throughput: float
    """``ok`` transactions a second."""
    goodput_bps: float
    """Bits of their bodies a second."""
    outcomes: dict[str, int]
    """Transactions by outcome."""
    statuses: dict[str, int] | None = None
    """Whole responses (ok and http_error) by status code; None in results of older versions."""
    by_group: list[RunGroup] | None = None
    """Each group by itself, in the order of their index; None in results of older versions."""
    retried: int | None = None
    """Those among the transactions that were made once more, on a new connection."""
    response_time_ms: RunResponseTime
    """Of ``ok`` transactions, from the intended start, where there is one."""
    all_response_time_ms: RunResponseTime | None = None
    """The same of all transactions that ended, whatever their outcome; None in results of older versions."""
    censoring: Censoring | None = None
    """Whether the interval was long enough for the longest transactions; None where too few were seen to tell, in a run
    that was stopped, and in results of older versions.
    """
    trend: Trend | None = None
    """Whether throughput had settled; None in a run that was stopped, of too few transactions, and in results of older
    versions.
    """
    open_loop: RunOpenLoop | None = None
    """The open loop; None where every group that is no background has a closed one."""
    stability: Stability | None = None
    """Whether that offers what can be taken; None likewise, in a run that was stopped, and in results of older
    versions.
    """
    server_cpu: ServerCpu
    """Use of the server's CPUs; in simulation the model's."""
    server_tcp: ServerTcp | None = None
    """What the server's TCP did in the measured interval, in simulation; of the whole run, warm-up included, in results
    of older versions.
    """
    emulator: Emulator | None
    """The emulator's own part; None in simulation."""
    lateness: list[GroupLateness] | None = None
    """The emulator's by group of clients; None in simulation and in results of older versions."""
    network: RunNetwork
    """The emulated network as it was."""
    device: dict[str, int] | None = None
    """Increase of the device's counters over the measured interval; None in simulation."""
    client_device: dict[str, int] | None = None
    """The same of the clients' device; None where clients are emulated."""
    tcpext: dict[str, int] | None = None
    """Increase of the TCP counters of the server's kernel (tables ``Tcp`` and ``TcpExt``) over the measured interval;
    None in simulation. Results of older versions have ``TcpExt`` alone.
    """
    softnet: dict[str, int] | None = None
    """Increase of the counters of the machine's packet backlog over the measured interval; None in simulation."""
    transactions_kept_one_in: int = 1
    """One transaction in so many is a row of the table: 1 when all are. Figures, series and histogram have them all."""
    invalid: list[Invalid]
    """Reasons not to trust the run. In the results of several runs those are left out that are said of all runs
    together; the record of the run has them.
    """

    notes: list[str] = Field(default_factory=list)
    """What else is to be known of the run, such as that another one shared the machine; it speaks not against it."""

    def without(self, codes: Collection[str]) -> RunSummary:
        """The summary without the reasons of these kinds."""
        return self.model_copy(update={"invalid": [reason for reason in self.invalid if reason.code not in codes]})

    def noted(self, notes: list[str]) -> RunSummary:
        """The summary with more notes."""
        return self.model_copy(update={"notes": [*self.notes, *notes]})

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against the run."""
        return not self.invalid

    @property
    def stopped(self) -> bool:
        """Whether the run was ended before its time by whoever made it, and not because something failed."""
        return self.failure is None and any(reason.code == "stopped" for reason in self.invalid)

    @property
    def failure(self) -> str | None:
        """Why the run ended before its time, unless it was stopped."""
        return next((reason.message for reason in self.invalid if reason.code == "failed"), None)
