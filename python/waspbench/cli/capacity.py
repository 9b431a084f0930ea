"""``wasp capacity``: the load at which a server is at its best, or the most users that it serves in time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from waspbench.cli import flags, status
from waspbench.cli.options import (
    MEASURE,
    DryRun,
    EmulatorCpus,
    Jobs,
    Json,
    JUnit,
    Markdown,
    Output,
    Percentiles,
    Quiet,
    ServerCpus,
    Settings,
    Text,
)
from waspbench.cli.outputs import Outputs
from waspbench.cli.study import document_of, set_percentiles
from waspbench.errors import InputError, renamed
from waspbench.experiment.search import FINDS, HIGH, Search, search_of_table

SEARCH = Search()
"""How capacity is searched unless told otherwise."""

_TARGET = "An experiment, or the URL of a server that already runs on this machine, such as http://127.0.0.1:8080/."

_TEXTS = {
    "arrivals": "How arrivals are spread in time, with --find rate. [default: poisson]",
    "outstanding": "Number of arrivals that may wait for busy clients, in equal parts, with --find rate; further ones "
    "are dropped. [default: 1000, or the number of clients if that is larger]",
    "clients": "Number of clients, with --find rate only: other searches vary the number of clients. [default: 256]",
    "warmup": "Time before the measured interval, in which clients start one after another. WASP repeats a run that "
    "needs a longer one. [default: 5s]",
    "duration": "Length of the measured interval. WASP repeats a run that needs a longer one. [default: 10s]",
    "runs": "Number of runs at each load, with --sweep. [default: 3]",
}
"""What is said of flags that mean something else in a search."""

FLAGS = {
    name: replace(flag, text=_TEXTS.get(name, flag.text))
    for name, flag in flags.FLAGS.items()
    if name not in ("rate", "until", "max_runs")
}
"""The flags of ``wasp bench`` that a search has, too."""

if TYPE_CHECKING:
    Flags = Any
else:
    Flags = flags.table("Flags", FLAGS)

NONE = Flags()


def capacity(
    target: Annotated[Text, Parameter(name="FILE.toml|URL", help=_TARGET)] = None,
    /,
    *,
    find: Annotated[
        Text,
        Parameter(
            metavar="|".join(FINDS),
            group=MEASURE,
            help="What to find: the largest throughput, the most clients that meet --slo, or the highest rate of "
            "arrivals that meets it. Defaults of this flag, --slo, --low, --high and --at-least come from the file's "
            "table capacity. [default: throughput]",
        ),
    ] = None,
    slo: Annotated[
        list[str] | None,
        Parameter(
            metavar="CONDITION",
            group=MEASURE,
            help='Objective that each run of a load must meet, such as "p99 < 500ms"; may be repeated. It replaces the '
            "objectives of the file. p99 is the percentile of all transactions that ended, errors included (all.p99); "
            "ok.p99 is that of the ok ones.",
        ),
    ] = None,
    low: Annotated[
        Text,
        Parameter(
            metavar="N",
            group=MEASURE,
            help="Smallest load to try: clients, or with --find rate a rate such as 50/s. "
            f"[default: {SEARCH.low} clients, or {SEARCH.low}/s]",
        ),
    ] = None,
    high: Annotated[
        Text,
        Parameter(
            metavar="N",
            group=MEASURE,
            help=f"Largest load to try: clients, or a rate. [default: {HIGH['throughput']} clients for throughput, "
            f"{HIGH['clients']} clients with --find clients, {HIGH['rate']}/s with --find rate]",
        ),
    ] = None,
    max_runs: Annotated[
        int | None,
        Parameter(
            metavar="N",
            group=MEASURE,
            help=f"Maximum number of runs of a search; a run that WASP repeats counts once. [default: {SEARCH.most}]",
        ),
    ] = None,
    at_least: Annotated[
        Text,
        Parameter(
            metavar="N",
            group=MEASURE,
            help="Capacity that the server must reach: clients, a rate such as 50/s, or ok transactions a second. The "
            "command ends with status 0 if the lower end of the 90 % confidence interval is at least this, with 1 if "
            "the upper end is below, and with 5 if neither holds.",
        ),
    ] = None,
    confirm: Annotated[
        int | None,
        Parameter(
            metavar="N",
            group=MEASURE,
            help=f"Number of fresh runs that confirm the load which a search found. [default: {SEARCH.confirm}]",
        ),
    ] = None,
    sweep: Annotated[
        bool,
        Parameter(
            group=MEASURE,
            help="Find the largest throughput without a search: measure the loads --low, 2 x --low and so on up to "
            "--high, measure.runs times each.",
        ),
    ] = False,
    given: Annotated[Flags, Parameter(name="*")] = NONE,
    settings: Settings = None,
    percentiles: Percentiles = None,
    dry_run: DryRun = False,
    jobs: Jobs = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    json: Json = False,
    junit: JUnit = None,
    markdown: Markdown = None,
    quiet: Quiet = False,
    output: Output = None,
) -> int:
    """Find a server's largest throughput, or the most users for whom it meets an objective."""
    asked = {
        name: value
        for name, value in (("find", find), ("slo", slo), ("low", low), ("high", high), ("at_least", at_least))
        if value is not None
    }
    if sweep:
        _check_sweep({"--max-runs": max_runs, "--confirm": confirm})
    values = asdict(given)
    by_flags = target is None or "://" in target
    described = values | {"url": target} if by_flags else None
    if described is not None:
        document = _of_flags(described, settings or [], find, sweep=sweep)
        set_percentiles(document, percentiles)
    else:
        document = _of_file(str(target), values, settings or [], percentiles)
    own = document.get("capacity")
    with renamed(_names(described, asked, own if isinstance(own, Mapping) else {})):
        search = replace(
            _search(document, asked),
            method="sweep" if sweep else "search",
            most=SEARCH.most if max_runs is None else max_runs,
            confirm=SEARCH.confirm if confirm is None else confirm,
        )
        return _made(
            document,
            search,
            described,
            output=output,
            dry_run=dry_run,
            jobs=jobs,
            server_cpus=server_cpus,
            emulator_cpus=emulator_cpus,
            outputs=Outputs(json, junit, markdown, quiet),
        )


def _search(document: Mapping[str, Any], asked: Mapping[str, Any]) -> Search:
    """What the file's table ``[capacity]`` looks for, where flags do not ask for something else."""
    from waspbench.experiment.capacity_table import CapacityTable
    from waspbench.experiment.load import parse

    table = parse(document).capacity or CapacityTable()
    if table.at_least is not None and "at_least" not in asked and asked.get("find", table.find) != table.find:
        message = f'is for find = "{table.find}"; beside --find {asked["find"]} give --at-least as well'
        raise InputError.at("capacity.at_least", message, table.at_least)
    return search_of_table(table.model_copy(update=asked))


def _names(
    described: Mapping[str, Any] | None, asked: Mapping[str, Any], own: Mapping[str, Any]
) -> Callable[[str], str]:
    """What knows how errors call a field or an argument: by its flag, but for what the file's table ``own`` says."""
    from waspbench.experiment.capacity_table import field_of_table

    flag_of = (lambda where: where) if described is None else flags.flag_of_field(described, FLAGS)

    def name(where: str) -> str:
        field = field_of_table(where)
        in_table = field != where and (key := field.removeprefix("capacity.")) in own and key not in asked
        return field if in_table else flag_of(where)

    return name


def _check_sweep(given: Mapping[str, int | None]) -> None:
    for name, value in given.items():
        if value is not None:
            message = "a sweep makes measure.runs runs at every load; leave it or --sweep out"
            raise InputError.at(name, message, value)


def _of_flags(values: Mapping[str, Any], settings: Sequence[str], find: str | None, *, sweep: bool) -> dict[str, Any]:
    """What flags say, as the content of an experiment file."""
    from waspbench.experiment.load import apply, set_path

    made = flags.document("capacity", values)
    table = apply(made, settings).get("capacity")
    find = find or (table.get("find") if isinstance(table, dict) else None)
    if not sweep and values["runs"] is not None:
        message = f"is for --sweep; a search makes --confirm runs ({SEARCH.confirm}) at the load that it found"
        raise InputError.at("--runs", message, values["runs"])
    if find != "rate":
        _refuse_clients(values)
        for name in ("arrivals", "outstanding"):
            if values[name] is not None:
                raise InputError.at(flags.flag(name), "is for an open loop, which --find rate searches", values[name])
    elif values["think"] is not None:
        message = "is for a closed loop; with --find rate clients ask when arrivals come"
        raise InputError.at("--think", message, values["think"])
    if find == "rate":
        set_path(made, "clients.arrivals.rate", "1/s")  # which the search scales
    return flags.with_settings(made, values, settings)


def _of_file(file: str, values: Mapping[str, Any], settings: list[str], percentiles: str | None) -> dict[str, Any]:
    """The content of an experiment file, with what the flags set that go with one."""
    if not file.endswith(".toml") and not Path(file).is_file():
        message = "must be an experiment file (FILE.toml), or a URL such as http://127.0.0.1:8080/"
        raise InputError.at("FILE.toml|URL", message, file)
    for name, value in values.items():
        if value is not None and name != "mode":
            field = (flags.PATHS[name] or ("clients.loss",))[0]
            message = f"describes an experiment without a file; the file says {field}, and --set changes it"
            raise InputError.at(flags.flag(name), message, value)
    return document_of(Path(file), settings, values["mode"], percentiles)


def _refuse_clients(values: Mapping[str, Any]) -> None:
    if values["clients"] is not None:
        message = "their number is what a search varies, from --low to --high"
        raise InputError.at("--clients", message, values["clients"])


def _made(
    document: Mapping[str, Any],
    search: Search,
    described: Mapping[str, Any] | None,
    *,
    output: Path | None,
    dry_run: bool,
    jobs: int | None,
    server_cpus: str | None,
    emulator_cpus: str | None,
    outputs: Outputs,
) -> int:
    """Makes a search; ``described`` are the flags that describe the experiment, if flags do."""
    from waspbench.experiment.load import parse

    asked = parse(document)
    from functools import partial

    from waspbench.cli import studies
    from waspbench.live import choose_mode
    from waspbench.runner.capacity import CapacityStudy
    from waspbench.runner.capacity_plan import prepare_capacity, search_of

    outputs.check(dry_run=dry_run)
    if described is not None:
        flags.check_effects(choose_mode(None, asked)[0], described)
    begun = studies.prepared(
        document,
        output,
        partial(prepare_capacity, search=search),
        mode=asked.mode,
        jobs=jobs,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
        quiet=outputs.quiet,
    )
    if asked.thresholds and not outputs.quiet:
        print("note: wasp run judges the file's [assert]; a search has objectives (--slo)", file=sys.stderr)
    if dry_run:
        from waspbench.cli import dry_run_text

        plan, found, _ = begun
        print(dry_run_text.search(found, search_of(plan), "live" if plan.mode == "live" else "sim", jobs), end="")
        return status.Status.DONE
    return studies.made(CapacityStudy.begin(*begun), jobs, outputs)
