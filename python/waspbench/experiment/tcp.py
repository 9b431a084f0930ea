"""TCP options of an endpoint: a preset, and the constants that differ from it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from waspbench.experiment.base import Part, one_of
from waspbench.experiment.units import Duration, PositiveDuration, PositiveSize

TcpPreset = Annotated[Literal["linux", "bsd1999"], BeforeValidator(one_of("linux", "bsd1999"))]
Recovery = Annotated[
    Literal["reno", "newreno", "sack", "rack"], BeforeValidator(one_of("reno", "newreno", "sack", "rack"))
]
Congestion = Annotated[Literal["reno", "cubic"], BeforeValidator(one_of("reno", "cubic", later=("bbr",)))]
Cubic = Annotated[Literal["linux", "rfc9438"], BeforeValidator(one_of("linux", "rfc9438"))]
AckCounting = Annotated[Literal["acks", "bytes", "segments"], BeforeValidator(one_of("acks", "bytes", "segments"))]
IdleRestart = Annotated[
    Literal["keep", "restart-window", "decay"], BeforeValidator(one_of("keep", "restart-window", "decay"))
]
TimerSlack = Annotated[Literal["none", "wheel", "ticks"], BeforeValidator(one_of("none", "wheel", "ticks"))]
Count = Annotated[int, Field(ge=0, le=2**32 - 1)]
PositiveCount = Annotated[int, Field(ge=1, le=2**32 - 1)]


class Tcp(Part):
    """One TCP endpoint. A constant left out is the preset's, but for nagle."""

    preset: TcpPreset = "linux"
    """Stack whose constants hold unless set: today's Linux, or a BSD stack of 1999."""
    mss: Annotated[int, Field(ge=1, le=65495)] | None = None
    """Largest segment that this end announces, in bytes of payload."""
    window_scaling: bool | None = None
    """Whether window scaling (RFC 7323) is offered."""
    sack: bool | None = None
    """Whether selective acknowledgement (RFC 2018) is offered."""
    timestamps: bool | None = None
    """Whether timestamps (RFC 7323) are offered."""
    receive_buffer: PositiveSize | None = None
    """Receive buffer of a fixed size, which is the largest window that this end announces (SO_RCVBUF). Without it a
    Linux buffer sizes itself by what the application reads in a round trip; its window starts near 64 KiB."""
    receive_buffer_max: PositiveSize | None = None
    """Most memory that a buffer takes that sizes itself (the maximum of tcp_rmem); the window reaches five eighths of
    it with full segments. Not beside receive_buffer, and not with preset bsd1999, whose buffer is fixed."""
    send_buffer: PositiveSize | None = None
    """Send buffer of a fixed size: so much is in flight at most, and the application is always in time with more. A
    Linux buffer without it grows with the congestion window, and the application writes on when a third is free."""
    send_buffer_overhead: PositiveSize | None = None
    """Memory that a segment takes beside its payload in a send buffer that sizes itself; at most 4KiB. With 640B, as in
    Debian's kernels, the buffer begins with 87,040 bytes. Kernels without wireless networks have 576B and begin with
    46,080 bytes (the figure behind tb in ss -m). Not beside send_buffer, and not with preset bsd1999."""
    send_buffer_max: PositiveSize | None = None
    """Most memory that a send buffer takes that sizes itself (the maximum of tcp_wmem). Not beside send_buffer, and not
    with preset bsd1999, whose buffer is fixed."""
    initial_window: PositiveCount | None = None
    """Initial congestion window, in segments."""
    recovery: Recovery | None = None
    """Loss recovery: reno (RFC 5681), newreno (RFC 6582), sack (RFC 6675) or rack (RACK-TLP, RFC 8985)."""
    congestion: Congestion | None = None
    """Congestion control: reno (RFC 5681) or cubic."""
    cubic: Cubic | None = None
    """Whose CUBIC, and with it whose HyStart: that of Linux, or of RFC 9438 and 9406; with congestion cubic only."""
    hystart: bool | None = None
    """Whether a rising round-trip time, with Linux's also a long train of acknowledgements, ends slow start before a
    loss does; with congestion cubic only."""
    ack_counting: AckCounting | None = None
    """What makes the window grow: acknowledgements (RFC 5681), or the bytes (RFC 3465) or segments they cover."""
    abc_limit: PositiveCount | None = None
    """Segments that an acknowledgement counts for at most in slow start (RFC 3465); with ack_counting bytes only."""
    initial_rto: PositiveDuration | None = None
    """Retransmission timeout before the first round-trip time is known."""
    min_rto: PositiveDuration | None = None
    """Least retransmission timeout."""
    max_rto: PositiveDuration | None = None
    """Greatest retransmission timeout."""
    timer_granularity: PositiveDuration | None = None
    """Tick of the clock that timers count by, and to which timeouts are rounded up: 4ms is a Linux with HZ = 250, 1ms
    one with HZ = 1000. Linux's CUBIC counts by it too, unless timer_slack is ticks."""
    timer_slack: TimerSlack | None = None
    """How late timers are: not at all (none, for exact formulas), as those on the timer wheel of Linux (wheel: an edge
    every 4 ms up to 252 ms, every 32 ms up to 2 s, every 256 ms up to 16 s with ticks of 4 ms; the
    reordering timer, and a probe of more than one segment, wait for 2 ms more), or at the ticks alone (ticks, BSD)."""
    syn_linear_timeouts: Count | None = None
    """SYN retransmissions before the timeout begins to double."""
    syn_retries: Count | None = None
    """SYN retransmissions before giving up, beside syn_linear_timeouts: 6 and 4 give the connection up after 131 s."""
    retries: Count | None = None
    """Retransmissions of one segment before the connection is given up."""
    delayed_ack: Duration | None = None
    """Delay of an acknowledgement; 0ms acknowledges every segment."""
    delayed_ack_sweep: bool | None = None
    """Whether acknowledgements wait for one timer of the whole host (BSD) rather than for one of their connection."""
    quickack_segments: Count | None = None
    """Most segments in a row that are acknowledged at once: at the start of a connection, after an idle time above the
    RTO, and after duplicates; half of what the window holds if that is less."""
    comp_sack_nr: Count | None = None
    """Most acknowledgements of data above a gap that are left out in a row, behind the first three (tcp_comp_sack_nr);
    with 0 each leaves."""
    limited_transmit: bool | None = None
    """Whether the first duplicate acknowledgements release new segments (RFC 3042)."""
    segmentation_offload: bool | None = None
    """Whether segments leave in frames of several that the network device cuts up. A short frame waits for the
    acknowledgements that follow at once, and the last segment of a frame is pushed (Linux tcp_tso_should_defer)."""
    idle_restart: IdleRestart | None = None
    """What an idle time above the RTO does to the window: nothing, back to its start (RFC 5681), halving (RFC 2861)."""
    nagle: bool | None = None
    """Whether small segments wait for the acknowledgement of earlier ones (RFC 896), with preset linux of small ones
    (Minshall). Unless set they do not, as with applications that set TCP_NODELAY."""
    duplicate_ack_threshold: PositiveCount | None = None
    """Duplicate acknowledgements that start a fast retransmission."""
    time_wait: Duration | None = None
    """Time that a closed connection keeps its port."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it: the preset and what overrides it."""
        return self.model_dump(exclude_none=True)
