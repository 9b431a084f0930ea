"""The reference page, from the declarations: ``python -m waspbench.pages.reference`` prints ``docs/reference.md``.

Flags come from the commands, fields from the models of the experiment file; `waspbench.pages.shapes` makes the part on
results. What is declared in Rust, such as the presets' constants, stands in words; tests hold it to the engine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from cyclopts import App
from cyclopts.argument import Argument

from waspbench import _core
from waspbench.cli.app import app
from waspbench.cli.status import Status
from waspbench.experiment import Experiment
from waspbench.experiment.metrics import FIGURES, PERCENTILES, Kind
from waspbench.experiment.server_model import ServerModel
from waspbench.experiment.tcp import TcpPreset
from waspbench.experiment.workload import preset_of
from waspbench.pages import shapes
from waspbench.pages.fields import Schema, meaning_of, plain, references, table
from waspbench.pages.server_presets import presets
from waspbench.results.estimates import needed
from waspbench.results.few import LEAST

STATUS: dict[Status, str] = {
    Status.DONE: "Done, and valid.",
    Status.CHECK_FAILED: "A check failed: a condition of `[assert]`, `--assert`, `--at-least` or `--fail-on`, or the "
    "test of normality.",
    Status.BAD_INPUT: "The arguments or a file are not valid: one line on standard error for each problem.",
    Status.CANNOT: "This machine cannot do it: it lacks what live mode needs, or the server is not installed.",
    Status.FAILED: "No run came to its end, or the experiment could not go on, as on a full disk. What was "
    "measured is kept.",
    Status.INVALID: "Done, but the result is not valid (see `invalid_reasons`), or a check is undecided: too few "
    "transactions ended, or the interval does not decide it.",
    Status.INTERRUPTED: "Ctrl-C or SIGTERM ended the command. The results up to then are kept and marked as "
    "interrupted.",
    Status.PIPE_CLOSED: "The reader of standard output closed it before its end, as `head` does. The results are kept.",
}

BESIDE = {"abc_limit": {"ack_counting": "bytes"}, "cubic": {"congestion": "cubic"}}
"""Constants of ``tcp`` that there are beside another option only."""

UNITS = (
    ("duration", "`ns`, `us`, `ms`, `s`, `min`, `h`", "`100ms`, `1.5s`"),
    ("size", "`B`, `KB`, `KiB`, `MB`, `MiB`, `GB`, `GiB`", "`64KiB`, `20KB`"),
    ("rate", "`bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`", "`10Mbit/s`"),
    ("frequency", "`/s`, `/min`, `/h`", "`100/s`, `30/min`"),
    ("probability", "`%`, or a number from 0 to 1 without a unit", "`3%`, `0.03`"),
)


def page() -> str:
    """The text of ``docs/reference.md``."""
    parts = [_INTRODUCTION, *_commands(), *_statuses(), *_fields(), *_figures(), *shapes.results()]
    return "\n".join(parts).rstrip("\n") + "\n"


_INTRODUCTION = """\
# Reference

<!-- Made by `python -m waspbench.pages.reference`. Edit the declarations, not this page. -->
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
            yield table(("flag", "meaning"), rows)


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
    yield table(("status", "meaning"), [(str(int(status)), text) for status, text in STATUS.items()])


def _fields() -> Iterator[str]:
    schema = Experiment.model_json_schema()
    yield "## Experiment file\n"
    yield "The file is TOML. An unknown field is an error. A quantity is a text, a number followed by its unit:\n"
    yield table(("kind", "units", "examples"), UNITS)
    for name, paths in _paths(schema).items():
        part = schema if name == "" else schema["$defs"][name]
        yield f"### {_heading(part, paths)}\n"
        yield f"{plain(part['description'])}\n"
        rows = [_field_row(schema, part, field) for field in part["properties"]]
        if name in GENERATED:
            rows = [
                (field, kind, _generated(name, field.strip("`"), default), text) for field, kind, default, text in rows
            ]
            yield f"{_SOURCES}\n"
        if name == "Tcp":
            rows = [(field, kind, _preset(field.strip("`"), default), text) for field, kind, default, text in rows]
        if name == "ServerModel":
            flat = ServerModel().resolve()
            rows = [(field, kind, _flat(flat.get(field.strip("`"))), text) for field, kind, _, text in rows]
        yield table(("field", "value", "default", "meaning"), rows)
        if name == "ServerModel":
            yield from presets()


def _heading(part: Schema, paths: Sequence[str]) -> str:
    """Where a table of the file stands; tables at one path are told apart by their ``model``."""
    if paths == [""]:
        return "The file"
    shown = ", ".join("`[[clients]]`" if path == "clients" else f"`{path}`" for path in paths)
    for field in ("model", "kind"):
        if kind := part["properties"].get(field, {}).get("const"):
            return f"{shown}: `{kind}`"
    return shown


_TOLD_ELSEWHERE = ("clients.workload",)
"""Fields whose tables are those of another field, which their own text names."""


def _paths(schema: Schema) -> dict[str, list[str]]:
    """Each table of the file, and the paths at which it may stand, in the order of the file."""
    found: dict[str, list[str]] = {"": [""]}

    def visit(shape: Schema, path: str) -> None:
        for name, at in _tables(shape, path):
            known = found.setdefault(name, [])
            if at not in known:
                known.append(at)
                part = schema["$defs"][name]
                for field, inner in part["properties"].items():
                    if f"{at}.{field}" not in _TOLD_ELSEWHERE:
                        visit(inner, f"{at}.{field}")

    for field, shape in schema["properties"].items():
        visit(shape, field)
    return found


def _tables(shape: Schema, path: str) -> Iterator[tuple[str, str]]:
    """The tables that a field may hold, each with where it stands: those that users name are ``NAME``."""
    yield from ((name, path) for name in references(shape))
    for option in (shape, *shape.get("anyOf", ())):
        named = references([*option.get("patternProperties", {}).values()])
        yield from ((name, f"{path}.NAME") for name in named)


def _field_row(schema: Schema, part: Schema, field: str) -> tuple[str, str, str, str]:
    shape = part["properties"][field]
    default = shape.get("default")
    if field in part.get("required", ()):
        shown = "required"
    elif default is None or isinstance(default, (dict, list)):
        shown = ""
    else:
        shown = f"`{json.dumps(default)}`"
    return f"`{field}`", _kind(shape), shown, meaning_of(schema, shape)


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


def _flat(value: Any) -> str:
    """The default of a field of the modelled server: that of preset flat."""
    return "" if value is None else f"`{json.dumps(value)}`"


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
        return {"ipv4": "IPv4 address"}.get(shape["format"], str(shape["format"]))
    kind = shape.get("type")
    if kind == "integer":
        return f"integer{_range(shape)}"
    if kind == "array":
        return "list of tables" if references(shape) else "list"
    return {"string": "text", "boolean": "true or false", "object": "table", "number": "number"}.get(str(kind), "")


def _range(shape: Schema) -> str:
    low, high = shape.get("minimum"), shape.get("maximum")
    if low is None and high is None:
        return ""
    return f" from {low}" if high is None else f" from {low} to {high}"


def _figures() -> Iterator[str]:
    yield "## Figures in conditions\n"
    yield (
        "`[assert]`, `--assert`, `--slo` and `--metric` name a figure by "
        "`[group.][request:NAME.|sessions.][all.]figure`. `p99` is computed over all groups together, background "
        "groups left out, and `phones.p99` over the group `phones`. `request:order.p99` is that of the named request "
        "`order` of all groups, and `phones.request:order.p99` that of the requests of one group. `sessions.p99` is "
        "that of whole sessions, if clients make some: `sessions.throughput` counts sessions a second whose steps "
        "were all `ok`, `sessions.errors` is the share of sessions that failed, and the response time of a session is"
        " the sum of those of its steps, without the pauses. Response times (`mean`, `max` and percentiles) are those"
        " of `ok` transactions. With `all.` in front (`phones.all.p99`) they are those of all transactions that "
        "ended, errors included; in percentiles of sessions (`sessions.all.p99`), one that failed counts with an "
        "hour. An objective (`--slo`) is different: there `p99` is the percentile of all transactions that ended, and"
        " `ok.p99` is that of the `ok` ones. No group can have the name `all`, `ok`, `sessions` or that of a figure. "
        "`wasp compare` takes `throughput`, `goodput`, `mean` and percentiles.\n"
    )
    rows = [(f"`{name}`", _LIMITS[kind], meaning) for name, (kind, meaning) in FIGURES.items()]
    percentile = ("`p50`, `p99.9` and so on", _LIMITS["duration"], "response time that so many per cent do not exceed")
    yield table(("figure", "limit such as", "meaning"), [*rows, percentile])
    yield (
        'In TOML a dot opens a table. So `p99.9` needs quotes if the file has `p99`, too: `"p99.9" = "< 2s"`. A name '
        'with a colon always needs them: `"request:order.p99" = "< 2s"`.\n'
    )
    yield (
        "A condition is *undecided* if there is no figure to judge. A percentile does not exist with fewer "
        f"transactions than it needs ({_needs()}). If there are several groups, response times of a group do not exist "
        f"with fewer than {LEAST} transactions, and neither do those of one of several named requests. A point without "
        "a finished run has no figures.\n"
    )


def _needs() -> str:
    return ", ".join(f"`{name}` {needed(name):,}" for name in PERCENTILES)


_LIMITS: dict[Kind, str] = {"count": "`> 600`", "rate": "`> 10Mbit/s`", "duration": "`< 800ms`", "share": "`< 5%`"}


if __name__ == "__main__":
    sys.stdout.write(page())
