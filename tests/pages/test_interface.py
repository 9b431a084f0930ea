"""The page of the Python interface says what the code says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import waspbench
from fake_core import FakeEngine
from models import reachable
from waspbench.pages import interface
from waspbench.results.twin_figures import rows_of

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
CLASSES = [name for name in waspbench.__all__ if inspect.isclass(getattr(waspbench, name))]


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == interface.page(), "python -m waspbench.pages.interface > docs/api.md"


def test_every_exported_name_has_its_place() -> None:
    assert sorted(name for names in interface.SECTIONS.values() for name in names) == waspbench.__all__


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in interface.ELSEWHERE])
def test_every_field_and_method_is_documented(name: str) -> None:
    kind = getattr(waspbench, name)
    assert [field for field, _, said in interface.fields_of(kind) if not said] == []
    assert [method for method, function in interface.methods_of(kind).items() if not inspect.getdoc(function)] == []


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in interface.ELSEWHERE])
def test_no_public_member_is_missing(name: str) -> None:
    kind = getattr(waspbench, name)
    told = {field for field, *_ in interface.fields_of(kind)} | interface.methods_of(kind).keys()
    others = [vars(base) for base in kind.__mro__ if not base.__module__.startswith("waspbench")]
    members = {*dir(kind), *getattr(kind, "model_fields", ()), *getattr(kind, "__dataclass_fields__", ())}
    assert {each for each in members.difference(*others) if not each.startswith("_")} - told == set()


def test_every_type_is_explained() -> None:
    types = {name for name in re.findall(r"[\w.]+", " ".join(types_named())) if re.search(r"\b[A-Z]", name)}
    python = {"Path", "None", "Any", "Literal", "Sequence", "Mapping", "Callable", "Iterable", "Self"}
    parts = {model.__name__ for name in CLASSES for model in reachable(getattr(waspbench, name), set())}
    known = python | {*waspbench.__all__, *interface.TYPES, *interface.CHOICES} | parts
    assert types - known == set()
    assert (interface.TYPES.keys() | interface.CHOICES.keys()) - types == set()


def types_named() -> Iterator[str]:
    """Every type that the page names, without defaults and the texts of literals."""
    for name in waspbench.__all__:
        found = getattr(waspbench, name)
        functions = [found]
        if inspect.isclass(found):
            functions = [*interface.methods_of(found).values(), *([found] if name in interface.CALLED else [])]
            fields = interface.fields_of(found) if name not in interface.ELSEWHERE else []
            yield from (re.sub(r'"[^"]*"', "", annotation) for _, annotation, _ in fields)
        yield from (re.sub(r'"[^"]*"| = \w+', "", interface.signature(name, function)) for function in functions)


def test_the_json_has_the_fields_of_other_classes() -> None:
    """The page says so of the classes without a section."""
    told = (PAGE.parent / "reference.md").read_text()
    others = {
        model
        for name in ("Result", "RunSummary", "CapacityResult", "ComparisonResult")
        for model in reachable(getattr(waspbench, name), set())
        if model.__name__ not in {*waspbench.__all__, *interface.TYPES}
    }
    assert "ServerCpu" in {model.__name__ for model in others}
    absent = [f"{model.__name__}.{name}" for model in others for name in model.model_fields if f".{name}`" not in told]
    assert absent == []


def test_a_signature_is_that_of_the_code() -> None:
    assert interface.signature("load_capacity", waspbench.load_capacity) == (
        "load_capacity(path: str | Path, *, percentiles: Sequence[str] | None = None) -> CapacityResult"
    )
    assert interface.signature("study", waspbench.study).splitlines()[:4] == [
        "study(",
        "    experiment: Source,",
        "    *,",
        "    output: str | Path | None = None,",
    ]
    assert interface.signature("Search", waspbench.Search).splitlines()[1] == '    method: Method = "search",'


def test_lists_and_paragraphs_of_docstrings() -> None:
    said = interface.prose(
        "Does it\nto ``x``.\n\nMore.\n\nArgs:\n    x: what\n        it is.\n\nRaises:\n    InputError: it is none."
    )
    assert said == (
        "Does it to `x`.\n\nMore.\n\nArguments:\n\n- `x`: what it is.\n\nErrors:\n\n- `InputError`: it is none.\n"
    )


def test_fields_are_those_of_the_class_and_of_its_bases() -> None:
    fields = {name: annotation for name, annotation, _ in interface.fields_of(waspbench.Load)}
    assert next(iter(fields)) == "throughput"
    assert fields["throughput"] == "float | None"
    assert fields["load"] == "Number"
    assert "plot" in interface.methods_of(waspbench.Result)
    assert "model_dump" not in interface.methods_of(waspbench.Result)


def test_an_interval_is_told_with_its_figure() -> None:
    rows = {
        names: interval for names, _, interval, _ in interface.frame_rows(interface.FRAMES["StudyResult.to_frame()"][1])
    }
    assert rows["`throughput`"] == "yes"
    assert rows["`max_ms`"] == ""
    assert rows["`p50_ms`, `p90_ms`, `p95_ms`, `p99_ms`, `p99.9_ms`"] == "yes"


COST = waspbench.CalibratedCost(
    work="requests", counted="requests answered", fields=["per_request"], us=3.0, ci90=(2.0, 4.0),
    may_be_zero=False, inflation=1.0, known_with=[],
)  # fmt: skip


def test_frames_have_the_columns_of_the_page(engine: FakeEngine, here: Path) -> None:
    document = {"name": "x", "clients": [{"count": 2}], "measure": {"runs": 3}}
    sweep = document | {"sweep": {"clients.rtt": ["10ms", "20ms"]}}
    result = waspbench.run(document, mode="sim")
    study = waspbench.study(sweep, mode="sim", jobs=1, output="sweep")
    search = waspbench.capacity(document, mode="sim", search=waspbench.Search(high=32))
    compared = waspbench.compare_results("sweep", "sweep")
    calibrated = waspbench.CalibrationResult(
        name="x", mode="sim", seed=1, server={}, machine={}, versions={}, model={}, costs=[COST],
        error=0.0, worst=0.0, complete=True, valid=True,
    )  # fmt: skip
    twin = waspbench.TwinResult(
        name="x", seed=1, results="", within=None, verdict=None, complete=True, valid=True,
        points=[
            waspbench.TwinPoint(
                index=point.index, varied=point.varied, runs=(3, 3), rows=rows_of(point.result, point.result),
                outcomes=({}, {}), reasons=([], []), failures=(None, None), valid=True,
            )
            for point in study.points if point.result
        ],
    )  # fmt: skip
    swept = ["clients.rtt", "clients.rtt_ms"]
    made = {
        "Result.to_frame()": result.to_frame(by_group=True, by_request=True),
        "StudyResult.to_frame()": study.to_frame(by_group=True, by_request=True),
        "CapacityResult.to_frame()": search.to_frame(),
        'CapacityResult.to_frame("loads")': search.to_frame("loads"),
        'CapacityResult.to_frame("runs")': search.to_frame("runs"),
        "ComparisonResult.to_frame()": compared.to_frame(),
        "CalibrationResult.to_frame()": calibrated.to_frame(),
        "TwinResult.to_frame()": twin.to_frame(),
    }
    assert made.keys() == interface.FRAMES.keys()
    for name, frame in made.items():
        declared = [(column.name, column.kind) for column in interface.FRAMES[name][1]]
        assert [(each, str(kind)) for each, kind in frame.schema.items() if each not in swept] == declared, name
    of_result = [*study.to_frame("runs", by_group=True, by_request=True).columns]
    assert of_result == ["point", *swept, *made["Result.to_frame()"].columns]


def test_links_lead_to_classes_and_not_to_functions_of_their_name() -> None:
    assert interface.linked("list[Load]") == "[`list[Load]`](#load-1)"
    assert interface.linked("Estimate | None") == "[`Estimate | None`](#estimate)"
    assert interface.linked('Literal["capacity"]') == '`Literal["capacity"]`'


def test_an_error_tells_what_it_is_caught_by() -> None:
    assert "\nBase classes: `WaspError`, `ValueError`.\n" in PAGE.read_text()
