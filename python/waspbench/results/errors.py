"""Transactions that were not ok: their share, what became of them in words, and what may help."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from waspbench.results.asking import workload_in

if TYPE_CHECKING:
    from waspbench.results.groups import Group
    from waspbench.results.summary import RunGroup

NOTED = 0.01
"""Share of the transactions that ended from which errors are noted wherever their figures are shown."""

OUTCOMES = (
    "ok", "http_error", "wrong", "malformed", "refused", "reset", "timed_out", "truncated", "aborted", "unfinished",
)  # fmt: skip
"""Every outcome of a transaction."""

UNFINISHED = "unfinished"
"""The outcome of what the end of the run cut off: it did not end, and counts as no error."""

Counts = Mapping[str, int]


def ended(outcomes: Counts) -> int:
    """Transactions that ended."""
    return sum(count for outcome, count in outcomes.items() if outcome != UNFINISHED)


def failed(outcomes: Counts) -> int:
    """Those of them that were not ok."""
    return ended(outcomes) - outcomes.get("ok", 0)


def share(outcomes: Counts) -> float | None:
    """`failed` over `ended`; None where nothing ended."""
    total = ended(outcomes)
    return failed(outcomes) / total if total else None


def total(counts: Iterable[Counts | None]) -> dict[str, int] | None:
    """Sums, with every name that any of them has; None if one of them is unknown."""
    found: dict[str, int] = {}
    for each in counts:
        if each is None:
            return None
        for name, count in each.items():
            found[name] = found.get(name, 0) + count
    return found


def text(outcomes: Counts, statuses: Counts | None, *, only_failed: bool = False) -> str:
    """The outcomes that there were, ok and http_error with their status codes, such as
    ``ok 4,000 (200), http_error 3 (404 2, 503 1)``. Where codes do not tell which responses were errors, since named
    requests expect some or find some wrong, the codes of all responses follow, such as ``ok 4,000, wrong 5; status 200
    4,003, 302 2``. ``only_failed`` leaves out what did not fail, and such codes.
    """
    shown = {
        name: count for name, count in outcomes.items() if count and not (only_failed and name in ("ok", UNFINISHED))
    }
    known = {"http_error": _codes(statuses, error=True)} if tells_errors(outcomes, statuses) else {}
    if known and not outcomes.get("wrong"):
        known["ok"] = _codes(statuses, error=False)
    told = ", ".join(f"{name} {count:,d}{known.get(name, '')}" for name, count in shown.items()) or "none"
    if "ok" in known or only_failed or not statuses:
        return told
    return f"{told}; status {_listed(sorted(statuses.items()))}"


def tells_errors(outcomes: Counts, statuses: Counts | None) -> bool:
    """Whether the responses with a status of 400 or above are those that were http_error: named requests may expect
    such a status, or find a response with one wrong.
    """
    high = sum(count for code, count in (statuses or {}).items() if int(code) >= 400)
    return high == outcomes.get("http_error", 0)


def _codes(statuses: Counts | None, *, error: bool) -> str:
    found = [(code, count) for code, count in sorted((statuses or {}).items()) if (int(code) >= 400) == error]
    return f" ({_listed(found)})" if found else ""


def _listed(codes: Sequence[tuple[str, int]]) -> str:
    """Status codes with their counts, or the only one."""
    return codes[0][0] if len(codes) == 1 else ", ".join(f"{code} {count:,d}" for code, count in codes)


def notes(
    outcomes: Counts, statuses: Counts | None, scenario: Mapping[str, Any], server: str, *, judged: bool = False
) -> list[str]:
    """What is to be said of the errors among transactions of ``scenario`` before a server of kind ``server``: nothing
    up to 1 %, and only what may help where the transactions are ``judged``: a reason (``errors``) tells the figures.
    """
    if not outcomes.get("ok") and not failed(outcomes):
        cut = outcomes.get(UNFINISHED, 0)
        return [f"no transaction ended, and {cut:,d} had begun: {_SILENT}"] if cut else []
    part = share(outcomes)
    if part is None or part <= NOTED:
        return []
    hint = _hint(outcomes, statuses, scenario, server)
    if judged:
        return hint
    failures = text(outcomes, statuses, only_failed=True)
    return [f"{100 * part:.1f} % of {ended(outcomes):,d} transactions were not ok: {failures}", *hint]


def notes_by_group(
    groups: Sequence[Group] | Sequence[RunGroup],
    scenario: Mapping[str, Any],
    server: str,
    judged: Collection[str | None],
) -> list[str]:
    """`notes` of each group that is no background, with its name. ``judged`` are the groups of which a reason tells the
    figures.
    """
    clients = {group["name"]: group for group in scenario.get("clients", ())}
    return [
        f"group {group.name}: {note}"
        for group in groups
        if not group.background
        for note in notes(
            group.outcomes,
            group.statuses,
            {**scenario, "clients": [clients[group.name]] if group.name in clients else []},
            server,
            judged=group.name in judged,
        )
    ]


_SILENT = "the server does not answer, or measure.duration is shorter than a transaction"

_LOG = "the server's log may say why"

_EVERY = {
    "http_error": "every response has a status of 400 or above",
    "wrong": "no response was as its request expects it",
    "malformed": "no answer was HTTP/1.x",
    "refused": "every connection was refused",
    "reset": "every connection was reset",
    "timed_out": "every transaction timed out",
    "truncated": "every response was cut short",
    "aborted": "every transaction was given up by its client",
}
"""What is said of an outcome that all transactions had."""

_MOST = {
    "http_error": "responses with a status of 400 or above",
    "wrong": "responses that are not as their requests expect them",
    "malformed": "answers that were not HTTP/1.x",
    "refused": "refused connections",
    "reset": "connections that were reset",
    "timed_out": "timeouts",
    "truncated": "responses that were cut short",
    "aborted": "transactions that their clients gave up",
}
"""What is said of the most frequent one."""


def _hint(outcomes: Counts, statuses: Counts | None, scenario: Mapping[str, Any], server: str) -> list[str]:
    """What is behind most of the errors, and what may help."""
    causes = {name: count for name, count in outcomes.items() if name in _MOST and count and name != "http_error"}
    known = tells_errors(outcomes, statuses)
    codes = {code: count for code, count in (statuses or {}).items() if known and int(code) >= 400}
    causes |= codes
    if statuses and not known and outcomes.get("http_error"):
        causes["http_error"] = outcomes["http_error"]
    if not causes:
        return []
    cause = max(causes, key=lambda name: causes[name])
    if cause in codes:
        every, most, advice = (
            f"every response is {cause}",
            f"responses {cause}",
            _of_status(int(cause), scenario, server),
        )
    else:
        every, most, advice = _EVERY[cause], _MOST[cause], _of_outcome(cause, scenario)
    of = failed(outcomes)
    some = "all" if causes[cause] == of else f"{causes[cause]:,d} of the {of:,d}"
    seen = every if causes[cause] == ended(outcomes) else f"{some} errors are {most}"
    return [f"{seen}: {advice}"]


def _of_outcome(outcome: str, scenario: Mapping[str, Any]) -> str:
    if outcome == "timed_out":
        limits = sorted({str(group.get("http", {}).get("timeout")) for group in scenario.get("clients", ())})
        return (
            f"they took longer than {' or '.join(limits)}; ask for less (fewer clients, smaller files) or wait longer "
            "(--timeout, http.timeout in a file)"
        )
    return {
        "http_error": "the figures of each request say which",
        "wrong": "the figures of each request say which; is what expect says of status, contains and length right?",
        "malformed": "does another protocol, such as https, answer at this port?",
        "refused": "nothing listens there, or not any more",
        "reset": f"the server closed connections that were in use; {_LOG}",
        "truncated": f"the server closed connections before its responses were whole; {_LOG}",
        "aborted": "http.abort asks for it; --max-errors (measure.max_errors in a file) says how much of it is allowed",
    }[outcome]


def _of_status(status: int, scenario: Mapping[str, Any], server: str) -> str:
    what, elsewhere = _asked(scenario), _ELSEWHERE.get(server, "")
    if _has_names(scenario):
        what, elsewhere = "what requests name", "; the figures of each request say which"
    if status in (404, 410):
        return f"{what} was asked for{elsewhere}"
    if status in (401, 403, 407):
        return f"{what} was asked for, and is not for everybody{elsewhere}"
    if status == 405:
        where = "method of the request" if _has_names(scenario) else "--method, http.method in a file"
        return f"the server does not take this method ({where})"
    if status in (429, 503):
        return f"the server turns requests away, because it has too much to do or limits their rate; {_LOG}"
    if status >= 500:
        return f"the server failed; {_LOG}"
    return f"{what} was asked for in a way that the server does not take; {_LOG}"


_ELSEWHERE = {
    "command": "; give --path (server.path in a file)",
    "url": "; give another path in the URL (server.url in a file)",
}
"""How to ask a server of this kind for something else."""


def _asked(scenario: Mapping[str, Any]) -> str:
    """What clients ask for that is not there: the path if it is one for all of them."""
    paths = {_path(workload_in(scenario, group)) for group in scenario.get("clients") or [{}]}
    path = paths.pop() if len(paths) == 1 else None
    return "what the workload names" if path is None else f"`{path}`"


def _has_names(scenario: Mapping[str, Any]) -> bool:
    """Whether all requests have names."""
    groups = scenario.get("clients") or [{}]
    return all(workload_in(scenario, group).get("kind") == "requests" for group in groups)


def _path(workload: Mapping[str, Any]) -> str | None:
    return None if workload.get("files") else workload.get("path")
