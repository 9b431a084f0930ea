"""``wasp capacity``: the load at which a server is at its best, or the most users that it serves in time."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from waspbench import _core
from waspbench.cli import flags
from waspbench.cli.options import (
    MEASURE,
    EmulatorCpus,
    Jobs,
    Json,
    Output,
    Percentiles,
    ServerCpus,
    Settings,
    Text,
    flags_in_errors,
)
from waspbench.cli.study import document_of, set_percentiles
from waspbench.errors import Argument, InputError
from waspbench.experiment.load import apply, parse, set_path
from waspbench.experiment.search import FINDS, HIGH, Find, Search

SEARCH = Search()
"""How capacity is searched unless told otherwise."""

_TARGET = "An experiment, or a server that runs already on this machine, such as http://127.0.0.1:8080/."

_TEXTS = {
    "arrivals": "How arrivals are spread, with --find rate. [default: poisson]",
    "outstanding": "Most arrivals that wait, with --find rate; more are counted and shed. [default: 1000]",
    "clients": "Clients, with --find rate; otherwise their number is what is searched. [default: 256]",
    "warmup": "Time before the measured interval, in which clients start one after another; a run that needs a longer "
    "one is made again. [default: 5s]",
    "duration": "Length of the measured interval; a run that is too short is made again. [default: 10s]",
    "runs": "Runs at each load, with --sweep. [default: 3]",
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
            help="The largest throughput, or the most clients or the highest rate of arrivals that meet --slo. "
            "[default: throughput]",
        ),
    ] = None,
    slo: Annotated[
        list[str] | None,
        Parameter(
            metavar="CONDITION",
            group=MEASURE,
            help='What each run must meet for its load to count, such as "p99 < 500ms"; may be repeated. Percentiles '
            "are those of all transactions that ended (all.p99); ok.p99 is that of ok ones.",
        ),
    ] = None,
    low: Annotated[
        Text,
        Parameter(
            metavar="N",
            group=MEASURE,
            help=f"Fewest clients, or with --find rate the least rate, such as 50/s. [default: {SEARCH.low}]",
        ),
    ] = None,
    high: Annotated[
        Text,
        Parameter(
            metavar="N",
            group=MEASURE,
            help=f"Most clients, or the highest rate. [default: {HIGH['throughput']} for throughput, "
            f"{HIGH['clients']} clients, {HIGH['rate']}/s]",
        ),
    ] = None,
    max_runs: Annotated[
        int | None,
        Parameter(
            metavar="N",
            group=MEASURE,
            help=f"Runs of a search at most [{SEARCH.most}]; one that is made again counts once.",
        ),
    ] = None,
    confirm: Annotated[
        int | None,
        Parameter(metavar="N", group=MEASURE, help=f"Fresh runs at the load that a search found [{SEARCH.confirm}]."),
    ] = None,
    sweep: Annotated[
        bool,
        Parameter(
            group=MEASURE,
            help="Measure every power of two times --low, measure.runs times, and take the largest throughput.",
        ),
    ] = False,
    given: Annotated[Flags, Parameter(name="*")] = NONE,
    settings: Settings = None,
    percentiles: Percentiles = None,
    jobs: Jobs = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    json: Json = False,
    output: Output = None,
) -> int:
    """Find the load at which a server's throughput is largest, or the most users that meet an objective."""
    search = replace(_sought(find, low, high), objectives=tuple(slo or ()), method="sweep" if sweep else "search")
    if sweep:
        _check_sweep({"--max-runs": max_runs, "--confirm": confirm})
    search = replace(
        search,
        most=SEARCH.most if max_runs is None else max_runs,
        confirm=SEARCH.confirm if confirm is None else confirm,
    )
    values = asdict(given)
    by_flags = target is None or "://" in target
    with flags_in_errors(flags.flag_of_field(values, FLAGS)) if by_flags else nullcontext():
        if by_flags:
            document = _of_flags(values | {"url": target}, settings or [], search)
            set_percentiles(document, percentiles)
        else:
            document = _of_file(str(target), values, settings or [], percentiles)
        return _made(
            document,
            search,
            values | {"url": target} if by_flags else None,
            output=output,
            jobs=jobs,
            server_cpus=server_cpus,
            emulator_cpus=emulator_cpus,
            json=json,
        )


def _sought(find: str | None, low: str | None, high: str | None) -> Search:
    """What is looked for, and between which loads."""
    what = cast("Find", find or "throughput")  # which the search checks
    least = SEARCH.low if low is None else _bound("low", low, what)
    return Search(low=least, high=None if high is None else _bound("high", high, what), find=what)


def _bound(name: str, text: str, find: Find) -> float:
    """A load that a flag gives."""
    argument = Argument(f"search.{name}")
    if find == "rate":
        try:
            return _core.parse_frequency(text)
        except _core.QuantityError as error:
            raise InputError.at(argument, error.message, text) from None
    if not text.isascii() or not text.isdecimal():
        raise InputError.at(argument, "must be a number of clients, such as 64", text)
    return int(text)


def _check_sweep(given: Mapping[str, int | None]) -> None:
    for name, value in given.items():
        if value is not None:
            message = "a sweep makes measure.runs runs at every load; leave it or --sweep out"
            raise InputError.at(name, message, value)


def _of_flags(values: Mapping[str, Any], settings: Sequence[str], search: Search) -> dict[str, Any]:
    """What flags say, as the content of an experiment file."""
    if search.method == "search" and values["runs"] is not None:
        message = f"is for --sweep; a search makes --confirm runs ({search.confirm}) at the load that it found"
        raise InputError.at("--runs", message, values["runs"])
    if search.find != "rate":
        _refuse_clients(values)
        for name in ("arrivals", "outstanding"):
            if values[name] is not None:
                raise InputError.at(flags.flag(name), "is for an open loop, which --find rate searches", values[name])
    elif values["think"] is not None:
        message = "is for a closed loop; with --find rate clients ask when arrivals come"
        raise InputError.at("--think", message, values["think"])
    made = flags.document("capacity", values)
    if search.find == "rate":
        set_path(made, "clients.arrivals.rate", "1/s")  # which the search scales
    return apply(made, settings)


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
    values: Mapping[str, Any] | None,
    *,
    output: Path | None,
    jobs: int | None,
    server_cpus: str | None,
    emulator_cpus: str | None,
    json: bool,
) -> int:
    """Makes a search; ``values`` are the flags that describe the experiment, if flags do."""
    asked = parse(document)
    from functools import partial

    from waspbench.cli import studies
    from waspbench.live import choose_mode
    from waspbench.runner.capacity import CapacityStudy
    from waspbench.runner.capacity_plan import prepare_capacity

    if values is not None:
        flags.check_effects(choose_mode(None, asked)[0], values)
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
