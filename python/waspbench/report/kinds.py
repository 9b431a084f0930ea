"""The kinds of results that have a report. A new kind is an entry of `KINDS`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from waspbench.errors import Argument, InputError
from waspbench.report.comparisons import comparison_report
from waspbench.report.content import Report
from waspbench.report.searches import search_report
from waspbench.report.sources import kind_of, name_of, read_comparison, read_search, read_study
from waspbench.report.studies import study_report
from waspbench.results.named import Comparable
from waspbench.results.study import is_study
from waspbench.results.twins import SIDES


def sides_of(name: str) -> list[str]:
    """The names of both sides of a twin.

    Raises:
        InputError: a side does not exist yet.
    """
    directory, at, chosen = name.partition("@")
    for side in SIDES:
        if not is_study(Path(directory) / side):
            message = f"has no {side} runs yet; {shlex.join(['wasp', 'resume', directory])} makes them"
            raise InputError.at(directory, message)
    return [f"{directory}/{side}{at}{chosen}" for side in SIDES]


KINDS: dict[str, Callable[[str], Report]] = {
    "sweep": lambda name: study_report(read_study(name)),
    "capacity": lambda name: search_report(read_search(name)),
    "twin": lambda name: comparison_report(read_comparison(sides_of(name), "throughput")),
}
"""What the plan of results says that they are (`waspbench.results.study.StudyPlan`), and the report on them. A bench is
a sweep of one point, and that on a twin compares its sides.
"""


def report_of(results: Comparable | Sequence[Comparable], *, metric: str | None = None) -> Report:
    """Makes the report on results, or on the comparison of several results with the first.

    Args:
        results: results in memory, a directory of results, or ``DIR@path=value,path=value``, which chooses points of a
            directory; or several of these to compare.
        metric: the figure to compare: ``throughput``, ``goodput``, ``mean`` or a percentile such as ``p95``; with
            ``all.`` in front of all transactions that ended, errors included; and with the name of a group of clients
            before that: ``phones.p95``, ``phones.all.p95``. By default it is the throughput.

    Raises:
        InputError: there are no such results, or they have no files, or ``metric`` is given for a single result; also
            if several results do not belong together: no point is common to them, several points of one side match one
            of the other, or no common point can be compared.
    """
    given: Any = results  # a text is a sequence, too
    names = [name_of(each) for each in (given if isinstance(given, (list, tuple)) else [given])]
    if not names:
        raise InputError.at(Argument("results"), "missing; give at least one result")
    if len(names) > 1:
        return comparison_report(read_comparison(names, metric or "throughput"))
    [name] = names
    if metric is not None:
        raise InputError.at(Argument("metric"), "is for a comparison; name what the results are held against", metric)
    kind = kind_of(name)
    if kind not in KINDS:
        raise InputError.at(name, f"holds a {kind}, which has no report; wasp show prints it")
    return KINDS[kind](name)
