"""What fields say of themselves comes from the source."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from waspbench import field_texts
from waspbench.cli.flags import FLAGS, table
from waspbench.documented import Documented
from waspbench.experiment import Experiment
from waspbench.results import Result
from waspbench.results.loads import Load
from waspbench.workload.fileset import Manifest


def below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from below(each)


def test_every_documented_field_has_its_text() -> None:
    found = [model for model in below(Documented) if model.__module__.startswith("waspbench.")]
    assert {Experiment, Result, Load, Manifest} <= set(found)
    assert any(field_texts.of_class(model.__module__, model.__qualname__) for model in found)
    for model in found:
        for name, declared in field_texts.of_class(model.__module__, model.__qualname__).items():
            if name in model.model_fields and declared.text:
                assert model.model_fields[name].description == declared.text


def test_a_schema_has_the_texts_of_inherited_fields_too() -> None:
    properties = Load.model_json_schema(mode="serialization")["properties"]
    texts: dict[str, str] = {}
    for model in reversed(Load.__mro__):
        own = field_texts.of_class(model.__module__, model.__qualname__)
        texts |= {name: declared.text for name, declared in own.items()}
    for name in ("load", "throughput", "valid"):
        assert texts[name]
        assert properties[name]["description"] == texts[name]


def test_a_default_is_what_the_source_says() -> None:
    fields = field_texts.of_class("waspbench.experiment.clients", "Clients")
    assert (fields["count"].default, fields["rtt"].default, fields["loss"].default) == (256, "100ms", None)
    assert fields["count"].text == "Number of clients."


def test_what_is_no_class_of_this_package_has_no_fields() -> None:
    assert field_texts.of_class("waspbench.experiment.clients", "Nobody") == {}
    assert field_texts.of_class("waspbench.nowhere", "Clients") == {}
    assert field_texts.of_class("pydantic.fields", "FieldInfo") == {}


def test_without_sources_help_has_no_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waspbench.field_texts.of_class", lambda module, name: {})
    [option] = table("Bare", {"rtt": FLAGS["rtt"]}).__annotations__["rtt"].__metadata__
    assert option.help == ""


def test_every_flag_is_explained() -> None:
    for name, annotation in table("Every", FLAGS).__annotations__.items():
        [option] = annotation.__metadata__
        assert option.help, name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Its ``p99``;\n    None if there is none. None with one run.",
            "Its `p99`; null if there is none. Null with one run.",
        ),
        (
            "Whether it is False. False in older results, ``False`` there.",
            "Whether it is false. False in older results, `false` there.",
        ),
        ("The header If-None-Match.", "The header If-None-Match."),
    ],
)
def test_a_text_has_the_words_of_data(text: str, said: str) -> None:
    assert field_texts.in_data(text) == said
