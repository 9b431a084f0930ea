"""``wasp capacity``: the load at which a server is at its best."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from waspbench.cli import status
from waspbench.cli.options import (
    MEASURE,
    EmulatorCpus,
    FileArgument,
    Jobs,
    Json,
    Mode,
    Output,
    ServerCpus,
    Settings,
)
from waspbench.cli.study import document_of
from waspbench.errors import InputError
from waspbench.experiment.load import parse
from waspbench.experiment.search import Search

if TYPE_CHECKING:
    from waspbench.runner.capacity import CapacityStudy

SEARCH = Search()
"""How capacity is searched unless told otherwise."""


def capacity(
    file: FileArgument,
    /,
    *,
    mode: Mode = None,
    settings: Settings = None,
    slo: Annotated[
        list[str] | None,
        Parameter(
            metavar="CONDITION",
            group=MEASURE,
            help='What each run must meet to count, such as "p99 < 500ms"; may be repeated. Percentiles are '
            "those of all transactions that ended (all.p99); ok.p99 is that of ok ones.",
        ),
    ] = None,
    low: Annotated[int, Parameter(metavar="N", group=MEASURE, show_default=True, help="Fewest clients.")] = SEARCH.low,
    high: Annotated[int, Parameter(metavar="N", group=MEASURE, show_default=True, help="Most clients.")] = SEARCH.high,
    max_runs: Annotated[
        int | None,
        Parameter(
            metavar="N",
            group=MEASURE,
            help=f"Runs of a search at most [{SEARCH.most}]; a second attempt at one is not counted.",
        ),
    ] = None,
    confirm: Annotated[
        int | None,
        Parameter(metavar="N", group=MEASURE, help=f"Fresh runs at the load that a search found [{SEARCH.confirm}]."),
    ] = None,
    sweep: Annotated[
        bool,
        Parameter(group=MEASURE, help="Measure every power of two times --low, measure.runs times, and take the best."),
    ] = False,
    jobs: Jobs = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    json: Json = False,
    output: Output = None,
) -> int:
    """Find the load at which a server's throughput is largest, at every point of a file's sweep."""
    document = document_of(file, settings, mode)
    if sweep:
        for name, given in (("--max-runs", max_runs), ("--confirm", confirm)):
            if given is not None:
                raise InputError.at(
                    name, "a sweep makes measure.runs runs at every load; leave it or --sweep out", given
                )
    most = SEARCH.most if max_runs is None else max_runs
    fresh = SEARCH.confirm if confirm is None else confirm
    search = Search("sweep" if sweep else "search", low, high, most, fresh, tuple(slo or ()))
    asked = parse(document).mode
    from waspbench.live import choose_mode
    from waspbench.results import default_directory
    from waspbench.runner.capacity import CapacityStudy, prepare_capacity

    directory = output or default_directory(str(document.get("name")))
    plan, found = prepare_capacity(
        document,
        directory,
        search,
        mode=asked,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
    )
    print(f"{plan.mode}: {choose_mode(None, found[0].experiment)[1]}", file=sys.stderr)
    return searched(CapacityStudy.begin(plan, found, directory), jobs, json)


def searched(study: CapacityStudy, jobs: int | None, json: bool) -> int:
    """Makes what is left of a search and prints its result; returns the exit status."""
    from waspbench.cli import science_text as words
    from waspbench.cli import studies

    result = studies.followed(study, jobs)
    if result is None:
        return status.Status.INTERRUPTED
    print(result.to_json() if json else words.capacity(result), end="\n" if json else "")
    if study.stopped and not result.complete:
        return studies.interrupted(study)
    return status.Status.DONE if result.valid else status.Status.INVALID
