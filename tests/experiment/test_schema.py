"""The JSON Schema, by which editors judge a file, says of files what the loader says."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pydantic
from pydantic_core import ErrorDetails

from waspbench.experiment.base import Part
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.model import Experiment
from waspbench.experiment.schema import json_schema

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(json_schema())
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)

EVERY_TABLE = """
name = "replay"
workload = { kind = "replay", log = "access.log" }
[[clients]]
name = "pauses"
[[clients]]
name = "none"
think = { model = "none" }
loss = { up = "1%", down = { model = "periodic", every = 5 } }
[[clients]]
name = "constant"
think = { model = "constant", value = "1s" }
loss = { model = "independent", rate = "1%" }
[[clients]]
name = "exponential"
think = { model = "exponential", mean = "1s" }
loss = { model = "wasp2001", rate = 0.03 }
[[clients]]
name = "pareto"
think = { model = "pareto", shape = 1.5, scale = "1s" }
loss = { rate = "3%", burst = "50%" }
[[clients]]
name = "weibull"
think = { model = "weibull", shape = 1.5, scale = "1s" }
bandwidth = { down = "1Mbit/s" }
queue = { down = "64KB" }
[[clients]]
name = "lognormal"
think = { model = "lognormal", mu = 1.5, sigma = 1.0 }
http = { abort = { after = "1s" } }
arrivals = { rate = "10/s" }
---
name = "surge"
[workload]
kind = "surge"
sizes = { mu = 9.4, sigma = 1.3, tail = { fraction = "7%", shape = 1.1, scale = "133KB" }, cap = "50MB" }
shares = { base = "30%", embedded = "38%" }
request_sizes = { shape = 1.0, scale = "1KB" }
embedded = { model = "constant", value = 3 }
locality = { model = "lognormal", mu = 1.5, sigma = 0.8 }
[server]
model = { cores = 2 }
[network.shared]
down = { rate = "10Mbit/s", queue = "64KB", loss = "1%" }
[[clients]]
[measure]
until = { ci = "5%" }
[assert]
p99 = ["< 1s", "> 1ms"]
clients.p95 = "< 1s"
clients.all.p99.9 = "< 1s"
[sweep]
"clients.rtt" = ["10ms", "20ms"]
---
name = "pareto"
clients = [{}]
[workload]
kind = "surge"
embedded = { model = "pareto", shape = 2.4, scale = 1.0, cap = 50 }
locality = { model = "none" }
---
name = "gamma"
workload = { kind = "surge", embedded = { model = "gamma", shape = 0.2, scale = 23.0, cap = 50 } }
clients = [{}]
---
name = "none"
workload = { kind = "surge", embedded = { model = "none" } }
clients = [{}]
---
name = "static"
[workload]
kind = "prowgen"
body = { mean = "7000B", deviation = "11000B" }
popular_limit = { references = 100, size = "1MB" }
stack = { model = "static", depth = 10 }
[[clients]]
---
name = "dynamic"
workload = { kind = "prowgen", stack = { model = "dynamic", depth = 10 } }
clients = [{}]
---
name = "no-stack"
workload = { kind = "prowgen", stack = { model = "none" } }
clients = [{}]
---
name = "searched"
clients = [{}]
capacity = { find = "clients", slo = ["p99 < 1s", "errors < 1%"], low = 8, high = 512 }
---
name = "impaired"
[[clients]]
jitter = { up = { model = "normal", deviation = "1ms" }, down = { model = "pareto", mean = "1ms", shape = 3.5 } }
reorder = { up = "1%", down = { share = "1%", distance = 5, wait = "50ms" } }
duplicate = { up = "1%" }
bandwidth = "1Mbit/s"
queue = { up = { kind = "codel", ecn = true }, down = { kind = "drop-tail", packets = 50 } }
tcp = { ecn = true }
corrupt = { down = { share = "0.1%" } }
[network.shared.up]
jitter = { model = "uniform", min = "1ms", max = "2ms", order = "free" }
rate = "1Mbit/s"
queue = { kind = "red", min = "5KB", max = "20%", bytes = "100KB" }
---
name = "both"
clients = [{}]
network = { shared = { rate = "1Mbit/s", queue = "codel", delay = "1ms", mtu = 1400 } }
---
name = "backbone"
clients = [{ at = "all" }]
[network]
kind = "backbone"
subnetworks = 3
link = { delay = "1ms", forward = { rate = "1Mbit/s" }, backward = { loss = "1%" } }
---
name = "graph"
server = { at = "core" }
clients = [{ at = "edge" }]
[network]
kind = "graph"
nodes = ["edge", "core"]
links = { wan = { from = "edge", to = "core", rate = "1Mbit/s", forward = { delay = "1ms" } } }
---
name = "numbered"
server = { at = "core" }
clients = [{ at = "edge" }]
[network]
kind = "graph"
prefix = "10.0.0.0/16"
icmp = { rate = "50/s", burst = 10 }
nodes.edge = { subnet = "10.0.4.0/22" }
nodes.core = { address = "10.0.1.1", routes = { clients = "wan" } }
links.wan = { from = "edge", to = "core", from_address = "10.0.1.2", to_address = "10.0.1.3" }
---
name = "loaded"
clients = [{ name = "homes" }]
[network.cross_traffic]
even = { link = "shared", direction = "up", model = "constant", rate = 0, packet = "200B" }
random = { link = "shared", direction = "down", rate = "1Mbit/s" }
bursts = { link = "homes", direction = "down", model = "on-off", rate = "1Mbit/s", on = "1s", off = { model = "none" } }
---
name = "queued"
clients = [{ bandwidth = "1Mbit/s", queue = { up = { kind = "pie", target = "20ms" }, down = { kind = "fq-codel" } } }]
---
name = "requests"
clients = [{}]
[workload]
kind = "requests"
requests = [
  { name = "a", path = "/a", weight = 2.0, headers = { A = "b" } },
  { name = "b", path = "/b", method = "PUT", body = { size = "1MiB" }, size = "1KiB" },
  { name = "c", path = "/c", method = "POST", body = "text", expect = { status = 201 } },
  { name = "d", path = "/d", expect = { status = [200, "3xx"], contains = "x", length = "> 5" } },
  { name = "e", path = "/{line:paths}", method = "PUT", body = { file = "order.json", template = true } },
]
folder = "data"
---
name = "session"
clients = [{}]
[workload]
kind = "requests"
order = "session"
cookies = true
requests = [
  { name = "a", path = "/a", once = true, capture = { x = { header = "X" }, y = { after = "<", before = ">" } } },
  { name = "b", path = "/b/{x}", think = "2s" },
  { name = "c", path = "/c", think = { model = "exponential", mean = "2s" } },
]
---
name = "files"
workload = { files = [{ size = "1KB", weight = 2.0 }, { size = "5KB" }] }
clients = [{}]
"""

# A whole number with a point is no integer for the loader, and one for JSON Schema: 2.0 is not among them.
WRONG: list[Any] = [{"such": "no"}, {}, [], [[]], ["such"], "such", "", True, -1, 10**30, 1.5]

Place = tuple[str | int, ...]


def documents() -> Iterator[dict[str, Any]]:
    texts = [path.read_text() for path in sorted((ROOT / "examples").glob("*.toml"))] + EVERY_TABLE.split("---\n")
    for text in texts:
        yield tomllib.loads(text)


def tables(value: Any, place: Place = ()) -> Iterator[tuple[Place, type[Part]]]:
    """Every table of an experiment and where it is, those included that a file leaves out."""
    if isinstance(value, Part):
        yield place, type(value)
        for name, field in type(value).model_fields.items():
            yield from tables(getattr(value, name), (*place, field.alias or name))
    elif isinstance(value, list | tuple | dict):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tables(item, (*place, key))


def changed(document: dict[str, Any], place: Place, fields: dict[str, Any], without: str = "") -> dict[str, Any] | None:
    """The document with other fields in the table at ``place``; None where the file has a short form instead of it."""
    document = copy.deepcopy(document)
    table: Any = document
    for step in place:
        if isinstance(table, list) and (not isinstance(step, int) or step >= len(table)):
            return None  # nodes by their names alone, or a group at all routers of a backbone
        table = table.setdefault(step, {}) if isinstance(table, dict) else table[step]
        if not isinstance(table, dict | list):
            return None
    table.update(fields)
    table.pop(without, None)
    return document


def changes(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The document with one field more, less, or of another kind, each with what was done to it."""
    for place, kind in tables(Experiment.model_validate(document)):
        for field, declared in kind.model_fields.items():
            if field == "sweep":
                continue  # what is in it is not read before the points are made
            name = declared.alias or field
            for wrong in WRONG:
                if made := changed(document, place, {name: wrong}):
                    yield f"{(*place, name)} = {wrong!r}", made
            if made := changed(document, place, {}, without=name):
                yield f"without {(*place, name)}", made
        if made := changed(document, place, {"such": "no"}):
            yield f"such = 'no' in {place}", made


def problems(document: dict[str, Any]) -> list[ErrorDetails]:
    """What the loader has against a document."""
    try:
        Experiment.model_validate(document)
    except pydantic.ValidationError as error:
        return error.errors()
    return []


def no_schema_says(problem: ErrorDetails) -> bool:
    """Whether it lies in how a text is written, or in what fields are together."""
    if problem["type"] != "value_error":
        return False
    return isinstance(problem["input"], str) or isinstance(problem["ctx"]["error"], FieldError)


def test_the_schema_that_is_kept_is_the_models() -> None:
    kept = (ROOT / "schemas" / "experiment.schema.json").read_text()
    assert kept == json_schema(), "python -m waspbench.experiment.schema > schemas/experiment.schema.json"


def test_every_field_is_documented() -> None:
    for name, part in [("Experiment", SCHEMA), *SCHEMA["$defs"].items()]:
        for field, described in part["properties"].items():
            # A field that says the same as its table leaves it to the table.
            table = SCHEMA["$defs"].get(described.get("$ref", "").removeprefix("#/$defs/"), {})
            assert described.get("description") or table.get("description"), f"{name}.{field}"


def test_the_documents_of_these_tests_have_every_table() -> None:
    found = {kind.__name__ for document in documents() for _, kind in tables(Experiment.model_validate(document))}
    assert found == {"Experiment", *SCHEMA["$defs"]}


def test_what_the_loader_takes_the_schema_takes() -> None:
    taken = 0
    for document in documents():
        VALIDATOR.validate(document)
        for what, made in changes(document):
            if not problems(made):
                assert VALIDATOR.is_valid(made), f"{document['name']}: {what}"
                taken += 1
    assert taken > 1_000


def test_what_the_loader_refuses_for_its_form_the_schema_refuses() -> None:
    refused = 0
    for document in documents():
        for what, made in changes(document):
            found = problems(made)
            if found and not any(map(no_schema_says, found)):
                assert not VALIDATOR.is_valid(made), f"{document['name']}: {what}: {found}"
                refused += 1
    assert refused > 10_000
