"""The reference page, from the declarations: ``python -m waspbench.cli.reference`` prints ``docs/reference.md``.

Flags come from the commands, fields from the models of the experiment file and of the results. What is declared in Rust
(columns, the presets' constants, part of a run's summary) stands here in words; tests hold it to what the engine says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from cyclopts import App
from cyclopts.argument import Argument

from waspbench import _core
from waspbench.cli.app import app
from waspbench.cli.status import Status
from waspbench.experiment import Experiment
from waspbench.experiment.metrics import FIGURES, PERCENTILES, Kind
from waspbench.experiment.tcp import TcpPreset
from waspbench.experiment.workload import preset_of
from waspbench.results import FORMAT, Manifest, Result, RunSummary
from waspbench.results.capacity import CapacityResult
from waspbench.results.columns import columns_of
from waspbench.results.comparing import ComparisonResult
from waspbench.results.estimates import needed
from waspbench.results.groups import LEAST
from waspbench.results.loads import Load
from waspbench.results.tables import TABLES
from waspbench.tabular import piped

Schema = Mapping[str, Any]

STATUS: dict[Status, str] = {
    Status.DONE: "Done, and valid.",
    Status.CHECK_FAILED: "A check failed: a condition of `[assert]` or `--assert` at some point, or normality.",
    Status.BAD_INPUT: "The arguments or a file are not valid: one line on standard error for each problem.",
    Status.CANNOT: "This machine cannot do it: live mode without the means for it, a server that is not installed.",
    Status.FAILED: "A run began and could not be finished. Earlier runs of the experiment are kept.",
    Status.INVALID: "Done, but at least one run must not be trusted (see `invalid_reasons`), or a check is undecided, "
    "because there are too few transactions for its figure.",
    Status.INTERRUPTED: "Ended by Ctrl-C or SIGTERM. What was measured until then is kept and marked.",
    Status.PIPE_CLOSED: "Who read standard output closed it before its end, as `head` does. What was measured is kept.",
}

BESIDE = {"abc_limit": {"ack_counting": "bytes"}, "cubic": {"congestion": "cubic"}}
"""Constants of ``tcp`` that there are beside another option only."""

SUMMARY: dict[str, str] = {
    "fates": "Packets of the whole run by what became of them, warm-up included.",
    "packets": "`made` by hosts and device, and `in_flight` at the end: made = sum of fates + in flight.",
    "little": "Both sides of Little's law over the measured interval, in seconds, equal to rounding: `integral_s` of "
    "the transactions in progress over time, `records_s` of the records' parts inside the interval.",
    "groups": "Names of the groups of clients; the column `group` of the tables is an index into them.",
    "events": "Events that the engine's kernel handled.",
}
"""What a run's summary holds beside the declared fields."""

UNITS = (
    ("duration", "`ns`, `us`, `ms`, `s`, `min`, `h`", "`100ms`, `1.5s`"),
    ("size", "`B`, `KB`, `KiB`, `MB`, `MiB`, `GB`, `GiB`", "`64KiB`, `20KB`"),
    ("rate", "`bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`", "`10Mbit/s`"),
    ("frequency", "`/s`, `/min`, `/h`", "`100/s`, `30/min`"),
    ("probability", "`%`, or none from 0 to 1", "`3%`, `0.03`"),
)


def page() -> str:
    """The text of ``docs/reference.md``."""
    parts = [_INTRODUCTION, *_commands(), *_statuses(), *_fields(), *_figures(), *_results()]
    return "\n".join(parts).rstrip("\n") + "\n"


_INTRODUCTION = """\
# Reference

<!-- Made by `python -m waspbench.cli.reference`. Edit the declarations, not this page. -->
"""


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    for name, command in _commands_of(app):
        found = [
            argument
            for argument in command.assemble_argument_collection(default_parameter=app.default_parameter)
            if argument.show
        ]
        positional = [argument for argument in found if argument.index is not None]
        names = " ".join(_name(argument) if argument.required else f"[{_name(argument)}]" for argument in positional)
        yield f"### `wasp {name}{' ' if names else ''}{names}`\n"
        yield f"{(command.help or '').strip()}\n"
        rows = [(_flag(argument), _help(argument)) for argument in found if argument.index is None]
        if rows:
            yield _table(("flag", "meaning"), rows)


def _commands_of(group: App, path: str = "") -> Iterator[tuple[str, App]]:
    """The commands, those of a group within the group by both names."""
    for name in group:
        if name.startswith("-"):
            continue
        command = group[name]
        below = list(_commands_of(command, f"{path}{name} "))
        yield from below or [(path + name, command)]


def _name(argument: Argument) -> str:
    return str(argument.name)


def _flag(argument: Argument) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(argument.names, key=len))
    return names if argument.hint is bool else f"{names} {argument.parameter.metavar or ''}".rstrip()


def _help(argument: Argument) -> str:
    default = argument.field_info.default
    return f"{argument.parameter.help or ''}{f' [default: {default}]' if argument.parameter.show_default else ''}"


def _statuses() -> Iterator[str]:
    yield "## Exit status\n"
    yield _table(("status", "meaning"), [(str(int(status)), text) for status, text in STATUS.items()])


def _fields() -> Iterator[str]:
    schema = Experiment.model_json_schema()
    yield "## Experiment file\n"
    yield "TOML. Unknown fields are errors. Quantities are texts with a unit and without a blank in between:\n"
    yield _table(("kind", "units", "examples"), UNITS)
    for name, paths in _paths(schema).items():
        part = schema if name == "" else schema["$defs"][name]
        yield f"### {_heading(part, paths)}\n"
        yield f"{_plain(part['description'])}\n"
        rows = [_field_row(schema, part, field) for field in part["properties"]]
        if name in GENERATED:
            rows = [
                (field, kind, _generated(name, field.strip("`"), default), text) for field, kind, default, text in rows
            ]
            yield f"{_SOURCES}\n"
        if name == "Tcp":
            rows = [(field, kind, _preset(field.strip("`"), default), text) for field, kind, default, text in rows]
        yield _table(("field", "value", "default", "meaning"), rows)


def _heading(part: Schema, paths: Sequence[str]) -> str:
    """Where a table of the file stands; tables at one path are told apart by their ``model``."""
    if paths == [""]:
        return "The file"
    shown = ", ".join("`[[clients]]`" if path == "clients" else f"`{path}`" for path in paths)
    for field in ("model", "kind"):
        if kind := part["properties"].get(field, {}).get("const"):
            return f"{shown}: `{kind}`"
    return shown


def _paths(schema: Schema) -> dict[str, list[str]]:
    """Each table of the file, and the paths at which it may stand, in the order of the file."""
    found: dict[str, list[str]] = {"": [""]}

    def visit(shape: Schema, path: str) -> None:
        for name in _references(shape):
            known = found.setdefault(name, [])
            if path not in known:
                known.append(path)
                part = schema["$defs"][name]
                for field, inner in part["properties"].items():
                    visit(inner, f"{path}.{field}")

    for field, shape in schema["properties"].items():
        visit(shape, field)
    return found


def _references(shape: Any) -> list[str]:
    """Names of the tables that a field may hold."""
    if isinstance(shape, list):
        return [name for part in shape for name in _references(part)]
    if not isinstance(shape, Mapping):
        return []
    if "$ref" in shape:
        return [shape["$ref"].rpartition("/")[2]]
    return [name for key in ("anyOf", "oneOf", "items", "allOf") for name in _references(shape.get(key))]


def _field_row(schema: Schema, part: Schema, field: str) -> tuple[str, str, str, str]:
    shape = part["properties"][field]
    default = shape.get("default")
    if field in part.get("required", ()):
        shown = "required"
    elif default is None or isinstance(default, (dict, list)):
        shown = ""
    else:
        shown = f"`{json.dumps(default)}`"
    return f"`{field}`", _kind(shape), shown, _meaning(schema, shape)


def _meaning(schema: Schema, shape: Schema) -> str:
    """A field's documentation, or that of the table which it holds."""
    said = shape.get("description") or " ".join(
        schema["$defs"][name].get("description", "") for name in _references(shape)
    )
    return str(said)


GENERATED = {"Surge": "surge", "Prowgen": "prowgen"}
"""Workloads whose parameters come from a preset."""

_SOURCES = (
    "Defaults are those of the first preset; others are in [workloads](workloads.md), as are the sources: [98] Barford "
    "and Crovella, SIGMETRICS 1998; [99] the same, SIGMETRICS 1999; [B02] Busari and Williamson 2002; [N01] Nahum et "
    "al. 2001; [S03] Simmonds et al. 2003."
)


def _generated(name: str, field: str, default: str) -> str:
    """The default of a parameter: that of the preset, as the engine has it."""
    value = preset_of(GENERATED[name]).get(field)
    return default if value is None else f"`{_toml(value)}`"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def _preset(field: str, default: str) -> str:
    """The default of a field of ``tcp``: that of each preset that has such a constant."""
    beside = BESIDE.get(field, {})
    values = {preset: _constant(field, preset=preset, **beside) for preset in get_args(get_args(TcpPreset)[0])}
    told = {preset: value for preset, value in values.items() if value is not None}
    if not told:
        return default
    if len(told) == len(values) and len(set(told.values())) == 1:
        return f"`{next(iter(told.values()))}`"
    return ", ".join(f"`{value}` ({preset})" for preset, value in told.items())


def _constant(field: str, **options: str) -> str | None:
    """What the engine takes for a field of ``tcp``, beside these options; None where there is no such constant."""
    value = None if field == "preset" else json.loads(_core.tcp_constants(json.dumps(options))).get(field)
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _kind(shape: Schema) -> str:
    """What a field may hold, in words."""
    options = shape.get("anyOf") or shape.get("oneOf")
    if options:
        kinds = dict.fromkeys(_kind(option) for option in options)
        return " or ".join(kind for kind in kinds if kind)
    if "$ref" in shape:
        return "table"
    if "enum" in shape or "const" in shape:
        return " | ".join(f"`{choice}`" for choice in shape.get("enum", [shape.get("const")]))
    if "format" in shape:
        return str(shape["format"])
    kind = shape.get("type")
    if kind == "integer":
        return f"integer{_range(shape)}"
    if kind == "array":
        return "list of tables" if _references(shape) else "list"
    return {"string": "text", "boolean": "true or false", "object": "table", "number": "number"}.get(str(kind), "")


def _range(shape: Schema) -> str:
    low, high = shape.get("minimum"), shape.get("maximum")
    if low is None and high is None:
        return ""
    return f" from {low}" if high is None else f" from {low} to {high}"


def _figures() -> Iterator[str]:
    yield "## Figures in conditions\n"
    yield (
        "`[assert]`, `--assert`, `--slo` and `--metric` name a figure by `[group.][all.]figure`: `p99` is that of all "
        "groups that are no background, `phones.p99` that of the group `phones`. A response time (`mean`, `max` and "
        "percentiles) is that of `ok` transactions, and with `all.` before it (`phones.all.p99`) that of all that "
        "ended, whatever their outcome. In an objective (`--slo`) a percentile is that of all that ended, and `ok.p99` "
        "that of `ok` ones. No group can be called `all`, `ok` or like a figure. `wasp compare` takes `throughput`, "
        "`goodput`, `mean` and percentiles.\n"
    )
    rows = [(f"`{name}`", _LIMITS[kind], meaning) for name, (kind, meaning) in FIGURES.items()]
    percentile = ("`p50`, `p99.9` and so on", _LIMITS["duration"], "response time that so many per cent do not exceed")
    yield _table(("figure", "limit such as", "meaning"), [*rows, percentile])
    yield ('TOML takes a dot for a table. So `p99.9` needs quotes in a file that has `p99`, too: `"p99.9" = "< 2s"`.\n')
    yield (
        "A condition is *undecided* where there is no figure to judge: a percentile of fewer transactions than it "
        f"needs ({_needs()}), any response time of one of several groups with fewer than {LEAST} transactions, or a "
        "point without a finished run.\n"
    )


def _needs() -> str:
    return ", ".join(f"`{name}` {needed(name):,}" for name in PERCENTILES)


_LIMITS: dict[Kind, str] = {"count": "`> 600`", "rate": "`> 10Mbit/s`", "duration": "`< 800ms`", "share": "`< 5%`"}


def _results() -> Iterator[str]:
    yield "## Results\n"
    yield (
        f"A results directory has format {FORMAT}: `manifest.json`, and for each table a directory with one Parquet "
        'file a run. `polars.read_parquet("DIR/transactions/")` reads all runs of a table. Where `server.access_log` '
        "asks for it, `access_log/run-0.log` is what the server logged in a run ([servers](servers.md#access-log)).\n"
    )
    yield "### `--json`\n"
    yield "One object. Fields of a group of figures are written with a dot. A figure that does not exist is null.\n"
    yield _table(("field", "meaning"), _rows_of(Result.model_json_schema(mode="serialization"), skip=("runs",)))
    yield "### `runs[]` of `--json` and of the manifest\n"
    yield "One object a run.\n"
    rows = _rows_of(RunSummary.model_json_schema(mode="serialization"))
    rows += [(f"`{name}`", text) for name, text in SUMMARY.items()]
    yield _table(("field", "meaning"), rows)
    yield "### `table[]` of `--json`\n"
    yield (
        "What `wasp bench`, `run`, `resume`, `show`, `capacity` and `compare` print with `--json` ends with `table`: "
        "lines about what was measured, an object each, with these figures and what each line is about. Of a point "
        "these are its number (`point`, from 0; not in `bench`), each swept field by its path, and `group`: null for "
        "all clients, and a line for each group where there are several. Of a search they are `point`, the swept "
        "fields, `load`, `fresh`, `counts` and the figures that objectives name (`all.p99_ms`); of a comparison the "
        "swept fields and `side` (`A` or `B`). A swept list or table is a text here. The columns are those of the "
        "tables that are printed without `--json`; `bench` prints a line for each group only, with fewer of them.\n"
    )
    heads = {name: column.head for name, column in columns_of(Load).items()} | {
        _PERCENTILES: "p50 ms and so on",
        "judged": "all.p99 ms and so on",
    }
    properties = Load.model_json_schema(mode="serialization")["properties"]
    yield _table(
        ("field", "column", "meaning"),
        [
            (_of_row(name), heads.get(name, ""), shape["description"].replace("None", "null"))
            for name, shape in properties.items()
        ],
    )
    yield "### `wasp capacity --json` and `capacity.json`\n"
    yield "What a search for capacity found, and every run that it made. Without `table` it is in the directory, too.\n"
    yield _table(("field", "meaning"), _rows_of(CapacityResult.model_json_schema(mode="serialization"), skip=_LINES))
    yield "### `wasp compare --json`\n"
    yield "What a comparison says at each point, and of the limit that `--fail-on` gives.\n"
    rows = _rows_of(ComparisonResult.model_json_schema(mode="serialization"), skip=("lines",))
    yield _table(("field", "meaning"), rows)
    yield "### `manifest.json`\n"
    yield _table(("field", "meaning"), _rows_of(Manifest.model_json_schema(mode="serialization"), deep=False))
    yield "### Tables\n"
    for name, (text, columns) in TABLES.items():
        yield f"#### `{name}`\n"
        yield f"{text}\n"
        yield _table(("column", "type", "meaning"), [(f"`{column}`", kind, said) for column, kind, said in columns])


_PERCENTILES = "percentiles_ms"
_LINES = ("loads", "line")
"""Fields of the search's result that hold lines of tables."""


def _of_row(name: str) -> str:
    """The names under which the rows of a table have a figure."""
    names = [f"{each}_ms" for each in PERCENTILES] if name == _PERCENTILES else [name]
    return "`all.p99_ms` and so on" if name == "judged" else ", ".join(f"`{each}`" for each in names)


def _rows_of(schema: Schema, skip: Sequence[str] = (), deep: bool = True) -> list[tuple[str, str]]:
    """The fields of a model of the results, nested ones with a dot."""
    rows: list[tuple[str, str]] = []

    def visit(properties: Schema, prefix: str) -> None:
        for name, shape in properties.items():
            rows.append((f"`{prefix}{name}`", _meaning(schema, shape).replace("None", "null")))
            for inner in _references(shape) if deep and name not in skip else ():
                kinds = {option.get("type") for option in (shape, *shape.get("anyOf", ()))}
                listed = "[]" if "array" in kinds else ""
                visit(schema["$defs"][inner]["properties"], f"{prefix}{name}{listed}.")

    visit(schema["properties"], "")
    return rows


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(piped(head, [[_plain(cell) for cell in row] for row in rows])) + "\n"


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


if __name__ == "__main__":
    sys.stdout.write(page())
