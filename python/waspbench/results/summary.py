"""What the engine says of one run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from waspbench.errors import Argument, InputError
from waspbench.results.formats import Record


class Finite(Record):
    """Figures by which the runs of a point are judged again: they are finite."""

    model_config = ConfigDict(allow_inf_nan=False)


class Lengths(Finite):
    """Lengths with which the reason would not be given again. If there are two, both are needed."""

    enough_warmup_s: float | None = None
    """Length of the warm-up, in seconds, with which the reason would not be given again. None if a longer warm-up does
    not help, if no length of up to two hours is long enough, and in results of older versions."""
    enough_s: float | None = None
    """Length of the measured interval, in seconds, with which the reason would not be given again; None in the same
    cases. If enough_warmup_s is a number, too, both lengths are needed."""


PackageCode = Literal["failed", "interrupted", "profile", "server_gone"]
"""Codes of the reasons that this package gives; the others are the engine's (`waspbench._core.reason_codes`)."""


class Invalid(Lengths):
    """A reason why a run is not valid, and what would help."""

    code: str
    """Kind of the reason, such as ``lag``, for programs."""
    group: str | None = None
    """Name of the group of clients that the reason is about; None if it is about all clients, or if there is only one
    group."""
    message: str
    """The reason in words, with its figures."""

    @classmethod
    def of_package(cls, code: PackageCode, message: str) -> Invalid:
        """One that the engine does not give."""
        return cls(code=code, message=message)


class RunResponseTime(Record):
    """Response times of one run in milliseconds, of however few transactions; None when there were none. Percentiles
    that are not declared here are fields of their names, too, such as ``p99.9``.
    """

    mean: float | None
    """Mean response time."""
    p50: float | None
    """Median response time."""
    p90: float | None
    """90th percentile of the response times."""
    p99: float | None
    """99th percentile of the response times. There are also the other percentiles of the experiment, such as ``p95``
    and ``p99.9``."""
    max: float | None
    """Longest response time."""

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
    """Transactions that last until the clients' timeout, and that may be missing from the interval by chance."""

    lasting_s: float
    """Length of such a transaction in seconds: the clients' timeout."""
    one_in: float
    """If one transaction in this many is such a long one, the interval misses all of them with a probability of 5 %."""
    adds_s: float
    """Seconds that they would add to the mean response time of all transactions that ended."""


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
    """Length of the warm-up in seconds."""
    duration: Length
    """Length of the measured interval in seconds."""
    timeout: Length
    """Longest time that a transaction can last, in seconds."""
    closed: Amount
    """Share of the clients' time that they spend in transactions; 0 in an open loop."""


class Ages(Finite):
    """Ages of the transactions of a group that were in progress at some time in the measured interval."""

    ended: ByAge
    """Transactions that ended in the interval, by their age at that time."""
    entered: ByAge
    """Transactions in progress at the start of the interval, by their age at that time."""
    cut: ByAge
    """Transactions in progress at the end of the interval, by their age at that time."""
    began: Count
    """Number of transactions that began in the interval."""
    throughout: Count
    """Number of transactions that were in progress during the whole interval."""
    sum_s: Amount
    """Sum of the lengths of the transactions that ended in the interval, in seconds."""
    cut_square_s: Amount
    """For transactions that the start or the end of the interval cuts: sum of the squares of their parts inside the
    interval, in square seconds."""
    window: Window
    """Lengths of the run."""
    in_progress_s: Amount
    """Number of transactions in progress, integrated over the interval, in seconds."""


def _numbers(count: int, sign: str = "") -> str:
    return rf"^{sign}[0-9]{{1,18}}(?: {sign}[0-9]{{1,18}}){{{count - 1}}}$"


class Fortieths(Record):
    """An open loop in each fortieth of the measured interval; each text holds 40 numbers."""

    backlog: Annotated[str, Field(pattern=_numbers(40, "-?"))]
    """Growth of the backlog in each fortieth: transactions in progress and waiting arrivals at its end, minus those at
    its start."""
    ok: Annotated[str, Field(pattern=_numbers(40))]
    """``ok`` transactions that ended in each fortieth."""
    time_ns: Annotated[str, Field(pattern=_numbers(40))]
    """Sum of their response times in each fortieth, without the time to open connections, in nanoseconds."""
    replays: bool
    """Whether the arrivals are those of a log, whose rate may vary."""


class Course(Record):
    """When the transactions of a group ended."""

    ok: Annotated[str, Field(pattern=_numbers(300))]
    """Number of ``ok`` transactions that ended in each of 300 equal parts, as in ``0 0 12 13``. The parts cover the
    measured interval and half an interval before it, or the whole warm-up if that is shorter."""
    fortieths: Fortieths | None
    """An open loop in each fortieth of the interval; None in a closed loop."""


class Trend(Record):
    """Whether throughput had settled when the measured interval began, and stayed so, in one run or in all runs of a
    point together (MSER-5)."""

    settled_s: float
    """Seconds from the start of the run until which throughput may differ from that of the rest of the run."""
    early: float | None
    """Relative difference before settled_s: (throughput from the end of the warm-up until settled_s - throughput after
    it) / throughput after it. 0 if throughput settled during the warm-up, None if no transaction ended after settled_s.
    """
    effect: float
    """Effect of this on the interval: (throughput of the interval - throughput after settled_s) / throughput of the
    interval."""
    late: bool
    """Whether effect is too large, and chance does not explain the difference in early."""
    enough_warmup_s: float | None
    """Length of the warm-up, in seconds, that would be long enough. None if it was long enough, or if no length of up
    to two hours is long enough."""


class Censoring(Record):
    """How much of the mean response time is missing because the measured interval was too short for some transactions.
    For several groups: the verdict is that of the worst group, and the lengths are enough for all groups."""

    lacking: float
    """Estimate of the share of the mean response time (from the actual start) that is missing."""
    at_most: float | None
    """Upper estimate of that share. WASP judges the run by the middle between the two estimates. With n groups, the
    distance between the two is one nth of what it is with a single group. None in results of older versions."""
    excess: float | None
    """Deviation from Little's law: mean number in progress, divided by the rate and by the mean length of all
    transactions that ended, minus 1. None if no transaction ended."""
    throughout: float | None
    """Share of the time in progress that belongs to transactions which were in progress during the whole interval. None
    if no transaction ended."""
    censored: bool
    """Whether one of these figures is too large."""
    enough_s: float | None
    """Length of the measured interval, in seconds, with which at most 2 % would be missing; the interval's own length
    if no more is missing. None if no length of up to two hours is long enough."""
    enough_warmup_s: float | None
    """Length of the warm-up, in seconds, with which at most 2 % would be missing, if the interval is at least as long
    as the warm-up; the run's own if no more is missing. None if no length of up to two hours is long enough."""
    unseen: Unseen | None
    """Transactions that are so rare that the interval may have missed them. None in three cases: a transaction was seen
    that lasted at least half as long; the figure is of several groups together; the results are of an older version."""


class RunArrivals(Finite):
    """The arrivals of an open loop over the measured interval."""

    arrivals: Count
    """Number of arrivals."""
    begun: Count
    """Number of arrivals whose transaction began, including arrivals that had waited."""
    shed: Count
    """Number of arrivals that were dropped because too many were waiting (arrivals.outstanding)."""


class RunOpenLoop(RunArrivals):
    """The open loops of all groups but background groups."""

    from_start_ms: RunResponseTime
    """Response times from the actual start of the transaction, which a closed loop would have measured."""


class ServerCpu(Record):
    """Use of the server's CPUs; in simulation, of the model's CPUs."""

    busy: float | None
    """Busy share of all the server's CPUs, from 0 to 1: 1 - (idle + iowait). For a server that ran already: the CPU
    time of its processes as a share of all CPUs that it may use, or the share of its busiest thread of one CPU,
    whichever is larger."""
    others: float | None = None
    """Share of the CPUs' time, from 0 to 1, that threads outside the run took: neither the server's threads nor those
    of this process and its descendants. Interrupts are not included. None in simulation, for a server that ran already,
    and in results of older versions."""
    steal: float | None
    """Share of the time of the server's and the emulator's CPUs that the hypervisor took (steal). None in simulation.
    """
    processes_s: float | None
    """CPU time of the server's processes in seconds. None in simulation."""
    switches: float | None = None
    """Number of times that the kernel put a thread of the server on a CPU. None in simulation, and in results of older
    versions."""


class ServerWork(Record):
    """Work of one kind that the CPUs of the simulated server did."""

    kind: str
    """The kind: a cost of server.model without per_, such as ack. The kind byte has the cost per_kib."""
    number: int
    """How often, in jobs that began in the measured interval. For byte, the number of bytes."""
    cpu_s: float
    """CPU seconds that these jobs take."""


class ServerTcp(Record):
    """What the simulated server's TCP did in the measured interval, all connections together; in results of older
    versions in the whole run, warm-up included."""

    connections: int
    """Connections that began, with a SYN."""
    segments_sent: int
    """Segments that the server sent, including retransmissions."""
    retransmitted: int
    """Segments that the server sent again, including SYN-ACKs."""
    fast_retransmits: int
    """Entries into fast recovery."""
    timeouts: int
    """Retransmission timeouts, including those of SYN-ACKs."""
    first_timeouts: int
    """Timeouts of data that had not timed out before."""
    first_timeouts_ms: int
    """Sum of the waits that ended with these timeouts, in milliseconds."""
    reduced_for_marks: int = 0
    """Number of times that the server reduced a congestion window because a client echoed a mark (ECN)."""


class Waits(Record):
    """How long packets waited in the emulator, in microseconds; None in simulation."""

    p50: float | None = None
    """Median."""
    p99: float | None = None
    """99th percentile."""
    max: float | None = None
    """Longest."""


class Emulator(Record):
    """The emulator itself: how busy and how late it was. None in simulation."""

    cpu: float | None = None
    """Busy share of the emulator's CPU, from 0 to 1; of the busiest one if there are several."""
    others: float | None = None
    """Share of the emulator's CPUs' time, from 0 to 1, that threads outside the run took. None in results of older
    versions."""
    run_delay: float | None = None
    """Share of the interval, from 0 to 1, in which the emulator's thread was ready to run, but another thread had its
    CPU (the kernel's run delay). Of several threads, the longest. None in results of older versions."""
    run_delay_by_others: float | None = None
    """Share of the interval, from 0 to 1, in which the thread waited so while other programs had the CPU. It excludes
    time of the run's own threads, and is never more than the other programs' CPU time. None in results of older
    versions."""
    threads: int | None = None
    """Number of threads of the emulator."""
    lag_us: Waits = Waits()
    """Lag: how late packets left the emulator, in microseconds."""
    unread_us: Waits = Waits()
    """Upper bound of the time that frames waited until the emulator read them, in microseconds. None in results of
    older versions."""


class GroupLateness(Record):
    """How late the emulator was with the packets of one group of clients."""

    group: str
    """Name of the group."""
    limit_us: float
    """Largest p99 of lag_us and of unread_us that is allowed: 1 ms, or 1 % of the group's shortest round-trip time if
    that is more. A background group may exceed it."""
    lag_us: Waits
    """Lag of packets from the group's clients, in microseconds."""
    unread_us: Waits
    """Upper bound of the time that frames to the group's clients waited until the emulator read them, in microseconds.
    """


class RunDirection(Finite):
    """Packets of all clients' paths in one direction."""

    packets: Count
    """Packets that arrived at an access link."""
    lost: Count
    """Packets that the loss model dropped."""
    loss_rate: float | None
    """Share of the packets that the loss model dropped: lost / packets. None if there were no packets."""
    dropped: Count
    """Packets that were dropped for another reason, such as a full queue."""
    dropped_early: Count | None = None
    """Those of them that a queue dropped although it was not full, to slow their senders (red, codel, fq-codel,
    pie)."""
    marked: Count | None = None
    """Packets that a queue marked in the place of such a drop (ECN). This and the next four are sums over all links,
    the shared one included."""
    corrupted: Count | None = None
    """Packets in which a link flipped a bit (corrupt)."""
    duplicated: Count | None = None
    """Copies of packets that links made (duplicate)."""
    held: Count | None = None
    """Packets that links held back so that later packets overtake them (reorder), those of cross traffic included."""
    reordered: Count | None = None
    """Packets that were held back, and that at least one later packet overtook, those of cross traffic included."""
    expected_loss_rate: float | None = None
    """Expected loss rate: mean of the packets' conditional probabilities of loss."""
    expected_standard_error: float | None = None
    """Standard error of loss_rate around expected_loss_rate."""
    stationary_loss_rate: float | None = None
    """Long-run loss rate of the loss models."""


class RunCrossTraffic(Finite):
    """Packets of one cross traffic. For access links they are those on all of them together."""

    name: str
    """Name of the cross traffic."""
    link: str
    """Link that it loads: the name of the link, or of a group of clients for their access links."""
    direction: str
    """Direction that it loads."""
    links: Count
    """Number of links that it loads: the clients of the group, or 1."""
    packets: Count
    """Packets that arrived at these links."""
    offered_bps: float
    """Bits of these packets per second on all links together, IP headers included."""
    lost: Count
    """Packets that the loss model dropped."""
    dropped: Count
    """Packets that were dropped for another reason, such as a full queue; copies that the link made among them."""
    dropped_early: Count
    """Those of them that a queue dropped although it was not full."""


class RunEcn(Finite):
    """Explicit congestion notification (ECN, RFC 3168) on connections of clients that ask for it, in the whole run."""

    connections: Count
    """Number of connections that were established."""
    agreed: Count
    """Number of those on which the server agreed to ECN. A client does not ask again if its first SYN is lost."""
    marked: Count
    """Number of data segments that reached the clients with a mark."""
    reduced: Count
    """Number of times that a client reduced its congestion window because the server echoed a mark."""


class RunWaitingTime(Finite):
    """Times that packets waited in the queue of a link in milliseconds, without transmission. Each figure is None if no
    packet left the queue in the interval, or if the link has neither a rate nor a trace."""

    mean: float | None
    """Mean, within 0.5 %."""
    p50: float | None
    """Median. This and the next three are at most 1 % above the true value."""
    p90: float | None
    """90th percentile."""
    p99: float | None
    """99th percentile."""
    max: float | None
    """Longest time."""


class RunLink(Finite):
    """One direction of an observed link in the measured interval, cross traffic included. The access links of a group
    are one entry."""

    link: str
    """Name of the link, or of the group whose access links are observed."""
    direction: str
    """Direction: up, down, forward or backward."""
    links: Count
    """Number of links: the clients of the group, or 1."""
    rate_bps: Count | None
    """Rate of each link in bits a second, or the mean rate of its trace; None without a rate."""
    carried_bps: float
    """Bits per second that the link carried; of several links their mean."""
    utilization: float | None
    """carried_bps / rate_bps. A packet counts when its transmission begins, so this may exceed 1 by a packet. None
    without a rate, and with a trace, whose rate in the interval is not its mean rate."""
    waiting_ms: RunWaitingTime
    """Times that packets waited in the queue, of all these links together."""
    mean_queue_bytes: float
    """Mean number of bytes in the queue; of several links their mean."""
    max_queue_bytes: Count
    """Largest number of bytes in the queue of any of these links."""
    packets: Count
    """Packets that arrived at these links."""
    duplicated: Count
    """Copies that these links made."""
    lost: Count
    """Packets that the loss model dropped."""
    dropped: Count
    """Packets that were dropped for another reason, copies among them."""
    marked: Count
    """Packets that the queue marked."""


class RunNetwork(Record):
    """Packets in the emulated network, and what became of them."""

    up: RunDirection
    """Packets from the clients."""
    down: RunDirection
    """Packets to the clients."""


class Stability(Record):
    """Whether an open loop was stable: how its backlog and its response times developed in the measured interval, in
    one run or in all runs of a point together."""

    growth: float
    """Growth of the backlog (transactions in progress and waiting arrivals), per second: arrivals minus ended
    transactions."""
    growth_by_age: float
    """Part of that growth which is due to transactions that take longer than the run had lasted."""
    growth_standard_error: float
    """Standard error of the growth, if the fortieths of the interval are independent of each other."""
    grows: bool
    """Whether the backlog grows without end, which is the reason ``overload``."""
    variance_inflation: float | None
    """Variance of the mean response time, divided by the variance that it would have if the fortieths of the interval
    were independent. None if too few transactions ended."""
    standard_error: float | None
    """Relative standard error of a run's mean response time that follows from this variance."""
    enough_s: float | None
    """Length of the measured interval, in seconds, that would be long enough. None if no length of up to two hours is
    long enough, or if too few transactions ended to tell."""


class Beginning(Finite):
    """How the clients of a group began, and how much of it the measured interval still shows."""

    cycle_s: float
    """Mean time from one transaction of a connection to the next, in seconds; in an open loop, of a client."""
    opened: float
    """Share of the ``ok`` transactions, from 0 to 1, that opened a connection."""
    opening: float
    """Relative difference from the mean response time of the long run that comes from how many connections were opened
    in the interval."""
    renews: bool = False
    """Whether connections are closed after a number of requests, so that some open at any time."""
    in_step: float
    """Relative difference from the throughput of the long run that comes from clients in step with each other; 0 if
    chance explains it."""
    enough_warmup_s: float | None
    """Length of the warm-up, in seconds, after which few connections would open. None if the warm-up was long enough,
    or if no length of up to two hours is long enough."""
    enough_s: float | None
    """Length of the measured interval, in seconds, that would be long enough. None if it was long enough, or if no
    length of up to two hours is long enough."""


class FirstLosses(Finite):
    """How the first losses of a connection change its response times."""

    losses: Count
    """Number of losses that count as the first ones."""
    longer: float
    """Relative amount by which the mean response time would be longer if all connections had had so many losses."""
    standard_error: float
    """Standard error of longer."""


class CongestionWindows(Finite):
    """How far losses had shaped the congestion windows of a group's kept connections."""

    needed: float
    """Number of loss events after which the window of a connection no longer depends on its beginning."""
    fewer: float
    """Share of the ``ok`` transactions, from 0 to 1, whose connection had had fewer loss events than that when the
    request was sent."""
    recovering: float
    """Time that a window needs to recover from a loss event, divided by the time that responses take between two loss
    events."""
    slower: float
    """Time that a response would take with the windows of the long run, divided by the mean time that it took. A rule
    of thumb estimates it, rather too high."""
    effect: FirstLosses | None
    """How the first losses of a connection change its response times. None if too few connections had so many losses.
    """
    unsettled: bool
    """Whether too many response times come from windows that still depend on their beginning."""
    enough_warmup_s: float | None
    """Length of the warm-up, in seconds, after which few connections would have had fewer loss events than needed. None
    if the warm-up was long enough, or if no length of up to two hours is long enough."""


class RunRequest(Record):
    """One named request of a group."""

    name: str
    """Name of the request."""
    throughput: float
    """``ok`` transactions a second."""
    goodput_bps: float
    """Bits of the bodies of ``ok`` transactions a second."""
    outcomes: dict[str, int]
    """Number of transactions by outcome."""
    statuses: dict[str, int]
    """Number of complete responses by status code."""
    response_time_ms: RunResponseTime
    """Response times of ``ok`` transactions in milliseconds, from the intended start if there is one."""
    all_response_time_ms: RunResponseTime
    """Response times of all transactions that ended, whatever their outcome."""


class RunSessions(Record):
    """Whole sessions of a group or of all clients. A session is over with its last step, or with the first step that is
    not ok; it ends as that step does.
    """

    throughput: float
    """Sessions a second whose steps were all ``ok``."""
    goodput_bps: float
    """Bits of the bodies of these sessions a second."""
    outcomes: dict[str, int]
    """Number of sessions by outcome."""
    statuses: dict[str, int]
    """Number of complete responses to the steps that sessions ended with, by status code."""
    response_time_ms: RunResponseTime
    """Response times of ``ok`` sessions in milliseconds: sums of those of their steps, without the pauses. The first
    step's is from its intended start if there is one."""
    all_response_time_ms: RunResponseTime
    """The same of all sessions that ended. A session that failed counts with an hour, longer than any other; the mean
    is None."""
    duration_s: float | None
    """How long ``ok`` sessions lasted on average, pauses included, in seconds, from the intended start if there is one;
    None without any."""
    failed_at: dict[str, int]
    """Number of sessions that were not ``ok``, by the name of the step that they ended with."""


class RunGroup(Record):
    """One group of clients. Results of older versions have outcomes and status codes only."""

    name: str
    """Name of the group."""
    background: bool = False
    """Whether the group is background load, which the figures of all clients leave out."""
    throughput: float | None = None
    """``ok`` transactions a second."""
    goodput_bps: float | None = None
    """Bits of the bodies of ``ok`` transactions a second."""
    outcomes: dict[str, int]
    """Number of transactions by outcome."""
    statuses: dict[str, int]
    """Number of complete responses by status code."""
    response_time_ms: RunResponseTime | None = None
    """Response times of ``ok`` transactions in milliseconds, from the intended start if there is one."""
    all_response_time_ms: RunResponseTime | None = None
    """Response times of all transactions that ended, whatever their outcome."""
    requests: list[RunRequest] | None = None
    """Figures of each named request, in the order of the workload; empty if the group's requests have no names. None in
    results of older versions."""
    sessions: RunSessions | None = None
    """Figures of whole sessions. None if the group's clients make none, and in results of older versions."""
    ages: Ages | None = None
    """Ages of the group's transactions in the interval, by which WASP judges the runs of a point together. None for a
    run that was stopped, and in results of older versions."""
    course: Course | None = None
    """When the group's transactions ended. None for a run that was stopped, and in results of older versions."""
    trend: Trend | None = None
    """Figures that say whether the group's throughput had settled. None for a run that was stopped, with too few
    transactions, and in results of older versions."""
    censoring: Censoring | None = None
    """How much the interval misses, because it was too short for some of the group's transactions. None with too few
    transactions to tell, and for a run that was stopped."""
    beginning: Beginning | None = None
    """How the group's clients began. None for a run that was stopped, with too few transactions, and in results of
    older versions."""
    windows: CongestionWindows | None = None
    """How far losses had shaped the congestion windows of the group's connections. None if no connection is kept, if
    nothing is lost, if the server's congestion control is not known to be Reno's or CUBIC, for a run that was stopped,
    with too few transactions, and in results of older versions."""
    open_loop: RunArrivals | None = None
    """Arrivals of the group's open loop; None in a closed loop."""
    stability: Stability | None = None
    """Figures that say whether the group's open loop was stable. None in a closed loop, for a run that was stopped, and
    in results of older versions."""


class RunSummary(Record):
    """One run."""

    run: int = 0
    """Number of the run, from 0."""
    interval_s: float
    """Length of the measured interval in seconds."""
    throughput: float
    """``ok`` transactions a second."""
    goodput_bps: float
    """Bits of the bodies of ``ok`` transactions a second."""
    outcomes: dict[str, int]
    """Number of transactions by outcome."""
    statuses: dict[str, int] | None = None
    """Number of complete responses (``ok``, ``http_error`` and ``wrong``) by status code. None in results of older
    versions."""
    by_group: list[RunGroup] | None = None
    """Figures of each group of clients, in the order of the file. None in results of older versions."""
    requests: list[RunRequest] | None = None
    """Figures of each named request, of all groups but background groups: requests of one name count as one. Empty if
    requests have no names. None in results of older versions."""
    sessions: RunSessions | None = None
    """Figures of whole sessions, of all groups but background groups. None if their clients make none, and in results
    of older versions."""
    retried: int | None = None
    """Number of transactions whose request the client repeated once, on a new connection."""
    response_time_ms: RunResponseTime
    """Response times of ``ok`` transactions in milliseconds, from the intended start if there is one."""
    all_response_time_ms: RunResponseTime | None = None
    """Response times of all transactions that ended, whatever their outcome. None in results of older versions."""
    censoring: Censoring | None = None
    """How much the interval misses, because it was too short for some transactions. None with too few transactions to
    tell, for a run that was stopped, and in results of older versions."""
    trend: Trend | None = None
    """Figures that say whether throughput had settled. None for a run that was stopped, with too few transactions, and
    in results of older versions."""
    open_loop: RunOpenLoop | None = None
    """Arrivals of the open loops of all groups but background groups. None if these groups are all closed loops."""
    stability: Stability | None = None
    """Figures that say whether these open loops were stable. None if open_loop is None, for a run that was stopped, and
    in results of older versions."""
    server_cpu: ServerCpu
    """Use of the server's CPUs; in simulation, of the model's CPUs."""
    server_work: list[ServerWork] | None = None
    """What the CPUs of the simulated server did, by kind of work. None without server.model.concurrency, in a live run,
    and in results of older versions."""
    ecn: RunEcn | None = None
    """Use of ECN. None if no group of clients asks for it, and in results of older versions."""
    server_tcp: ServerTcp | None = None
    """What the simulated server's TCP did in the measured interval; in results of older versions, in the whole run.
    None in a live run."""
    emulator: Emulator | None
    """The emulator itself: how busy and how late it was. None in simulation."""
    lateness: list[GroupLateness] | None = None
    """How late the emulator was with the packets of each group of clients. None in simulation and in results of older
    versions."""
    network: RunNetwork
    """Packets of clients and server in the emulated network, and what became of them."""
    observed: list[RunLink] = Field(default_factory=list)
    """Observed links: those that clients share, and the access links of groups with ``observe``. Empty in results of
    older versions."""
    cross_traffic: list[RunCrossTraffic] = Field(default_factory=list)
    """What became of each cross traffic, in the order of the file. Empty in results of older versions."""
    device: dict[str, int] | None = None
    """Increase of the counters of the emulator's network device over the measured interval. None in simulation."""
    client_device: dict[str, int] | None = None
    """Increase of the counters of the clients' network device over the measured interval. None if the clients are
    emulated."""
    tcpext: dict[str, int] | None = None
    """Increase of the TCP counters of the server's kernel (tables ``Tcp`` and ``TcpExt``) over the measured interval.
    None in simulation. Results of older versions have ``TcpExt`` only."""
    softnet: dict[str, int] | None = None
    """Increase of the counters of the machine's packet backlog over the measured interval. None in simulation."""
    transactions_kept_one_in: int = 1
    """The table ``transactions`` has one transaction in this many as a row; 1 if it has all. Figures, series and
    histogram always include all transactions."""
    invalid: list[Invalid]
    """Reasons why the run is not valid. A result of several runs leaves out reasons that it gives for all runs
    together; the run's own record has them."""

    notes: list[str] = Field(default_factory=list)
    """Remarks on the run that do not make it invalid, such as that another run shared the machine."""

    fates: dict[str, int] = Field(default_factory=dict)
    """Number of packets of the whole run, warm-up included, by what became of them: the fates of packets that
    docs/network.md lists. Those that no packet has met are there, too."""

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


def without_reasons(run: RunSummary, codes: Collection[str]) -> RunSummary:
    """The summary of a run without the reasons of these kinds."""
    return run.model_copy(update={"invalid": [reason for reason in run.invalid if reason.code not in codes]})


def with_notes(run: RunSummary, notes: Iterable[str]) -> RunSummary:
    """The summary of a run with more notes."""
    return run.model_copy(update={"notes": [*run.notes, *notes]})
