"""What a run of a search for capacity says of its load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from scipy.special import bdtrc

from waspbench.experiment import Experiment, Mode
from waspbench.experiment.conditions import Condition
from waspbench.experiment.metrics import fraction_of, percentiles_of
from waspbench.experiment.resolve import resolve_asking
from waspbench.results import RunSummary, errors
from waspbench.results.capacity import EXCUSED, LINK_FULL, SATURATED
from waspbench.results.checks import lacking, run_value
from waspbench.results.estimates import with_percentiles
from waspbench.results.loads import LoadReading
from waspbench.results.parts import times_of
from waspbench.results.reasons import advice_of
from waspbench.results.records import RunRecord, table_path
from waspbench.results.server_time import busy_of
from waspbench.results.store import NEEDED, populations_of, read_table
from waspbench.results.summary import Invalid, RunResponseTime
from waspbench.runner.job import BOTTLENECKS, DISTURBANCES
from waspbench.stats import Histogram

OVERLOAD = "overload"
"""The reason against a run of an open loop whose queue grows without end."""


def unmade(record: RunRecord, load: float, *, confirming: bool) -> LoadReading:
    """That of a run that did not come to its end."""
    return LoadReading(
        run=record.run,
        load=load,
        throughput=0.0,
        server_cpu=None,
        meets=None,
        counts=False,
        failed=True,
        confirming=confirming,
        valid=False,
        attempts=record.attempts,
        notes=[f"failed: {record.failure}"],
    )


def reading_of(
    record: RunRecord,
    summary: RunSummary,
    load: float,
    objectives: Sequence[Condition],
    experiment: Experiment,
    mode: Mode,
    folder: Path,
    *,
    confirming: bool,
    may_leave_open: bool,
    rates: Mapping[tuple[str, str], int] | None = None,
) -> LoadReading:
    """That of a whole run, whose tables are in ``folder``. One of too few transactions to tell may leave open whether
    it met the objectives where that is said; else it is judged by what it has, and not valid.
    """
    judged = judged_of(summary, objectives, folder)
    unmet = [each for each in objectives if not _holds(each, judged[str(each.metric)])]
    lacks = _lacking(summary, objectives)
    grows = [reason.message for reason in summary.invalid if reason.code == OVERLOAD]
    behind = any(reason.code in BOTTLENECKS for reason in summary.invalid)
    too_much = not behind and _too_much(summary, unmet)
    meets = not unmet and not (objectives and grows)
    missed = bool(grows and objectives) or misses(summary, objectives, judged, folder)
    is_open = may_leave_open and bool(lacks) and not missed
    excluding = _of_machine(summary.invalid) if behind else []
    advice = advice_of(summary.invalid)
    waited = _waited(summary, unmet)
    return LoadReading(
        run=record.run,
        load=load,
        throughput=summary.throughput,
        goodput_bps=_goodput(summary),
        full_links=full_links(summary, folder, rates or {}),
        interval_s=summary.interval_s,
        server_cpu=busy_of(summary),
        judged=judged,
        ratio=None if grows else ratio_of(objectives, judged),
        meets=None if is_open else meets,
        waited=waited is not None,
        misses=missed,
        counts=not (behind or too_much),
        failed=too_much,
        outcomes=summary.outcomes,
        statuses=summary.statuses,
        confirming=confirming,
        valid=None if is_open else all(reason.code in EXCUSED for reason in summary.invalid) and not lacks,
        attempts=record.attempts,
        notes=[
            *(["failed: the load was too much for the server"] if too_much else []),
            *(reason.message for reason in excluding),
            *([] if is_open else [f"not {each.text}" for each in unmet]),
            *([] if waited is None else [waited]),
            *([] if behind else lacks),
            *(reason.message for reason in summary.invalid if reason not in excluding),
            *([] if advice is None else [f"advice: {advice.text}"]),
            *_said_of_errors(summary, experiment, mode),
        ],
    )


def full_links(summary: RunSummary, folder: Path, rates: Mapping[tuple[str, str], int]) -> list[str]:
    """The links that were full in a run whose tables are in ``folder``, of those that have ``rates`` in bits a second
    by link and direction: they carried at least 90 % of that over the whole run.
    """
    ages = summary.by_group[0].ages if summary.by_group else None
    if not rates or ages is None:
        return []
    # The table counts from the start of the run on, whose warm-up may be longer than that of the file.
    length = ages.window.warmup + ages.window.duration
    full = []
    for row in read_table(table_path(folder, "links", summary.run)).iter_rows(named=True):
        rate = rates.get((row["link"], row["direction"]))
        if rate is not None and 8 * row["carried_bytes"] >= LINK_FULL * rate * length:
            full.append(f"{row['link']} {row['direction']}")
    return full


def _of_machine(reasons: Sequence[Invalid]) -> list[Invalid]:
    """Those of the reasons that are about this machine; first that others had it, which may explain the rest."""
    found = [reason for reason in reasons if reason.code in DISTURBANCES | BOTTLENECKS]
    return sorted(found, key=lambda reason: reason.code not in DISTURBANCES)


def judged_of(summary: RunSummary, objectives: Sequence[Condition], folder: Path) -> dict[str, float | None]:
    """The figures that objectives name, in a run whose tables are in ``folder``."""
    names = percentiles_of(objective.metric for objective in objectives)
    if any(name not in RunResponseTime.model_fields for name in names):
        populations = populations_of(read_table(table_path(folder, NEEDED, summary.run)))
        summary = with_percentiles(summary, populations, names)
    return {str(each.metric): run_value(summary, each.metric) for each in objectives}


CHANCE = 0.001
"""Probability below which transactions that took longer than a percentile's limit are too many to be chance, if they
are independent.
"""


def misses(
    summary: RunSummary, objectives: Sequence[Condition], judged: Mapping[str, float | None], folder: Path
) -> bool:
    """Whether a run tells that it missed an objective: by a figure for which it has enough transactions, or because of
    few so many took longer than a percentile's limit that chance does not explain it (binomial test).
    """
    told = enough_for(summary, objectives)
    if any(not _holds(each, judged[str(each.metric)]) for each in told):
        return True
    asked = [each for each in objectives if each not in told and each.upper and each.metric.is_percentile]
    if not asked:
        return False
    populations = populations_of(read_table(table_path(folder, NEEDED, summary.run)))
    return any(_too_many(each, times_of(summary, each.metric, populations)) for each in asked)


def enough_for(summary: RunSummary, objectives: Sequence[Condition]) -> list[Condition]:
    """Those of the objectives for which a run has enough transactions."""
    return [each for each in objectives if lacking(summary, each.metric) is None]


def _too_many(objective: Condition, times: Histogram) -> bool:
    longer = int(times.count[times.lower > 1e6 * objective.limit].sum())
    return longer > 1 and float(bdtrc(longer - 1, times.total, 1 - fraction_of(objective.metric.name))) < CHANCE


def _holds(condition: Condition, value: float | None) -> bool:
    return value is not None and condition.holds(value)


def _lacking(summary: RunSummary, objectives: Sequence[Condition]) -> list[str]:
    """Objectives on percentiles that a run has too few transactions for, in words."""
    found = (lacking(summary, objective.metric) for objective in objectives)
    return list(dict.fromkeys(text for text in found if text is not None))


def ratio_of(objectives: Sequence[Condition], judged: Mapping[str, float | None]) -> float | None:
    """What the figure took of its limit, the worst of several; None where one cannot be told."""
    found = []
    for each in objectives:
        value = judged[str(each.metric)]
        part, whole = (value, each.limit) if each.upper else (each.limit, value)
        if part is None or not whole:
            return None
        found.append(part / whole)
    return max(found, default=None)


def _waited(summary: RunSummary, unmet: Sequence[Condition]) -> str | None:
    """That arrivals waited for clients that were busy, in words, where what is not met would be if response times
    counted from when they were asked for; None where it would not, and where that is not known.
    """
    if summary.open_loop is None or not unmet or (errors.share(summary.outcomes) or 0.0) > errors.NOTED:
        return None
    told = []
    for each in unmet:
        name = each.metric.name
        part = each.metric.group or each.metric.request or each.metric.sessions
        known = name in RunResponseTime.model_fields and not part
        value = summary.open_loop.from_start_ms.at(name) if known else None
        if value is None or not each.holds(value):
            return None
        told.append(f"{name} is {value:,.1f} ms")
    return f"arrivals waited for clients that were busy: from when these asked, {', '.join(told)}"


def _too_much(summary: RunSummary, unmet: Sequence[Condition]) -> bool:
    """Whether the errors of a run (the reason ``errors``) are those of a server that has more to do than it can: it was
    saturated, or did not meet the objective. Such a load is excluded as one at which runs fail. Errors at a server with
    time to spare have another cause, and speak against the search.
    """
    saturated = (busy_of(summary) or 0.0) >= SATURATED
    return any(reason.code == "errors" for reason in summary.invalid) and (saturated or bool(unmet))


def _goodput(summary: RunSummary) -> float:
    """Bits of bodies a second, those of background groups included."""
    if not summary.by_group or any(group.goodput_bps is None for group in summary.by_group):
        return summary.goodput_bps
    return sum(group.goodput_bps or 0.0 for group in summary.by_group)


def _said_of_errors(summary: RunSummary, experiment: Experiment, mode: Mode) -> list[str]:
    """Errors above 1 %, and what may help."""
    scenario = resolve_asking(experiment, mode)
    kind = experiment.server.kind
    judged = {reason.group for reason in summary.invalid if reason.code == "errors"}
    if summary.by_group and len(summary.by_group) > 1:
        return errors.notes_by_group(summary.by_group, scenario, kind, judged)
    return errors.notes(summary.outcomes, summary.statuses, scenario, kind, judged=None in judged)
