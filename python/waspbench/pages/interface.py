"""The page of the Python interface, from declarations: ``python -m waspbench.pages.interface`` prints ``docs/api.md``.

Signatures and texts are those of the code, and the columns of frames are the declared ones. Tests hold the sections to
the names that the package exports, and the types that the page names to those that it explains.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

import waspbench
from waspbench import field_texts
from waspbench.experiment import Mode
from waspbench.experiment.metrics import PERCENTILES
from waspbench.experiment.search import Find, Method
from waspbench.figures.options import Log
from waspbench.pages.fields import table
from waspbench.pages.shapes import SUMMARY
from waspbench.report.written import Format
from waspbench.results.capacity import Bottleneck
from waspbench.results.frames import calibrations, comparisons, runs, searches, twins
from waspbench.results.frames.columns import FrameColumn
from waspbench.results.twin_figures import TwinVerdict
from waspbench.stats.capacity import More
from waspbench.stats.comparison import TestName, Verdict
from waspbench.stats.objective import Outcome

SECTIONS: dict[str, tuple[str, ...]] = {
    "Making results": ("run", "study", "capacity", "calibrate", "twin", "start", "resume"),
    "Reading and comparing results": (
        "load",
        "load_study",
        "load_capacity",
        "load_calibration",
        "load_twin",
        "compare_results",
    ),
    "Figures and reports": ("plot", "Plot", "report_of", "Report"),
    "Results": ("Result", "StudyResult", "CapacityResult", "ComparisonResult", "CalibrationResult", "TwinResult"),
    "Parts of results": (
        "Estimate",
        "ResponseTime",
        "Group",
        "NamedRequest",
        "Sessions",
        "RunSummary",
        "Reason",
        "Advice",
        "Check",
        "StudyPoint",
        "PointCapacity",
        "Load",
        "LoadReading",
        "Compared",
        "CalibratedCost",
        "CalibratedPoint",
        "TwinPoint",
        "TwinRow",
    ),
    "While runs are made": ("Handle", "Progress", "StudyProgress"),
    "What to measure": ("Experiment", "Search"),
    "Errors": ("WaspError", "InputError", "Problem", "CannotRunError", "RunFailedError"),
}
"""The exported names, in the order of the page."""

CALLED = ("Search",)
"""Classes that users call."""

ELSEWHERE = {
    "Experiment": "Its fields are those of the [experiment file](reference.md#experiment-file). Functions also take a "
    "file or a mapping, and raise an `InputError` if it is not valid. The constructor raises pydantic's "
    "`ValidationError` instead."
}
"""Classes whose fields another page has."""

CHOICES: dict[str, Any] = {
    "Mode": Mode,
    "Method": Method,
    "Find": Find,
    "Outcome": Outcome,
    "More": More,
    "Bottleneck": Bottleneck,
    "Verdict": Verdict,
    "TestName": TestName,
    "TwinVerdict": TwinVerdict,
    "Log": Log,
    "Format": Format,
}
"""Types that are one of several texts."""

TYPES = {
    "Source": "An `Experiment`, the content of an experiment file as a mapping, or the path of an experiment file.",
    "Comparable": "A `Result`, `StudyResult` or `CapacityResult`; or a directory of results; or `DIR@path=value`, "
    "which chooses points of a directory.",
    "Plotted": "A `Result`, `StudyResult`, `CapacityResult` or `ComparisonResult`; or a directory of results; or "
    "`DIR@path=value`, which chooses points of a directory.",
    "OnProgress": "A function that takes a `StudyProgress`.",
    "Number": "`int` or `float`.",
    "pl.DataFrame": "A [data frame](#data-frames) of polars.",
    "Drawing": "A `matplotlib.figure.Figure`.",
    "Figure": "A figure as data, with the fields of [`figure`](reference.md#figure-of-a-block) in a report's JSON.",
    "Begun": "A run that has begun: `run` (its number), `at` (its point, and its load in a search), `attempt`, "
    "`earlier` and `pilot`, as in `Progress`.",
    "_core.Sample": "A mapping with the fields `elapsed`, `measuring`, `throughput`, `in_flight`, `completed` and "
    "`errors` of `Progress`.",
    "Line": "The figures of a line of a table: the fields of `Load` up to `statuses`.",
    "Listing": "A table. `terminal()` returns its lines as a list of texts, and `markdown()` returns them in Markdown. "
    "`rows` has the figures of each line as a mapping.",
    "Items": "A list of sentences, with the fields of `alerts[]` in a "
    "[report's JSON](reference.md#wasp-report---format-json).",
    "Section": "A part of a report, with the fields of `sections[]` in a "
    "[report's JSON](reference.md#wasp-report---format-json).",
}
"""Other types that signatures and fields name."""

OF_JSON = (
    "The other classes that fields name are parts of results. Their fields are those of the JSON of "
    "[a result](reference.md#--json), [a run](reference.md#runs-of---json-and-of-the-manifest), "
    "[a search](reference.md#wasp-capacity---json-and-capacityjson) or "
    "[a comparison](reference.md#wasp-compare---json): for example, `Result.server_cpu` has the fields `server_cpu.*`."
)

IN_WORDS = {
    "RunSummary": {
        "packets": "dict[str, int]",
        "little": "dict[str, float]",
        "groups": "list[str]",
        "events": "int",
    }
}
"""Types of the fields that `waspbench.pages.shapes.SUMMARY` declares in words, by class."""

MOST_CHARACTERS = 100
"""Length up to which a signature stands on one line."""


def page() -> str:
    """The text of ``docs/api.md``."""
    return "\n".join([_INTRODUCTION, *_names(), *_types(), *_frames()]).rstrip("\n") + "\n"


_INTRODUCTION = """\
# Python interface

<!-- Made by `python -m waspbench.pages.interface`. Edit the declarations, not this page. -->

This page lists every name that `waspbench` exports, and every column of the [data frames](#data-frames). The page on \
[Python](python.md) explains how to use them.
"""


def _names() -> Iterator[str]:
    told: dict[Callable[..., Any], str] = {}
    for section, names in SECTIONS.items():
        yield f"## {section}\n"
        for name in names:
            found = getattr(waspbench, name)
            yield f"### `{name}`\n"
            yield from _class(name, found, told) if inspect.isclass(found) else _function(name, found)


def _function(name: str, function: Callable[..., Any]) -> Iterator[str]:
    yield f"```\n{signature(name, function)}\n```\n"
    yield prose(inspect.getdoc(function) or "")


def _class(name: str, kind: type, told: dict[Callable[..., Any], str]) -> Iterator[str]:
    """A class. Methods that an earlier class has from the same base are ``told``, and named only."""
    if name in CALLED:
        yield f"```\n{signature(name, kind)}\n```\n"
    yield prose(inspect.getdoc(kind) or "")
    if name in ELSEWHERE:
        yield f"{ELSEWHERE[name]}\n"
        return
    bases = [base.__name__ for base in kind.__bases__ if issubclass(base, Exception)]
    if bases:
        yield f"Base classes: {', '.join(f'`{base}`' for base in bases)}.\n"
    rows = [(f"`{field}`", linked(annotation), said) for field, annotation, said in fields_of(kind)]
    rows += [(f"`{field}`", f"`{of}`", SUMMARY[field]) for field, of in IN_WORDS.get(name, {}).items()]
    if rows:
        yield table(("field", "type", "meaning"), rows)
    same: dict[str, list[str]] = {}
    for method, function in methods_of(kind).items():
        if function in told:
            same.setdefault(told[function], []).append(method)
            continue
        told[function] = name
        yield f"#### `{name}.{method}`\n"
        yield from _function(method, function)
    for other, methods in same.items():
        listed = ", ".join(f"[`{method}`](#{other}{method})".lower() for method in methods)
        yield f"`{name}` has these methods of `{other}`, too: {listed}.\n"


def _own_bases(kind: type) -> list[type]:
    """The class and those of its bases that this package defines, the farthest first."""
    return [base for base in reversed(kind.__mro__) if base.__module__.startswith("waspbench")]


def fields_of(kind: type) -> list[tuple[str, str, str]]:
    """The public fields and properties of a class: name, type, and text."""
    found: dict[str, tuple[str, str, str]] = {}
    for base in _own_bases(kind):
        told = field_texts.of_class(base.__module__, base.__qualname__)
        for name, annotation in inspect.get_annotations(base).items():
            if name in told and not name.startswith("_"):
                found[name] = (name, plain_type(str(annotation)), told[name].text)
        for name, value in vars(base).items():
            if isinstance(value, property) and value.fget is not None and not name.startswith("_"):
                annotation = str(inspect.get_annotations(value.fget)["return"])
                found[name] = (name, plain_type(annotation), inspect.getdoc(value) or "")
    return list(found.values())


def plain_type(annotation: str) -> str:
    """A type as the source has it, without what ``Annotated`` adds."""
    node = ast.parse(annotation, mode="eval").body
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated" and isinstance(node.slice, ast.Tuple):
        node = node.slice.elts[0]
    return ast.unparse(node).replace("'", '"')


def linked(annotation: str) -> str:
    """A type as a cell: a link to the first exported class that it names."""
    names = (name for name in re.findall(r"\w+", annotation) if name[0].isupper() and name in waspbench.__all__)
    first = next(names, None)
    return f"`{annotation}`" if first is None else f"[`{annotation}`](#{_anchors()[first]})"


@cache
def _anchors() -> dict[str, str]:
    """Where a link to a name leads: headings that differ only in case are numbered from the second on."""
    found: dict[str, str] = {}
    seen: list[str] = []
    for heading in (each for section, names in SECTIONS.items() for each in (section, *names)):
        before = seen.count(heading.lower())
        found[heading] = heading.lower() if before == 0 else f"{heading.lower()}-{before}"
        seen.append(heading.lower())
    return found


def methods_of(kind: type) -> dict[str, Callable[..., Any]]:
    """The public methods of a class that this package defines, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for base in _own_bases(kind):
        for name, value in vars(base).items():
            value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            if not name.startswith("_") and inspect.isfunction(value) and value.__module__.startswith("waspbench"):
                found[name] = value
    return found


def signature(name: str, function: Callable[..., Any]) -> str:
    """The call of a function with its types and defaults, as the code has it."""
    parts: list[str] = []
    described = inspect.signature(function)
    for parameter in described.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        assert parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_KEYWORD), "not shown yet"
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
        parts.append(f"{star}{parameter.name}: {_quoted(parameter.annotation)}{default}")
    returned = name if inspect.isclass(function) else _quoted(described.return_annotation)
    line = f"{name}({', '.join(parts)}) -> {returned}"
    if len(line) <= MOST_CHARACTERS:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f") -> {returned}"])


def _quoted(annotation: Any) -> str:
    return str(annotation).replace("'", '"')


def _shown(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


_HEADS = {"Args:": "Arguments:", "Raises:": "Errors:", "Attributes:": "Attributes:"}


def prose(documentation: str) -> str:
    """A docstring in Markdown: its lists of arguments, errors and attributes become lists."""
    lines: list[str] = []
    listed = False
    for line in documentation.replace("``", "`").splitlines():
        assert line in _HEADS or not re.fullmatch(r"[A-Z]\w+:", line), f"{line} has no name in Markdown yet"
        if line in _HEADS:
            lines += [_HEADS[line], ""]
            listed = True
        elif listed and line.startswith("        "):
            lines[-1] += f" {line.strip()}"
        elif listed and line.startswith("    "):
            name, _, said = line.strip().partition(": ")
            lines.append(f"- `{name}`: {said}")
        elif line and lines and lines[-1] and not listed:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
            listed = False
    return "\n".join(lines) + "\n"


def _types() -> Iterator[str]:
    yield "## Types\n"
    rows = [(f"`{name}`", text) for name, text in TYPES.items()]
    rows += [(f"`{name}`", choices(kind)) for name, kind in CHOICES.items()]
    yield table(("name", "meaning"), sorted(rows, key=lambda row: row[0].lower()))
    yield f"{OF_JSON}\n"


def choices(kind: Any) -> str:
    """What a value of a type of texts may be."""
    *others, last = [f'`"{choice}"`' for choice in get_args(kind)]
    return f"{', '.join(others)} or {last}"


FRAMES: Mapping[str, tuple[str, Sequence[FrameColumn], bool]] = {
    "Result.to_frame()": ("A row is a run.", runs.run_columns(PERCENTILES, by_group=True, by_request=True), False),
    "StudyResult.to_frame()": (
        "A row is a point.",
        runs.point_columns(PERCENTILES, by_group=True, by_request=True),
        True,
    ),
    "CapacityResult.to_frame()": ("A row is a point.", searches.point_columns(PERCENTILES), True),
    'CapacityResult.to_frame("loads")': (
        "A row is a load that was tried. Figures that objectives name have a column each, such as `all.p99_ms`.",
        searches.load_columns(PERCENTILES),
        True,
    ),
    'CapacityResult.to_frame("runs")': (
        "A row is a run. Figures that objectives name have a column each, such as `all.p99_ms`.",
        searches.run_columns(),
        True,
    ),
    "ComparisonResult.to_frame()": (
        "A row is a point that A and B have in common.",
        comparisons.comparison_columns(),
        True,
    ),
    "CalibrationResult.to_frame()": ("A row is a kind of work.", calibrations.cost_columns(), False),
    "TwinResult.to_frame()": ("A row is a figure of a point.", twins.twin_columns(), True),
}
"""The frames of declared columns: what a row is, the columns, and whether swept fields are among them."""

_GROUPED = (
    " The columns `group` and `background` exist only with `by_group=True`, and the column `request` only with "
    "`by_request=True`."
)


def _frames() -> Iterator[str]:
    yield "## Data frames\n"
    yield (
        "The percentiles are those that tables show: those of `measure.percentiles`, or of the argument `percentiles` "
        "of functions that read results. A figure with a 90 % confidence interval has two more columns with the ends "
        "of the interval, such as `throughput_low` and `throughput_high`; an end that is not known is null, and with "
        "one run both are.\n"
    )
    for name, (text, columns, swept) in FRAMES.items():
        yield f"### `{name}`\n"
        grouped = _GROUPED if any(column.name == "background" for column in columns) else ""
        yield f"{text}{grouped}\n"
        yield table(("column", "type", "interval", "meaning"), frame_rows(columns, swept=swept))
    yield '### `StudyResult.to_frame("runs")`\n'
    yield "The columns of `Result.to_frame()`, after `point` and the swept fields.\n"
    yield "### Tables\n"
    yield (
        "The [reference](reference.md#tables) lists the columns of `transactions()`, `connections()`, `series()`, "
        "`links()`, `link_series()`, `link_waits()` and `histogram()`. In the frames of a `StudyResult` the first "
        "column is the number of the `point`.\n"
    )


_SWEPT = (
    "the swept fields",
    "",
    "",
    "Values of the swept fields, each in a column with the path of the field as its name. If the values are texts with "
    "a unit, another column has them as numbers: `clients.rtt_ms`, `clients.loss.rate_share`, `workload.size_bytes`, "
    "`clients.bandwidth.down_bps`, `clients.arrivals.rate_per_s`.",
)


def frame_rows(columns: Sequence[FrameColumn], *, swept: bool = False) -> list[tuple[str, str, str, str]]:
    """The rows for these columns. Columns with one text share a row, and the ends of an interval are in that of their
    figure.
    """
    names = {column.name for column in columns}
    rows: list[tuple[list[str], str, str, str]] = []
    for column in columns:
        figure, _, end = column.name.rpartition("_")
        if end in ("low", "high") and figure in names:
            continue
        interval = "yes" if f"{column.name}_low" in names else ""
        about = (column.kind, interval, column.meaning)
        if rows and rows[-1][1:] == about:
            rows[-1][0].append(column.name)
        else:
            rows.append(([column.name], *about))
    found = [(", ".join(f"`{name}`" for name in names), *about) for names, *about in rows]
    if swept:
        found.insert(1 if columns[0].name == "point" else 0, _SWEPT)
    return [(names, kind, interval, meaning) for names, kind, interval, meaning in found]


if __name__ == "__main__":
    sys.stdout.write(page())
