"""The commands that search, compare and look up results."""

from __future__ import annotations

import json as jsonlib
import sqlite3
import sys
from pathlib import Path
from typing import Annotated

import typer

from waspbench.cli import science_text as words
from waspbench.cli import status, studies
from waspbench.cli.app import (
    EmulatorCpus,
    FileArgument,
    Jobs,
    Json,
    ModeOption,
    Output,
    ServerCpus,
    Settings,
    app,
    document_of,
)
from waspbench.errors import InputError
from waspbench.experiment.conditions import METRICS
from waspbench.experiment.load import parse
from waspbench.experiment.sweep import points
from waspbench.live import choose_mode
from waspbench.results import catalogue, default_directory
from waspbench.results.asked import with_asked
from waspbench.results.comparing import METRICS as COMPARABLE
from waspbench.results.comparing import compare_results
from waspbench.results.normal import RUNS, judge_normality
from waspbench.results.query import query as query_results
from waspbench.results.study import is_study, load_study, read_plan
from waspbench.runner.capacity import CapacityStudy, Search, prepare_capacity
from waspbench.runner.study import Study, prepare
from waspbench.stats.comparison import ALPHA

RESULTS = Path("results")
"""Where results go unless told otherwise, and where they are looked for."""

SEARCH = Search()
"""How capacity is searched unless told otherwise."""

Root = Annotated[
    Path, typer.Option("--root", metavar="DIR", help="Directory below which results are looked for, moved ones too.")
]
MetricOption = Annotated[str, typer.Option("--metric", metavar="NAME", help=f"One of {', '.join(COMPARABLE)}.")]


@app.command()
def capacity(
    file: FileArgument,
    mode: ModeOption = None,
    settings: Settings = None,
    slo: Annotated[
        list[str] | None,
        typer.Option(
            "--slo",
            metavar="CONDITION",
            help='What each run must meet to count, such as "p99 < 500ms"; may be repeated.',
        ),
    ] = None,
    low: Annotated[int, typer.Option(metavar="N", help="Fewest clients.")] = 8,
    high: Annotated[int, typer.Option(metavar="N", help="Most clients.")] = 4096,
    max_runs: Annotated[
        int | None,
        typer.Option(
            metavar="N", help=f"Runs of a search at most [{SEARCH.most}]; a second attempt at one is not counted."
        ),
    ] = None,
    confirm: Annotated[
        int | None, typer.Option(metavar="N", help=f"Fresh runs at the load that a search found [{SEARCH.confirm}].")
    ] = None,
    sweep: Annotated[
        bool,
        typer.Option("--sweep", help="Measure every power of two times --low, measure.runs times, and take the best."),
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
    directory = output or default_directory(str(document.get("name")))
    plan, found = prepare_capacity(
        document,
        directory,
        search,
        mode=parse(document).mode,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
    )
    print(f"{plan.mode}: {choose_mode(None, found[0].experiment)[1]}", file=sys.stderr)
    return _searched(CapacityStudy.begin(plan, found, directory), jobs, json)


@app.command()
def resume(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Results that are not complete.")],
    jobs: Jobs = None,
    json: Json = False,
    junit: studies.JUnit = None,
    markdown: studies.Markdown = None,
) -> int:
    """Make the runs that are missing in a directory of results, after whatever interrupted them."""
    if read_plan(directory).kind != "capacity":
        return studies.go_on(directory, jobs=jobs, outputs=studies.Outputs(json, junit, markdown))
    for name, given in (("--junit", junit), ("--markdown", markdown)):
        if given is not None:
            raise InputError.at(name, "a search for capacity has no checks", str(given))
    return _searched(CapacityStudy.open(directory), jobs, json)


def _searched(study: CapacityStudy, jobs: int | None, json: bool) -> int:
    interrupted = False
    with studies.StudyLine(sys.stderr) as line:
        try:
            result = study.run(jobs=jobs, on_progress=line.study)
        except KeyboardInterrupt:
            interrupted, result = True, study.summarise()
    studies.register(study.directory)
    print(result.to_json() if json else words.capacity(result), end="\n" if json else "")
    if interrupted:
        status.complain([f"interrupted; wasp resume {study.directory} makes the rest"])
        return status.Status.INTERRUPTED
    return status.Status.DONE if result.valid else status.Status.INVALID


@app.command()
def compare(
    first: Annotated[
        str, typer.Argument(metavar="A", help="Results: DIR, or points of it: DIR@path=value,path=value.")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Results that are held against A.")],
    metric: MetricOption = "throughput",
    alpha: Annotated[
        float, typer.Option(metavar="P", help="Chance to call a difference where there is none, over all points.")
    ] = ALPHA,
    json: Json = False,
) -> int:
    """Say whether B is faster or slower than A, by how much, and how sure that is."""
    result = compare_results(first, second, metric, alpha)
    print(result.to_json() if json else words.comparison(result), end="\n" if json else "")
    return status.Status.DONE if result.valid else status.Status.INVALID


@app.command()
def normality(
    source: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="An experiment to run, or results.")],
    runs: Annotated[int, typer.Option(metavar="N", min=3, max=1000, help="Runs to make of an experiment.")] = RUNS,
    metric: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(METRICS)}.")] = "throughput",
    mode: ModeOption = None,
    settings: Settings = None,
    json: Json = False,
    output: Output = None,
) -> int:
    """Test whether runs vary normally, as the intervals take for granted."""
    if metric not in METRICS:
        raise InputError.at("--metric", f"must be one of {', '.join(METRICS)}", metric)
    directory = source
    if not source.is_dir():
        document = document_of(source, [*(settings or []), f"measure.runs={runs}"], mode)
        _one_point(document, source)
        directory = output or default_directory(str(document.get("name")))
        plan, found = prepare(document, directory, mode=parse(document).mode)
        print(f"{plan.mode}: {choose_mode(None, found[0].experiment)[1]}", file=sys.stderr)
        with studies.StudyLine(sys.stderr) as line:
            Study.begin(plan, found, directory).run(on_progress=line.study)
        studies.register(directory)
    loaded = load_study(directory)
    only = loaded.points[0].result if len(loaded.points) == 1 else None
    if only is None:
        raise InputError.at(str(source), "must be results of one point")
    try:
        result = judge_normality(only, metric)
    except ValueError as error:
        raise InputError.at(str(source), f"{metric} of its runs: {str(error).partition(': ')[2]}") from None
    print(result.to_json() if json else words.normality(result), end="\n" if json else "")
    if not only.valid:
        return status.Status.INVALID
    return status.Status.DONE if result.normal else status.Status.CHECK_FAILED


def _one_point(document: dict[str, object], source: Path) -> None:
    if len(points(document)) != 1:
        raise InputError.at(str(source), "has a sweep; normality is judged at one point: --set 'sweep={}'")


@app.command("list")
def list_results(root: Root = RESULTS, json: Json = False) -> int:
    """List results, newest first."""
    found = _catalogue(root)
    print(catalogue.to_json(found) if json else words.entries(found), end="\n" if json else "")
    return status.Status.DONE


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="RESULT", help="A directory, an id, or the name of an experiment.")],
    root: Root = RESULTS,
    json: Json = False,
) -> int:
    """Print results again."""
    try:
        directory = catalogue.find(name, root)
    except (OSError, sqlite3.Error) as error:
        raise InputError.at(str(catalogue.location()), f"cannot be used: {error}") from None
    if is_study(directory) and read_plan(directory).kind == "capacity":
        found = words.load_capacity(directory)
        print(found.to_json() if json else words.capacity(found), end="\n" if json else "")
        return status.Status.DONE if found.valid else status.Status.INVALID
    result = with_asked(load_study(directory))
    print(studies.text(result, (), json), end="")
    return status.Status.DONE if result.valid else status.Status.INVALID


@app.command()
def query(
    statement: Annotated[
        str, typer.Argument(metavar="SQL", help='Such as "SELECT outcome, count(*) FROM transactions GROUP BY ALL".')
    ],
    root: Root = RESULTS,
    json: Json = False,
) -> int:
    """Ask SQL over all results: tables results, transactions, connections, series, links, histogram (needs DuckDB)."""
    names, rows = query_results(statement, _catalogue(root))
    if json:
        print(jsonlib.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2, default=str))
    else:
        print(words.table(names, rows), end="")
    return status.Status.DONE


def _catalogue(root: Path) -> list[catalogue.Entry]:
    try:
        return catalogue.entries(root)
    except (OSError, sqlite3.Error) as error:
        raise InputError.at(str(catalogue.location()), f"cannot be used: {error}") from None
