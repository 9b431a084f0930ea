"""Live runs over emulated distance: cost of a transaction, exactness, bulk, and how many clients there may be."""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import scale
import waspbench
from repeats import REPEATS, first_that_counts, repeated, too_few
from usage import figure, product, share
from waspbench.experiment import parse
from waspbench.results import RunSummary
from waspbench.testbed import Placement, cpus

UNSETTLED = ("warmup",)
"""Codes of the reasons that say that a rate was not steady."""
ATTEMPTS = 3
"""Runs for accuracy: the first without steal and within its limits is it, else the best."""
STEAL = 0.01
"""Part of the CPUs' time beyond which nothing is said of accuracy."""
LAG_P50, LAG_P99 = 60.0, 300.0
"""Goals: microseconds by which packets leave late."""
COST = 0.6
"""Goal: the emulator's CPU time for a transaction to the server's."""
BULK = 1.5e9
"""Goal: bits a second."""
BULK_LINK = {"rtt": "10ms", "bandwidth": "2Gbit/s", "queue": "8MB"}
"""A link that is faster than the goal, and slower than what the emulator can carry at most: it then keeps up."""
SCALE = 20_000
"""Clients at once."""
SCALE_WARM_UP = "20s"
"""Some pauses. Each client begins in one, so all connections are open well before the end."""
THINK = "4s"
PEAK = 4_096
"""Clients in the first run for the highest rate; each that is valid is followed by one with half as many more."""
PEAK_RUNS = 6
"""Runs for the highest rate at most."""
FASTER = 1.02
"""What a run with more clients must at least do of the rate before, for more of them to be tried."""
SATURATED = 0.95
"""Busy share of the server's CPUs from which on the server is the limit."""
WITHIN_REACH = 0.7
"""What is asked of a server that cannot do half of its rate at RTT 0 over the distance: this part of what it can do."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """One live run, or the median one of several."""

    what: str
    clients: int
    requests_per_s: float
    server_busy: float | None
    server_us: float | None
    """CPU microseconds of the server's CPUs for a transaction, kernel included."""
    emulator_busy: float | None
    emulator_us: float | None
    lag_p50_us: float | None
    lag_p99_us: float | None
    steal: float | None
    ok: int
    not_ok: int
    """Transactions that ended in another way in the measured interval."""
    complaints: tuple[str, ...]
    unsettled: tuple[str, ...] = ()
    """Why its rate is not that of a steady state. Nothing against its cost: both CPU times are of the same seconds."""
    beyond_reach: float | None = None
    """The rate that was wanted, where the server was the limit at a lower one: the run is at `WITHIN_REACH` of that."""
    runs: tuple["Row", ...] = ()
    """All the runs, if it is the one of median cost of several."""
    unread_p99_us: float | None = None
    """Microseconds that frames may have waited before the emulator read them."""
    faster: tuple["Row", ...] = ()
    """For the highest rate: runs of a higher one, none of which is valid."""

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against the run."""
        return not (self.complaints or self.unsettled)

    @property
    def cost(self) -> float | None:
        """The emulator's CPU time to the server's."""
        return self.emulator_us / self.server_us if self.emulator_us is not None and self.server_us else None

    @property
    def exact(self) -> bool:
        """Whether accuracy was measured, without steal, and keeps to its limits."""
        figures = (self.steal, self.lag_p50_us, self.lag_p99_us)
        limits = (STEAL, LAG_P50, LAG_P99)
        return all(figure is not None and figure <= limit for figure, limit in zip(figures, limits, strict=True))

    @property
    def saturated(self) -> bool:
        """Whether the server was the limit."""
        return self.server_busy is not None and self.server_busy >= SATURATED

    @property
    def limit(self) -> str:
        """Which side set the rate."""
        if self.server_busy is None or self.emulator_busy is None:
            return "not known"
        if self.saturated:
            return "server"
        return "emulator" if self.emulator_busy >= 0.9 else "clients (each waits for its response)"

    def as_dict(self) -> dict[str, Any]:
        """Every figure, for JSON."""
        others = {name: [run.as_dict() for run in getattr(self, name)] for name in ("runs", "faster")}
        return {**asdict(self), "cost": self.cost, "limit": self.limit, **others}


@dataclass(frozen=True)
class Wan:
    """What is the same for all of these runs."""

    placement: Placement
    seconds: int
    warm_up: int
    repeats: int = REPEATS

    def measure(self, rate_at_zero: float | None, say: Say) -> dict[str, Any]:
        """Every row; `rate_at_zero` is the keep-alive rate at RTT 0, found out if None.

        Raises:
            CannotDoIt: something is missing.
            TestbedError, RunFailedError: a run failed.
        """
        zero = self._repeated("RTT 0, keep-alive", 64, rtt="0ms")
        half = (rate_at_zero or zero.requests_per_s) / 2
        say(f"half of the rate at RTT 0 is {half:,.0f} requests/s")
        rows = [row.as_dict() for row in self.far_rows(zero, half, say)]
        bulk, complaints = first_that_counts(self.bulk, lambda found: not found[1])
        say("bulk: no figure" if bulk is None else f"bulk: {bulk / 1e9:.2f} Gbit/s")
        return {"half_rate": half, "rows": rows, "bulk_bps": bulk, "bulk_complaints": complaints}

    def far_rows(self, zero: Row, half: float, say: Say) -> Iterator[Row]:
        """The row at RTT 0, and those of the distances."""
        yield zero
        found, rate = self.at_rate("RTT 100 ms, 3 % loss", half, loss="3%")
        lossy = self._repeated(found.what, found.clients, rate, loss="3%")
        lossy = replace(lossy, beyond_reach=found.beyond_reach)
        for row in (lossy, self.accuracy(rate, say)):
            say(f"{row.what}: {row.requests_per_s:,.0f} requests/s, cost {figure(row.cost, 2)}")
            yield row
        yield self.highest(say)

    def highest(self, say: Say) -> Row:
        """The fastest valid run over the distance with loss, with those that were faster; else the fastest."""
        rows: list[Row] = []
        clients, again = PEAK, True
        while len(rows) < PEAK_RUNS:
            row = self.once("RTT 100 ms, 3 % loss, highest", clients, loss="3%")
            verdict = "valid" if row.valid else "not valid"
            say(f"{row.what}: {clients:,} clients, {row.requests_per_s:,.0f} requests/s, {verdict}")
            before = max((other.requests_per_s for other in rows if other.valid), default=0.0)
            rows.append(row)
            if row.valid and row.requests_per_s > FASTER * before:
                clients, again = clients * 3 // 2, True
            elif again and not row.valid:
                again = False  # once more: it may have been a neighbour
            else:
                break
        best = max(rows, key=lambda row: (row.valid, row.requests_per_s))
        faster = [row for row in rows if best.valid and row.requests_per_s > best.requests_per_s]
        return replace(best, faster=tuple(faster))

    def accuracy(self, half: float, say: Say) -> Row:
        """The rate of the run with loss, without: the first run within the limits, else the best of three."""
        rows: list[Row] = []
        for attempt in range(ATTEMPTS):
            row, _ = self.at_rate("RTT 100 ms, no loss", half)
            if row.exact:
                return row
            say(f"accuracy, attempt {attempt + 1}: lag p99 {figure(row.lag_p99_us)} us, steal {share(row.steal)}")
            rows.append(row)
        return min(rows, key=_inexact)

    def bulk(self) -> tuple[float | None, list[str]]:
        """Bits a second of bytes 25 to 100 MB of a 100 MB file over 10 ms, with Reno on the server's route.

        The link is `BULK_LINK`. It is the difference between the medians of downloads of 100 MB and of 25 MB, which
        share their beginning. With it comes what speaks against the runs, except that a few large files are `too_few`.
        """
        (short, against_short), (whole, against) = (self._download(size) for size in ("25MB", "100MB"))
        if short is None or whole is None or whole <= short:
            return None, [*against_short, *against]
        return 75e6 * 8 / (whole - short), [*against_short, *against]

    def _download(self, size: str) -> tuple[float | None, list[str]]:
        document = {
            "name": "perf-bulk",
            "server": {"kind": "nginx", "congestion": "reno"},
            "workload": {"kind": "single", "size": size},
            "clients": [{"count": 1, **BULK_LINK, "http": {"requests_per_connection": 1}}],
            "measure": {"warmup": "200ms", "duration": f"{max(3, self.seconds)}s", "runs": 1},
        }
        result = self._session(document)
        [made] = result.runs
        median = made.response_time_ms.p50  # of few downloads, which vary little
        against = [f"{size}: {reason.message}" for reason in result.invalid_reasons if reason.code != "too_few"]
        return None if median is None else median / 1e3, against

    def scale(self, clients: int = SCALE) -> dict[str, Any]:
        """So many clients with an address each, each asking every four seconds; and what an idle one weighs."""
        asking = {"think": THINK, "warmup": SCALE_WARM_UP, "duration": "8s"}
        row = first_that_counts(
            lambda: self.once("scale", clients, **asking), lambda row: not (row.complaints or row.unsettled)
        )
        return {**row.as_dict(), **scale.idle_slope(self.placement, clients // 10, clients)}

    def at_rate(self, what: str, rate: float, **more: Any) -> tuple[Row, float]:
        """As many clients as give `rate`, or what is within reach; and the rate that they are to give."""
        row = self._near(what, rate, **more)
        if not (_off(row, rate) and row.saturated and row.requests_per_s):
            return _checked(row, rate), rate
        # Thousands of connections cost a server more than 64 do: it may not reach half of that rate at all.
        within = WITHIN_REACH * row.requests_per_s
        return replace(_checked(self._near(what, within, **more), within), beyond_reach=rate), within

    def _near(self, what: str, rate: float, **more: Any) -> Row:
        """As many clients as give `rate`, found by a first guess and the rate that it gives."""
        clients = max(1, round(rate * 0.105))
        row = self.once(what, clients, **more)
        if _off(row, rate) and row.requests_per_s and not row.saturated:
            row = self.once(what, max(1, round(clients * rate / row.requests_per_s)), **more)
        return row

    def _repeated(self, what: str, clients: int, rate: float | None = None, **more: Any) -> Row:
        """The run of median cost of several, each of which is to give `rate`, if there is one."""

        def run(_: int) -> Row:
            row = self.once(what, clients, **more)
            return row if rate is None else _checked(row, rate)

        return median_of(repeated(self.repeats, run, _counts))

    def once(self, what: str, clients: int, **more: Any) -> Row:
        """One live run with so many clients."""
        measure = {"warmup": f"{self.warm_up}s", "duration": f"{self.seconds}s", "runs": 1}
        measure |= {name: more.pop(name) for name in ("warmup", "duration") if name in more}
        document = {
            "name": "perf",
            "server": {"kind": "nginx", "congestion": "cubic"},
            "workload": {"kind": "single", "size": "1KiB"},
            "clients": [{"count": clients, "rtt": "100ms", **more}],
            "measure": measure,
        }
        (summary,) = self._session(document).runs
        return _row(what, clients, len(self.placement.server), summary)

    def _session(self, document: dict[str, Any]) -> Any:
        show = cpus.show_list
        result = waspbench.run(
            parse(document),
            mode="live",
            server_cpus=show(self.placement.server),
            emulator_cpus=show(self.placement.emulator),
        )
        if result.interrupted:
            raise KeyboardInterrupt
        return result


def _row(what: str, clients: int, server_cpus: int, summary: RunSummary) -> Row:
    emulator, server = summary.emulator, summary.server_cpu
    assert emulator is not None
    each = 1e6 / summary.throughput if summary.throughput else None
    others = {name: count for name, count in summary.outcomes.items() if name not in ("ok", "unfinished")}
    return Row(
        what=what,
        clients=clients,
        requests_per_s=summary.throughput,
        server_busy=server.busy,
        server_us=product(server.busy, server_cpus, each),
        emulator_busy=emulator.cpu,
        emulator_us=product(emulator.cpu, each),
        lag_p50_us=emulator.lag_us.p50,
        lag_p99_us=emulator.lag_us.p99,
        steal=server.steal,
        ok=summary.outcomes.get("ok", 0),
        not_ok=sum(others.values()),
        complaints=tuple(reason.message for reason in summary.invalid if reason.code not in UNSETTLED),
        unsettled=tuple(reason.message for reason in summary.invalid if reason.code in UNSETTLED),
        unread_p99_us=emulator.unread_us.p99,
    )


def _counts(row: Row) -> bool:
    return row.cost is not None and not row.complaints


def median_of(rows: list[Row]) -> Row:
    """The run of median cost of those that count, the upper of two. If they are too few, the first, with what speaks
    against any.
    """
    counted = sorted(filter(_counts, rows), key=lambda row: row.cost or 0.0)
    if few := too_few(len(counted), rows):
        complaints = dict.fromkeys(text for row in rows for text in row.complaints)
        return replace(rows[0], complaints=(f"{few}: the figures are the first one's", *complaints), runs=tuple(rows))
    return replace(counted[len(counted) // 2], runs=tuple(rows))


def _off(row: Row, rate: float) -> bool:
    """Whether a run's rate is more than a tenth away from the one that was wanted."""
    return abs(row.requests_per_s / rate - 1) > 0.1


def _checked(row: Row, rate: float) -> Row:
    """The run, with a complaint if it is off."""
    if not _off(row, rate):
        return row
    off = f"{row.requests_per_s:,.0f} requests/s are not the {rate:,.0f} that were wanted"
    return replace(row, complaints=(*row.complaints, off))


def _inexact(row: Row) -> tuple[bool, float]:
    """How far a run is from saying something of accuracy; what is missing is the farthest."""
    lag = math.inf if row.lag_p99_us is None else row.lag_p99_us
    return row.steal is None or row.steal > STEAL, lag


def readable(found: dict[str, Any]) -> list[str]:
    """The rows and the figures judged by goals."""
    lines = [
        f"wan: nginx, 1 KiB, kept connections; half of the rate at RTT 0 is {found['half_rate']:,.0f} requests/s",
        f"    {'':30} {'clients':>7} {'requests/s':>10} {'server':>8} {'us/req':>6} {'emulator':>8} {'us/req':>6} "
        f"{'cost':>5} {'lag p50':>7} {'p99 us':>6} {'unread':>6} {'steal':>6}  limit",
    ]
    for row in found["rows"]:
        lines.append(row_line(row))
        lines += repeat_lines(row)
        if row["beyond_reach"] is not None:
            lines.append(
                f"      the server cannot do {row['beyond_reach']:,.0f} requests/s over this distance: "
                f"measured at {WITHIN_REACH:.0%} of what it can do"
            )
        lines += [f"      not to be trusted: {text}" for text in row["complaints"]]
        lines += [f"      not steady: {text}" for text in row["unsettled"]]
        lines += [
            f"      not valid: {run['requests_per_s']:,.0f} requests/s of {run['clients']:,} clients: "
            f"{'; '.join([*run['complaints'], *run['unsettled']])}"
            for run in row["faster"]
        ]
    exact = next(row for row in found["rows"] if row["what"].endswith("no loss"))
    lossy = next(row for row in found["rows"] if row["what"].endswith("3 % loss"))
    lines += [
        f"  cost of a transaction: {figure(found['rows'][0]['cost'], 2)} of the server's at RTT 0, "
        f"{figure(lossy['cost'], 2)} at RTT "
        f"100 ms with 3 % loss (goal {COST})",
        f"  packets leave late by p50 {figure(exact['lag_p50_us'])} us, p99 {figure(exact['lag_p99_us'])} us "
        f"(goals {LAG_P50:.0f} and {LAG_P99:.0f}; steal {share(exact['steal'])})",
        f"  bulk, bytes 25 to 100 MB over 10 ms and {BULK_LINK['bandwidth']}, reno: "
        f"{figure(product(found['bulk_bps'], 1e-9), 2)} Gbit/s "
        f"(goal {BULK / 1e9:.1f})",
    ]
    return lines + [f"    not to be trusted: {text}" for text in found["bulk_complaints"]]


def repeat_lines(row: dict[str, Any]) -> list[str]:
    """What the other runs of a repeated one found."""
    runs = row["runs"]
    if len(runs) < 2 or row["complaints"]:
        return []
    costs = [run["cost"] for run in runs if run["cost"] is not None and not run["complaints"]]
    spread = f"{figure(min(costs), 2)} to {figure(max(costs), 2)}"
    others = [
        f"      not counted, cost {figure(run['cost'], 2)}: {'; '.join(run['complaints'])}"
        for run in runs
        if run["complaints"]
    ]
    return [f"      the run of median cost of {len(costs)} ({spread})", *others]


def readable_scale(found: dict[str, Any]) -> list[str]:
    """The run with many clients, and the memory of idle ones."""
    lines = [
        f"scale: {found['clients']:,} clients, each with its own address and a kept connection, a "
        f"request every {THINK} each",
        f"  {found['requests_per_s']:,.0f} requests/s, {found['ok']:,} ok, {found['not_ok']} not; server "
        f"{share(found['server_busy'])} busy, emulator {share(found['emulator_busy'])}, lag p99 "
        f"{figure(found['lag_p99_us'])} us",
        f"  memory of an idle connection: {found['bytes_per_connection'] / 1024:.2f} KiB (between {found['few']:,} and "
        f"{found['many']:,} clients; goal 4)",
    ]
    return lines + [f"  not to be trusted: {text}" for text in (*found["complaints"], *found["unsettled"])]


def row_line(row: dict[str, Any]) -> str:
    """A row as it is printed."""
    return (
        f"    {row['what']:30} {row['clients']:>7,} {row['requests_per_s']:>10,.0f} {share(row['server_busy']):>8} "
        f"{figure(row['server_us'], 1):>6} {share(row['emulator_busy']):>8} {figure(row['emulator_us'], 1):>6} "
        f"{figure(row['cost'], 2):>5} {figure(row['lag_p50_us']):>7} {figure(row['lag_p99_us']):>6} "
        f"{figure(row['unread_p99_us']):>6} {share(row['steal']):>6}  {row['limit']}"
    )


def median_rate(comparison: dict[str, Any]) -> float:
    """WASP's median rate of a comparison with wrk."""
    return float(statistics.median(pair["wasp"]["requests_per_s"] for pair in comparison["pairs"]))
