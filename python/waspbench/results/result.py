"""The figures of an experiment: its runs combined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from waspbench.experiment import Mode, loss_label
from waspbench.experiment.metrics import PERCENTILES
from waspbench.results import errors, together
from waspbench.results.asking import notes_of_mixtures
from waspbench.results.check import Check
from waspbench.results.columns import Line, with_groups
from waspbench.results.ecn import notes_of_ecn
from waspbench.results.estimates import (
    Estimate,
    ResponseTime,
    chosen,
    estimate_of,
    every_percentile,
    mean_of,
    response_time_of,
    too_few,
    with_percentiles,
)
from waspbench.results.formats import Record, json_of
from waspbench.results.groups import (
    Group,
    groups_of,
    notes_of,
    notes_of_dropped,
    notes_of_percentiles,
    notes_of_unseen,
)
from waspbench.results.lengths import FoundLengths
from waspbench.results.lines import figures_line, listing_by_request
from waspbench.results.mtu_notes import notes_of_mtus
from waspbench.results.named_requests import NamedRequest, requests_of
from waspbench.results.observed import ObservedLink, observed_links
from waspbench.results.parts import measured_parts
from waspbench.results.reasons import Advice, Reason, advice_of, reason_of
from waspbench.results.request_notes import notes_of_requests
from waspbench.results.server_notes import notes_of_model_file, notes_of_server
from waspbench.results.session_notes import notes_of_figures, notes_of_sessions
from waspbench.results.sessions import Sessions, sessions_of
from waspbench.results.shown import WithTables
from waspbench.results.summary import (
    Censoring,
    Emulator,
    RunDirection,
    RunResponseTime,
    RunSummary,
    ServerCpu,
    Stability,
    Trend,
    Waits,
    without_reasons,
)
from waspbench.results.trace_notes import notes_of_traces
from waspbench.stats import Populations
from waspbench.tabular import Listing

if TYPE_CHECKING:
    import polars as pl


class OpenLoop(Record):
    """The arrivals of all runs' open loops."""

    arrivals: Estimate
    """Arrivals a second."""
    begun: Estimate
    """Arrivals a second whose transaction began."""
    shed: int
    """Number of arrivals in all runs that were dropped because too many were waiting (arrivals.outstanding)."""
    from_start_ms: RunResponseTime
    """Response times from the actual start of the transaction, which a closed loop would have measured: means over the
    runs, but max over all runs. A percentile is None if a run has too few transactions for it: p50 needs 5, p90 29, p99
    299."""


class Direction(Record):
    """Packets of all runs in one direction."""

    packets: int
    """Packets that arrived at an access link."""
    lost: int
    """Packets that the loss model dropped."""
    loss_rate: float | None
    """Share of the packets that the loss model dropped: lost / packets. None if there were no packets."""
    label_loss_rate: float | None = None
    """Loss rate by which the loss models are named, as in Table 1 of the WASP paper; None if these rates differ between
    the groups."""
    stationary_loss_rate: float | None = None
    """Long-run loss rate of the loss models, weighted by the packets that met them."""
    expected_loss_rate: float | None = None
    """Expected loss rate, by which WASP judges loss_rate: mean of the packets' conditional probabilities of loss."""
    dropped: int
    """Packets that were dropped for another reason, such as a full queue."""
    dropped_early: int | None = None
    """Those of them that a queue dropped although it was not full, to slow their senders (red, codel, fq-codel, pie).
    None in results of older versions."""
    marked: int | None = None
    """Packets that a queue marked in the place of such a drop (ECN). This and the next four are sums over all links,
    the shared one included. None in results of older versions."""
    corrupted: int | None = None
    """Packets in which a link flipped a bit (corrupt). None in results of older versions."""
    duplicated: int | None = None
    """Copies of packets that links made (duplicate). None in results of older versions."""
    held: int | None = None
    """Packets that links held back so that later packets overtake them (reorder), those of cross traffic included. None
    in results of older versions."""
    reordered: int | None = None
    """Packets that were held back, and that at least one later packet overtook, those of cross traffic included. None
    in results of older versions."""


class CrossTraffic(Record):
    """Packets of one cross traffic in all runs. For access links they are those on all of them together."""

    name: str
    """Name of the cross traffic."""
    link: str
    """Link that it loads: the name of the link, or of a group of clients for their access links."""
    direction: str
    """Direction that it loads."""
    links: int
    """Number of links that it loads: the clients of the group, or 1."""
    offered_bps: Estimate
    """Bits of IP packets per second that arrived at all these links together."""
    packets: int
    """Packets that arrived at these links."""
    lost: int
    """Packets that the loss model dropped."""
    dropped: int
    """Packets that were dropped for another reason, such as a full queue; copies that the link made among them."""
    dropped_early: int
    """Those of them that a queue dropped although it was not full, to slow their senders (red, codel, fq-codel,
    pie)."""


class Network(Record):
    """Packets in the emulated network, and what became of them."""

    up: Direction
    """Packets from the clients."""
    down: Direction
    """Packets to the clients."""


class LogReading(Record):
    """How the lines of a log were read."""

    lines: int
    """Lines that are neither empty nor comments."""
    requests: int
    """Lines that are replayed."""
    other_methods: int
    """Lines that were left out because their method is not GET."""
    other_statuses: int
    """Lines that were left out because their status is not 200, 206 or 304."""
    bad: int
    """Lines that were left out because WASP cannot read them."""
    first_bad: list[str]
    """The first lines that WASP cannot read, with their numbers."""
    unknown_sizes: int
    """Number of files whose size no line gives."""


class GroupSite(Record):
    """Files that the clients of a group could ask for."""

    files: int
    """Number of files."""
    bytes: int
    """Number of bytes of all files together."""
    log: LogReading | None = None
    """How the lines of the log were read, if the workload replays one."""


class Site(GroupSite):
    """Files that the clients could ask for."""

    groups: dict[str, GroupSite] | None = None
    """The files of each group of clients, by its name; None if no group has a workload of its own, and in results of
    older versions. With it, log is None, because each group has its own."""


class Asked(Record):
    """The files that clients asked for in the measured intervals of all runs. Only ``wasp show`` determines it."""

    requests: int
    """Number of transactions."""
    files: int
    """Number of different files that clients asked for."""
    top_share: float
    """Share of the requests that asked for the most popular file."""
    slope: float | None
    """Slope of the number of requests over the rank of the file, on logarithmic axes, over the first hundred ranks;
    None for fewer than ten files."""
    mean_bytes: float | None
    """Mean size of the bodies of ``ok`` transactions; None without any."""


class Result(WithTables):
    """The result of an experiment without a sweep, or of one point of a sweep. Its JSON is what ``wasp bench --json``
    prints, and ``wasp run --json`` without a sweep.

    Methods that read tables or write reports raise an InputError if the result has no files.
    """

    name: str
    """Name of the experiment."""
    mode: Mode
    """live or sim."""
    seed: int
    """Seed of all random choices."""
    throughput: Estimate
    """``ok`` transactions a second."""
    response_time_ms: ResponseTime
    """Response times of ``ok`` transactions in milliseconds, from the intended start if there is one."""
    all_response_time_ms: ResponseTime | None = None
    """Response times of all transactions that ended, whatever their outcome. None in results of older versions."""
    groups: list[Group] = Field(default_factory=list)
    """Figures of each group of clients; empty in results of older versions."""
    requests: list[NamedRequest] = Field(default_factory=list)
    """Figures of each named request, of all groups but background groups: requests of one name count as one. Empty if
    requests have no names, and in results of older versions."""
    sessions: Sessions | None = None
    """Figures of whole sessions, of all groups but background groups. None if their clients make none, and in results
    of older versions."""
    open_loop: OpenLoop | None = None
    """Arrivals of the open loops of all groups but background groups. None if these groups are all closed loops."""
    goodput_bps: Estimate
    """Bits of the bodies of ``ok`` transactions a second."""
    outcomes: dict[str, int]
    """Number of transactions of all runs by outcome."""
    statuses: dict[str, int] | None
    """Number of complete responses (``ok``, ``http_error`` and ``wrong``) of all runs by status code. None in results
    of older versions."""
    errors: float | None
    """Share of the ended transactions that were not ok; None if none ended."""
    retried: int | None = None
    """Number of transactions whose request the client repeated once, on a new connection. None in results of older
    versions."""
    server_cpu: ServerCpu
    """Use of the server's CPUs, means over the runs."""
    emulator: Emulator
    """The emulator itself. cpu and others are means over the runs; run_delay, run_delay_by_others, lag_us and unread_us
    are the largest of all runs. All its figures are None in simulation."""
    network: Network
    """Packets of clients and server in the emulated network, and what became of them, summed over the runs."""
    cross_traffic: list[CrossTraffic] = Field(default_factory=list)
    """What became of each cross traffic, in the order of the file: mean rate, and packets summed over the runs. Empty
    without cross traffic, and in results of older versions."""
    observed: list[ObservedLink] = Field(default_factory=list)
    """Observed links: those that clients share, and the access links of groups with ``observe``. Empty in results of
    older versions."""
    censoring: Censoring | None = None
    """How much the measured intervals of all runs together miss, because they were too short for some transactions.
    None with too few transactions to tell, and in results of older versions."""
    trend: Trend | None = None
    """Figures that say whether throughput had settled, of all runs together. None with too few transactions to tell,
    and in results of older versions."""
    stability: Stability | None = None
    """Figures that say whether these open loops were stable, of all runs together. None if open_loop is None, with too
    few transactions to tell, and in results of older versions."""
    valid: bool
    """Whether the result is valid: every run is valid, no reason speaks against all runs together, and no run is
    missing."""
    invalid_reasons: list[Reason]
    """Reasons why the result is not valid; empty if it is valid."""
    advice: Advice | None = None
    """Lengths to try next. None if no lengths would help, and in results of older versions."""
    notes: list[str]
    """Remarks that do not make the result invalid, such as errors above 1 % and what may help."""
    interrupted: bool = False
    """Whether the experiment ended before all runs were complete."""
    runs: list[RunSummary]
    """Each run by itself."""
    server: dict[str, Any] = Field(default_factory=dict)
    """The server under test."""
    clients: list[dict[str, Any]] = Field(default_factory=list)
    """The groups of clients, with every default filled in."""
    scenario: dict[str, Any] = Field(default_factory=dict)
    """Input of the engine for the first run."""
    site: Site | None = None
    """Files that the clients could ask for. None in results of older versions."""
    lengths: FoundLengths | None = None
    """How WASP found the lengths of warm-up and measured interval, if the experiment leaves them open (``auto``)."""
    checks: list[Check] = Field(default_factory=list)
    """Results of the experiment's conditions (``assert``); empty in results that are read again, as by ``wasp show``.
    """
    results: str | None = None
    """Directory of the results; None if none was named."""
    percentiles: list[str] = Field(default_factory=lambda: list(PERCENTILES))
    """Names of the percentiles that tables show."""
    asked: Asked | None = None
    """Files that clients asked for, if there is more than one and no group has a workload of its own. None unless
    ``wasp show`` determined it."""
    asked_by_group: dict[str, Asked] | None = None
    """Files that the clients of each group asked for, if that is more than one, by the name of the group; background
    groups are among them. None if no group has a workload of its own, and unless ``wasp show`` determined it."""

    @property
    def line(self) -> Line:
        """The figures of all clients, as tables show them."""
        return figures_line(self, len(self.runs), valid=self.valid, server_cpu=self.server_cpu.busy)

    @property
    def group_lines(self) -> dict[str, Line]:
        """The figures of each group of clients by its name, as tables show them."""
        return {
            group.name: figures_line(group, len(self.runs), valid=group.valid, background=group.background)
            for group in self.groups
        }

    @property
    def listing(self) -> Listing:
        """The table with a line for all clients, and one for each group if there are several."""
        return with_groups([({}, self.line, self.group_lines)], self.percentiles)

    @property
    def listing_by_request(self) -> Listing:
        """The table with a line for each named request and for whole sessions, of all clients or of each group. It has
        no lines if requests have no names.
        """
        return listing_by_request([({}, self)], self.percentiles)

    def to_frame(self, *, by_group: bool = False, by_request: bool = False) -> pl.DataFrame:
        """A data frame of polars with a row for each run: its figures, and whether they are valid. Its ``to_pandas()``
        returns a frame of pandas.

        Args:
            by_group: whether each group of clients has a row, too, in addition to the row of all clients.
            by_request: whether each named request has a row, too, and whole sessions if clients make some: of all
                clients, and of each group if ``by_group``.
        """
        from waspbench.results.frames.runs import run_frame  # which takes polars to be imported

        return run_frame(self, by_group=by_group, by_request=by_request)

    def to_json(self) -> str:
        """The result as one JSON object, with the lines of ``listing`` as its field ``table``."""
        return json_of(self, self.listing.rows)


def combine(
    runs: Sequence[RunSummary],
    populations: Iterable[Populations],
    *,
    missing: Reason | None = None,
    percentiles: Sequence[str] = PERCENTILES,
    judged_percentiles: Iterable[str] = (),
    **about: Any,
) -> Result:
    """The result of ``runs`` (at least one).

    Args:
        runs: their summaries.
        populations: the histograms of their response times (nanoseconds).
        missing: why runs are missing, if any are.
        percentiles: names of the percentiles that tables show.
        judged_percentiles: names of those that the result is to have besides, such as those of its conditions.
        about: the fields of ``Result`` that say what was measured.
    """
    if not runs:
        raise ValueError("runs: an experiment needs at least one run to have a result")
    found = list(populations)
    names = every_percentile([*percentiles, *judged_percentiles])
    runs = [with_percentiles(run, own, names) for run, own in zip(runs, found, strict=True)]
    judged = together.judge(runs)
    of_all: list[Reason] = []
    if judged is not None and len(runs) > 1:
        runs = [without_reasons(run, together.CODES) for run in runs]
        of_all = [reason_of(reason, None) for reason in judged.invalid]
    times = [run.response_time_ms for run in runs]
    everything = [run.all_response_time_ms for run in runs if run.all_response_time_ms is not None]
    reasons = [*of_all, *(reason_of(reason, run.run) for run in runs for reason in run.invalid)]
    reasons += [missing] if missing else []
    outcomes = errors.total(run.outcomes for run in runs) or {}
    statuses = errors.total(run.statuses for run in runs)
    groups = groups_of(runs, found, names, about, {reason.group for reason in reasons}, judged)
    several = len(groups) > 1
    requests = requests_of([run.requests or [] for run in runs], found, names, several=several)
    sessions = sessions_of([run.sessions for run in runs], found, names, several=False)
    shown_parts = measured_parts(requests, sessions, groups)
    retried = [run.retried for run in runs]
    return Result(
        throughput=estimate_of([run.throughput for run in runs]),
        response_time_ms=response_time_of(times, [population.ok for population in found], names),
        all_response_time_ms=response_time_of(everything, [population.all for population in found], names)
        if len(everything) == len(runs)
        else None,
        groups=groups,
        requests=requests,
        sessions=sessions,
        open_loop=_open_loop(runs),
        goodput_bps=estimate_of([run.goodput_bps for run in runs]),
        outcomes=outcomes,
        statuses=statuses,
        errors=errors.share(outcomes),
        retried=None if None in retried else sum(filter(None, retried)),
        server_cpu=_server_cpu([run.server_cpu for run in runs]),
        emulator=_emulator([run.emulator for run in runs if run.emulator]),
        network=Network(
            up=_direction([run.network.up for run in runs], _label(about, "up")),
            down=_direction([run.network.down for run in runs], _label(about, "down")),
        ),
        cross_traffic=_cross_traffic(runs),
        observed=observed_links(runs),
        censoring=None if judged is None else judged.censoring,
        trend=None if judged is None else judged.trend,
        stability=None if judged is None else judged.stability,
        valid=not reasons,
        invalid_reasons=reasons,
        advice=advice_of(reasons),
        notes=[
            *_notes(runs, reasons, outcomes, statuses, groups, percentiles, about),
            *notes_of_requests(shown_parts, outcomes.get("ok", 0), percentiles),
            *notes_of_figures(shown_parts, outcomes, percentiles, about.get("scenario", {})),
            *notes_of_unseen(groups),
        ],
        percentiles=list(percentiles),
        runs=list(runs),
        **about,
    )


_OF_START = ("p50", "p90", "p99")
"""The percentiles that the engine tells of response times from the actual start."""


def _open_loop(runs: Sequence[RunSummary]) -> OpenLoop | None:
    loops = [(run.open_loop, run.interval_s) for run in runs if run.open_loop is not None]
    if not loops:
        return None
    times = [loop.from_start_ms for loop, _ in loops]
    least = min(run.outcomes.get("ok", 0) for run in runs)
    return OpenLoop(
        arrivals=estimate_of([loop.arrivals / seconds for loop, seconds in loops]),
        begun=estimate_of([loop.begun / seconds for loop, seconds in loops]),
        shed=sum(loop.shed for loop, _ in loops),
        from_start_ms=RunResponseTime(
            mean=chosen((time.mean for time in times), mean_of),
            max=chosen((time.max for time in times), max),
            **{
                name: None if too_few(name, least) else chosen((getattr(time, name) for time in times), mean_of)
                for name in _OF_START
            },
        ),
    )


def _notes(
    runs: Sequence[RunSummary],
    reasons: Sequence[Reason],
    outcomes: dict[str, int],
    statuses: dict[str, int] | None,
    groups: Sequence[Group],
    percentiles: Sequence[str],
    about: Mapping[str, Any],
) -> list[str]:
    """Every note once: those of the runs, what is to be said of the errors of all, and which groups are small."""
    server, scenario = about.get("server", {}).get("kind", ""), about.get("scenario", {})
    judged = {reason.group for reason in reasons if reason.code == "errors"}
    overloaded = {reason.group for reason in reasons if reason.code == "overload"}
    if len(groups) > 1:
        of_errors = errors.notes_by_group(groups, scenario, server, judged)
    else:
        of_errors = errors.notes(outcomes, statuses, scenario, server, judged=None in judged)
    of_groups = [
        *notes_of(groups),
        *notes_of_percentiles(outcomes.get("ok", 0), groups, percentiles),
        *notes_of_dropped(runs, groups, overloaded),
    ]
    lengths: FoundLengths | None = about.get("lengths")
    of_lengths = [lengths.text] if lengths is not None and lengths.why is not None else []
    of_links = [
        *notes_of_traces(scenario, len(runs)),
        *notes_of_mtus(scenario, runs),
        *notes_of_ecn(scenario, runs, about.get("mode")),
    ]
    of_workloads = [*notes_of_mixtures(scenario), *notes_of_sessions(scenario)]
    of_server = [*notes_of_server(scenario, runs), *notes_of_model_file(about.get("server", {}))]
    of_runs = [note for run in runs for note in run.notes]
    every = [*of_runs, *of_workloads, *of_server, *of_lengths, *of_errors, *of_links, *of_groups]
    return list(dict.fromkeys(every))


def _server_cpu(runs: Sequence[ServerCpu]) -> ServerCpu:
    return ServerCpu(
        busy=chosen((run.busy for run in runs), mean_of),
        others=chosen((run.others for run in runs), mean_of),
        steal=chosen((run.steal for run in runs), mean_of),
        processes_s=chosen((run.processes_s for run in runs), mean_of),
        switches=chosen((run.switches for run in runs), mean_of),
    )


def _emulator(runs: Sequence[Emulator]) -> Emulator:
    return Emulator(
        cpu=chosen((run.cpu for run in runs), mean_of),
        others=chosen((run.others for run in runs), mean_of),
        run_delay=chosen((run.run_delay for run in runs), max),
        run_delay_by_others=chosen((run.run_delay_by_others for run in runs), max),
        lag_us=_waits([run.lag_us for run in runs]),
        unread_us=_waits([run.unread_us for run in runs]),
    )


def _waits(runs: Sequence[Waits]) -> Waits:
    """The worst run's."""
    return Waits(
        p50=chosen((run.p50 for run in runs), max),
        p99=chosen((run.p99 for run in runs), max),
        max=chosen((run.max for run in runs), max),
    )


def _direction(runs: Sequence[RunDirection], label: float | None) -> Direction:
    packets, lost = sum(run.packets for run in runs), sum(run.lost for run in runs)

    def weighted(rates: Sequence[float | None]) -> float | None:
        known = [(rate, run.packets) for rate, run in zip(rates, runs, strict=True) if rate is not None]
        return sum(rate * count for rate, count in known) / packets if packets and known else None

    return Direction(
        packets=packets,
        lost=lost,
        loss_rate=lost / packets if packets else None,
        label_loss_rate=label,
        stationary_loss_rate=weighted([run.stationary_loss_rate for run in runs]),
        expected_loss_rate=weighted([run.expected_loss_rate for run in runs]),
        dropped=sum(run.dropped for run in runs),
        dropped_early=_sum([run.dropped_early for run in runs]),
        marked=_sum([run.marked for run in runs]),
        corrupted=_sum([run.corrupted for run in runs]),
        duplicated=_sum([run.duplicated for run in runs]),
        held=_sum([run.held for run in runs]),
        reordered=_sum([run.reordered for run in runs]),
    )


def _cross_traffic(runs: Sequence[RunSummary]) -> list[CrossTraffic]:
    """What became of each cross traffic in all runs, which have the same."""
    of_all = zip(*(run.cross_traffic for run in runs), strict=True)
    return [
        CrossTraffic(
            name=each[0].name,
            link=each[0].link,
            direction=each[0].direction,
            links=each[0].links,
            offered_bps=estimate_of([run.offered_bps for run in each]),
            packets=sum(run.packets for run in each),
            lost=sum(run.lost for run in each),
            dropped=sum(run.dropped for run in each),
            dropped_early=sum(run.dropped_early for run in each),
        )
        for each in of_all
    ]


def _sum(counts: Sequence[int | None]) -> int | None:
    """The sum of counts; None where one is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _label(about: Mapping[str, Any], way: str) -> float | None:
    """The label that all groups' loss in one direction has in common."""
    labels = {loss_label(group["loss"][way]) for group in about.get("clients", ())}
    return labels.pop() if len(labels) == 1 else None
