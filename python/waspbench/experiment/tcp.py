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
    """TCP of one endpoint. A field that is left out has the value of the preset, except nagle."""

    preset: TcpPreset = "linux"
    """TCP stack whose values the other fields have unless they are set: today's Linux, or BSD as of 1999."""
    mss: Annotated[int, Field(ge=1, le=65495)] | None = None
    """Largest segment that this end announces (MSS), in bytes of payload."""
    window_scaling: bool | None = None
    """Whether window scaling (RFC 7323) is offered."""
    sack: bool | None = None
    """Whether selective acknowledgement (RFC 2018) is offered."""
    timestamps: bool | None = None
    """Whether timestamps (RFC 7323) are offered."""
    ecn: bool | None = None
    """Whether this end asks for explicit congestion notification (ECN, RFC 3168) and agrees to it. If false, it does
    neither. Unless set, it does not ask; with preset linux it agrees if the other end asks (Linux tcp_ecn = 2)."""
    path_mtu_discovery: bool | None = None
    """Whether segments have the flag "do not fragment" and become as short as routers report (path MTU discovery, RFC
    1191). If false, routers fragment segments that are longer than a link's MTU (Linux ip_no_pmtu_disc = 1)."""
    min_path_mtu: Annotated[int, Field(ge=88, le=65535)] | None = None
    """Smallest packet, in bytes with all headers, to which path MTU discovery shortens segments. On a path with a
    smaller MTU, routers may fragment them (Linux min_pmtu)."""
    receive_buffer: PositiveSize | None = None
    """Fixed size of the receive buffer (SO_RCVBUF). This end never announces a larger window. Unless set, a Linux
    buffer grows with what the application reads in a round trip, and its first window is about 64 KiB."""
    receive_buffer_max: PositiveSize | None = None
    """Maximum memory of a receive buffer that grows (the maximum of tcp_rmem). With full segments the window reaches
    five eighths of it. It cannot be set together with receive_buffer, nor with preset bsd1999, whose buffer is fixed.
    """
    send_buffer: PositiveSize | None = None
    """Fixed size of the send buffer. No more than this is in flight, and the application always writes the next bytes
    in time. Unless set, a Linux buffer grows with the congestion window, and the application writes again when a third
    of it is free."""
    send_buffer_overhead: PositiveSize | None = None
    """Memory that a segment in a growing send buffer takes in addition to its payload. The value is at most 4KiB. With
    640B, as in Debian's kernels, the buffer starts with 87,040 bytes. Kernels without wireless networks have 576B and
    start with 46,080 bytes (the figure behind tb in ss -m). It cannot be set together with send_buffer, nor with preset
    bsd1999."""
    send_buffer_max: PositiveSize | None = None
    """Maximum memory of a send buffer that grows (the maximum of tcp_wmem). It cannot be set together with send_buffer,
    nor with preset bsd1999, whose buffer is fixed."""
    initial_window: PositiveCount | None = None
    """Initial congestion window, in segments."""
    recovery: Recovery | None = None
    """Loss recovery: reno (RFC 5681), newreno (RFC 6582), sack (RFC 6675) or rack (RACK-TLP, RFC 8985)."""
    congestion: Congestion | None = None
    """Congestion control: reno (RFC 5681) or cubic."""
    cubic: Cubic | None = None
    """Variant of CUBIC and of HyStart: Linux's, or that of RFC 9438 and RFC 9406; with congestion cubic only."""
    hystart: bool | None = None
    """Whether a rising round-trip time ends slow start before a loss does (HyStart). In Linux's variant a long train of
    acknowledgements ends it, too. With congestion cubic only."""
    ack_counting: AckCounting | None = None
    """What the congestion window grows by: the number of acknowledgements (RFC 5681), or the bytes (RFC 3465) or the
    segments that they cover."""
    abc_limit: PositiveCount | None = None
    """Maximum number of segments that one acknowledgement counts for in slow start (RFC 3465); with ack_counting bytes
    only."""
    initial_rto: PositiveDuration | None = None
    """Retransmission timeout before the first round-trip time is known."""
    min_rto: PositiveDuration | None = None
    """Shortest retransmission timeout."""
    max_rto: PositiveDuration | None = None
    """Longest retransmission timeout."""
    timer_granularity: PositiveDuration | None = None
    """Tick of the clock that timers count by, and to which timeouts are rounded up: 4ms as in a Linux with HZ = 250,
    1ms as with HZ = 1000. Linux's CUBIC counts time in these ticks, too, unless timer_slack is ticks."""
    timer_slack: TimerSlack | None = None
    """How late a timer fires. none: not at all, for exact formulas. wheel: as on Linux's timer wheel, which has an edge
    every 4 ms up to 252 ms, every 32 ms up to 2 s and every 256 ms up to 16 s, with ticks of 4 ms; the reordering
    timer, and a probe of more than one segment, wait for 2 ms more. ticks: timers fire at ticks of the clock only, and
    the first tick counts as a whole one, so that a timer of n ticks fires after n - 1 to n of them (BSD)."""
    syn_linear_timeouts: Count | None = None
    """SYN retransmissions before the timeout begins to double."""
    syn_retries: Count | None = None
    """SYN retransmissions before the connection is given up, in addition to syn_linear_timeouts. With 6 here and 4
    there, it is given up after 131 s."""
    retries: Count | None = None
    """Retransmissions of one segment before the connection is given up."""
    delayed_ack: Duration | None = None
    """Time by which an acknowledgement may be delayed; with 0ms every segment is acknowledged at once."""
    delayed_ack_sweep: bool | None = None
    """Whether one timer of the whole host sends all delayed acknowledgements (BSD), rather than one timer for each
    connection."""
    quickack_segments: Count | None = None
    """Maximum number of segments in a row that are acknowledged at once: at the start of a connection, after an idle
    time above the RTO, and after duplicate segments. If half of the segments that fit into the window are fewer, that
    is the limit."""
    comp_sack_nr: Count | None = None
    """Maximum number of acknowledgements in a row that are left out for data above a gap (tcp_comp_sack_nr). The first
    three are always sent. With 0 all are sent."""
    limited_transmit: bool | None = None
    """Whether the first duplicate acknowledgements release new segments (RFC 3042)."""
    segmentation_offload: bool | None = None
    """Whether TCP hands frames of several segments to the network device, which cuts them up. A short frame waits for
    acknowledgements that follow at once, and the last segment of a frame has the PSH flag (Linux tcp_tso_should_defer).
    """
    idle_restart: IdleRestart | None = None
    """What an idle time above the RTO does to the congestion window: nothing (keep), back to its start (restart-window,
    RFC 5681), or halving for each RTO (decay, RFC 2861)."""
    nagle: bool | None = None
    """Whether a small segment waits until earlier segments are acknowledged (RFC 896), or with preset linux earlier
    small ones (Minshall). Unless set, it does not wait, as in applications that set TCP_NODELAY."""
    duplicate_ack_threshold: PositiveCount | None = None
    """Duplicate acknowledgements that start a fast retransmission."""
    time_wait: Duration | None = None
    """Time for which a closed connection keeps its port (TIME-WAIT)."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it: the preset and what overrides it."""
        return self.model_dump(exclude_none=True)
