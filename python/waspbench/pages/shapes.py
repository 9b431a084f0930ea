"""The part of the reference page on results: what ``--json`` prints, and the files of a results directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from waspbench.experiment.metrics import PERCENTILES
from waspbench.experiment.profiles import Profile
from waspbench.field_texts import in_data
from waspbench.figures.figure import Axis, Figure, Panel, Trace
from waspbench.pages.fields import rows_of, rows_of_class, table
from waspbench.report.content import Block, Drawn, Report
from waspbench.results import FORMAT, Manifest, Result, RunSummary
from waspbench.results.calibration import CalibrationResult
from waspbench.results.capacity import CapacityResult
from waspbench.results.catalogue import Entry
from waspbench.results.columns import columns_of
from waspbench.results.comparing import ComparisonResult
from waspbench.results.loads import Load
from waspbench.results.normal import NormalityResult
from waspbench.results.study import StudyResult
from waspbench.results.tables import TABLES
from waspbench.results.twins import TwinResult
from waspbench.testbed.doctor import Finding
from waspbench.topology import Topology
from waspbench.workload.check import Examination
from waspbench.workload.fileset import Manifest as FileSet

SUMMARY: dict[str, str] = {
    "packets": "Number of packets `made` (sent by hosts, devices and routers, cut as fragments, or copied by links), "
    "and of packets `in_flight` at the end: made = sum of fates + in flight.",
    "little": "Both sides of Little's law over the measured interval, in seconds: `integral_s` is the number of "
    "transactions in progress, integrated over time; `records_s` is the sum of the transactions' parts inside the "
    "interval. They are equal but for rounding.",
    "groups": "Names of the groups of clients. The column `group` of the tables is an index into this list.",
    "events": "Number of events that the engine handled.",
}
"""Fields of a run's summary in addition to the declared ones."""


@dataclass(frozen=True)
class Shape:
    """A document of JSON that a command prints or a directory holds."""

    name: str
    """Heading of its section."""
    text: str
    """What has it, and what it is."""
    fields: list[tuple[str, str]]
    """Its fields, each with its meaning."""


def results() -> Iterator[str]:
    """The sections of the page on results."""
    yield "## Results\n"
    yield (
        f"A results directory (format {FORMAT}) contains `manifest.json`, and a directory for each table with one "
        'Parquet file for each run. `polars.read_parquet("DIR/transactions/")` reads all runs of a table. With '
        "`server.access_log`, `access_log/run-0.log` is the server's log of the first run "
        "([servers](servers.md#access-log)).\n"
    )
    yield (
        "Every command with `--json` prints one JSON document on standard output, and nothing else there. In these "
        "tables a dot separates a field from the object that contains it, and `[]` marks a list of objects. A figure "
        "that does not exist is null.\n"
    )
    for shape in of_results():
        yield from _section(shape)
        if shape.name == RUNS:
            yield from _lines()
    yield "### Tables\n"
    for name, (text, columns) in TABLES.items():
        yield f"#### `{name}`\n"
        yield f"{text}\n"
        yield table(("column", "type", "meaning"), [(f"`{column}`", kind, said) for column, kind, said in columns])
    yield "## JSON of other commands\n"
    for shape in of_tools():
        yield from _section(shape)
        if shape.name == REPORT:
            yield from _blocks()


def _section(shape: Shape) -> Iterator[str]:
    yield f"### {shape.name}\n"
    yield f"{shape.text}\n"
    yield table(("field", "meaning"), shape.fields)


RUNS = "`runs[]` of `--json` and of the manifest"
REPORT = "`wasp report --format json`"


def of_results() -> Iterator[Shape]:
    """The documents of results, in the order of the page."""
    yield Shape(
        "`--json`",
        "A result without a sweep: `wasp bench`, and `wasp run`, `resume` and `show` of one point.",
        rows_of(Result, skip=("runs",)),
    )
    in_words = [(f"`{name}`", text) for name, text in SUMMARY.items()]
    yield Shape(RUNS, "There is an object for each run.", [*rows_of(RunSummary), *in_words])
    yield Shape(
        "`--json` of a sweep",
        "The results of a sweep: `wasp run`, `resume` and `show`. `points[].result` is a result without a sweep, as "
        "above, but without `table`.",
        rows_of(StudyResult, skip=("result",)),
    )
    yield Shape(
        "`wasp capacity --json` and `capacity.json`",
        "The result of a search for capacity, with every run of the search. `capacity.json` in the directory is the "
        "same without `table`. `points[].loads[]` and `points[].line` have the fields of `table[]`; their percentiles "
        "are in `percentiles_ms`.",
        rows_of(CapacityResult, skip=("loads", "line")),
    )
    yield Shape(
        "`wasp compare --json`",
        "The verdict at each point, and whether B keeps the limit of `--fail-on`. `points[].lines[]` have the fields "
        "of `table[]`; their percentiles are in `percentiles_ms`.",
        rows_of(ComparisonResult, skip=("lines",)),
    )
    yield Shape(
        "`wasp calibrate --json` and `calibration.json`",
        "The costs of a server's work ([calibration](calibration.md)).",
        rows_of(CalibrationResult),
    )
    yield Shape(
        "`wasp twin --json`",
        "An experiment live and in simulation ([live and in simulation](twin.md)).",
        rows_of(TwinResult),
    )
    yield Shape("`manifest.json`", "The manifest of a directory of results.", rows_of(Manifest, deep=False))


def of_tools() -> Iterator[Shape]:
    """The documents that other commands print, in the order of the page."""
    yield Shape(
        REPORT, "The words, tables and figures of a report ([reports](report.md)).", rows_of(Report, skip=("blocks",))
    )
    yield Shape(
        "`wasp plot --json`",
        "The figures of WASP, and whether these results have them: a list of objects.",
        [
            ("`name`", "Name of the figure."),
            ("`description`", "What the figure shows."),
            ("`available`", "Whether these results have the figure."),
            ("`why_not`", "Why they do not have it; null if they have it."),
        ],
    )
    yield Shape("`wasp normality --json`", "Whether the runs of a result vary normally.", rows_of(NormalityResult))
    yield Shape("`wasp list --json`", "The catalogue of results: a list of objects, newest first.", rows_of(Entry))
    yield Shape(
        "`wasp query --json`",
        "The answer to the query: a list of objects, one for each row.",
        [("the columns of the answer", "Value of the column in this row. Times are texts; NaN and infinity are null.")],
    )
    yield Shape(
        "`wasp topology --json`",
        "The network of an experiment ([network](network.md)).",
        rows_of(Topology),
    )
    yield Shape(
        "`wasp profiles --json`",
        "The access profiles: one object, whose fields are the names of the profiles. Each profile is an object with "
        "these fields:",
        rows_of_class(Profile),
    )
    yield Shape(
        "`wasp doctor --json`",
        "What this machine can do.",
        [
            ("`live`", "Whether this machine can measure live."),
            ("`findings`", "The parts of the machine that were checked."),
            *rows_of_class(Finding, "findings[]."),
        ],
    )
    yield from _of_file_sets()


def _of_file_sets() -> Iterator[Shape]:
    in_file = [row for row in rows_of(FileSet) if row[0].startswith(("`format", "`entries"))]
    in_both = [row for row in rows_of(FileSet) if row not in in_file]
    printed = [*in_both, ("`files`", "Number of files.")]
    yield Shape("`wasp files --json`", "The file set that `wasp files surge` or `prowgen` wrote.", printed)
    yield Shape(
        "`wasp-files.json`",
        "The manifest in the directory of a file set has the fields above, without `files`, and:",
        in_file,
    )
    here = {field for field, _ in printed}
    yield Shape(
        "`wasp files check --json`",
        "A file set that was checked has the fields of `wasp files --json`, and:",
        [
            *(row for row in rows_of(Examination) if row[0] not in here),
            ("`figures`", "Paths of the figures that were drawn."),
        ],
    )


def _lines() -> Iterator[str]:
    """The lines of printed tables."""
    yield "### `table[]` of `--json`\n"
    yield (
        "The JSON of `wasp bench`, `run`, `resume`, `show`, `capacity` and `compare` ends with `table`, which has the "
        "figures of the printed table: an object for each of its lines. Each object has the figures below, and fields "
        "that say what the line is about:\n\n"
        "- a point: `group`, which is null for all clients (several groups have a line each); in a sweep also its "
        "number (`point`, from 0) and each swept field by its path;\n"
        "- a load of a search: `point`, the swept fields, `load`, `fresh`, `counts`, and the figures that objectives "
        "name (`all.p99_ms`);\n"
        "- a side of a comparison: the swept fields and `side` (`A` or `B`).\n\n"
        "The value of a swept list or table is a text here. On the terminal `bench` prints lines for groups only, with "
        "fewer columns.\n"
    )
    heads = {name: column.head for name, column in columns_of(Load).items()} | {
        _PERCENTILES: "p50 ms and so on",
        "judged": "all.p99 ms and so on",
    }
    properties = Load.model_json_schema(mode="serialization")["properties"]
    yield table(
        ("field", "column", "meaning"),
        [(_of_row(name), heads.get(name, ""), in_data(shape["description"])) for name, shape in properties.items()],
    )


_PERCENTILES = "percentiles_ms"


def _of_row(name: str) -> str:
    """The names under which the rows of a table have a figure."""
    names = [f"{each}_ms" for each in PERCENTILES] if name == _PERCENTILES else [name]
    return "`all.p99_ms` and so on" if name == "judged" else ", ".join(f"`{each}`" for each in names)


def _blocks() -> Iterator[str]:
    """The blocks of a report's sections, and the figures among them."""
    yield "#### `sections[].blocks[]` of a report\n"
    yield "The field `kind` says which other fields a block has.\n"
    rows = [
        (f"`{block.model_fields['kind'].default}`", *row)
        for block in get_args(Block)
        for row in rows_of(block, deep=block is not Drawn)
        if row[0] != "`kind`"
    ]
    yield table(("kind", "field", "meaning"), rows)
    yield "#### `figure` of a block\n"
    yield "A figure as data: what is drawn, over which axes.\n"
    parts = {"": Figure, "panels[].": Panel, "panels[].x.": Axis, "panels[].traces[].": Trace}
    yield table(("field", "meaning"), [row for prefix, kind in parts.items() for row in rows_of_class(kind, prefix)])
    yield "The fields of `panels[].y` are those of `panels[].x`.\n"
