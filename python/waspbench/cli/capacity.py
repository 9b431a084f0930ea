"""``wasp capacity``: the load at which a server is at its best."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from waspbench.cli.options import (
    MEASURE,
    EmulatorCpus,
    FileArgument,
    Jobs,
    Json,
    Mode,
    Output,
    Percentiles,
    ServerCpus,
    Settings,
)
from waspbench.cli.study import document_of
from waspbench.errors import InputError
from waspbench.experiment.load import parse
from waspbench.experiment.search import Search

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
    percentiles: Percentiles = None,
    jobs: Jobs = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    json: Json = False,
    output: Output = None,
) -> int:
    """Find the load at which a server's throughput is largest, at every point of a file's sweep."""
    document = document_of(file, settings, mode, percentiles)
    if sweep:
        for name, given in (("--max-runs", max_runs), ("--confirm", confirm)):
            if given is not None:
                raise InputError.at(
                    name, "a sweep makes measure.runs runs at every load; leave it or --sweep out", given
                )
    most = SEARCH.most if max_runs is None else max_runs
    fresh = SEARCH.confirm if confirm is None else confirm
    search = Search("sweep" if sweep else "search", low, high, most, fresh, tuple(slo or ()))
    asked = parse(document)
    from functools import partial

    from waspbench.cli import studies
    from waspbench.runner.capacity import CapacityStudy, prepare_capacity

    begun = studies.prepared(
        document,
        output,
        partial(prepare_capacity, search=search),
        mode=asked.mode,
        jobs=jobs,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
    )
    if asked.thresholds:
        print("note: wasp run judges the file's [assert]; a search has objectives (--slo)", file=sys.stderr)
    return studies.made(CapacityStudy.begin(*begun), jobs, studies.Outputs(json))
