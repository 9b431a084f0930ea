"""Files of rate traces: where they are, what is refused, what results keep of them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from waspbench.errors import InputError
from waspbench.experiment import parse, trace_files
from waspbench.experiment.inputs import Inputs, contents, described, digests, located, unchanged_contents
from waspbench.experiment.load import load
from waspbench.experiment.resolve import resolve
from waspbench.experiment.trace_files import mean_rate
from waspbench.experiment.traces import RateTrace

TWELVE = "1\n"
"""12 Mbit/s: a packet each millisecond."""


@pytest.fixture
def twelve(tmp_path: Path) -> str:
    path = tmp_path / "twelve"
    path.write_text(TWELVE)
    return str(path)


PLACES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"clients": [{"trace": "a"}, {"rtt": "1ms"}]}, {"clients": [{"trace": "in/a"}, {"rtt": "1ms"}]}),
    ({"clients": [{"trace": {"up": "a"}}]}, {"clients": [{"trace": {"up": "in/a"}}]}),
    (
        {"clients": [{"trace": {"up": {"file": "a", "start": "5s"}}}]},
        {"clients": [{"trace": {"up": {"file": "in/a", "start": "5s"}}}]},
    ),
    ({"clients": [{"trace": {"file": "/a"}}]}, {"clients": [{"trace": {"file": "/a"}}]}),
    ({"network": {"shared": {"up": {"trace": "a"}}}}, {"network": {"shared": {"up": {"trace": "in/a"}}}}),
    ({"sweep": {"clients.trace": ["a", "../b"]}}, {"sweep": {"clients.trace": ["in/a", "b"]}}),
    ({"sweep": {"clients.homes.trace.down.file": ["a"]}}, {"sweep": {"clients.homes.trace.down.file": ["in/a"]}}),
    (
        {"sweep": {"zip": {"network.shared.up.trace": [{"file": "a"}], "clients.rtt": ["1s"]}}},
        {"sweep": {"zip": [{"network.shared.up.trace": [{"file": "in/a"}], "clients.rtt": ["1s"]}]}},
    ),
    ({"sweep": {"clients.trace.start": ["1s", "random"]}}, {"sweep": {"clients.trace.start": ["1s", "random"]}}),
    ({"sweep": {"network.shared.up": [{"trace": "a"}, {}]}}, {"sweep": {"network.shared.up": [{"trace": "in/a"}, {}]}}),
    (
        {"sweep": {"zip": [{"clients": [[{"trace": {"up": "a"}}]]}]}},
        {"sweep": {"zip": [{"clients": [[{"trace": {"up": "in/a"}}]]}]}},
    ),
    ({"sweep": {"clients.rtt": {"from": "1ms"}}}, {"sweep": {"clients.rtt": {"from": "1ms"}}}),
    ({"clients": "a", "sweep": 5, "network": [3]}, {"clients": "a", "sweep": 5, "network": [3]}),
    ({"clients": [{"trace": ""}]}, {"clients": [{"trace": ""}]}),
]


@pytest.mark.parametrize(("document", "there"), PLACES)
def test_paths_in_a_file_are_relative_to_it(document: dict[str, Any], there: dict[str, Any]) -> None:
    assert located(document, Path("in")) == there


def test_paths_in_settings_are_relative_to_the_current_directory(tmp_path: Path, twelve: str) -> None:
    (tmp_path / "x.toml").write_text('name = "x"\n[[clients]]\ntrace = { up = "twelve" }\n')
    experiment = load(tmp_path / "x.toml", [f"clients.trace.down={twelve}"])
    assert contents([experiment]).traces == {twelve: TWELVE}


def experiment(path: str, **changes: Any) -> Any:
    return parse({"name": "x", "clients": [{"name": "homes", "trace": path}]} | changes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\n3\n2\n", "is no rate trace: line 3: 2 ms; must be at least 3 ms, the time on the line before"),
        (b"1\nx\n", 'is no rate trace: line 2: "x"; must be a whole number of milliseconds such as 17'),
        (b"", "is no rate trace: no line; must have at least one time"),
        (
            b"\xff\xfe",
            "is no rate trace, because it is no text; each line must be a whole number of milliseconds such as 17",
        ),
        (b"1\n" * 9, "has 18 bytes; a rate trace may have at most 17"),
    ],
)
def test_what_is_no_trace_is_named_by_its_field(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_files, "MOST", 17)
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        contents([experiment(str(path))])
    assert str(refused.value) == f"clients.homes.trace: {path}: {message}"


def test_a_trace_that_is_not_there_is_named_by_its_direction() -> None:
    for trace, field in ({"down": "no"}, "clients.trace.down"), ({"up": "no", "down": "nor"}, "clients.trace.up"):
        with pytest.raises(InputError, match=rf"^{field}: no: cannot be read: No such file or directory; the path"):
            contents([parse({"name": "x", "clients": [{"trace": trace}]})])
    with pytest.raises(InputError, match=r"^network\.shared\.down\.trace: no: "):
        contents([parse({"name": "x", "clients": [{}], "network": {"shared": {"down": {"trace": "no"}}}})])


def test_results_keep_what_tells_a_trace_from_others_and_its_mean_rate(twelve: str) -> None:
    shared = {"down": {"trace": {"file": twelve, "opportunity": "752B"}}}
    scenario = resolve(experiment(twelve, network={"shared": shared}), mode="sim")
    kept = described(scenario)
    digest = hashlib.sha256(TWELVE.encode()).hexdigest()
    assert kept["network"]["traces"] == {twelve: {"sha256": digest, "opportunities": 1, "length": "1ms"}}
    assert [kept["clients"][0]["trace"][way]["mean_bps"] for way in ("up", "down")] == [12_000_000] * 2
    assert kept["network"]["shared"]["down"]["trace"]["mean_bps"] == 6_000_000
    assert kept["network"]["shared"]["up"] == scenario["network"]["shared"]["up"]
    assert scenario["network"]["traces"] == {twelve: TWELVE}, "what the engine takes stays as it is"
    plain = resolve(parse({"name": "x", "clients": [{}]}), mode="sim")
    assert described(plain) == plain


def test_what_is_no_file_is_no_trace(tmp_path: Path) -> None:
    for path, message in (
        (str(tmp_path), "is no regular file"),
        ("/dev/zero", "is no regular file"),
        ("a\0b", "cannot be"),
    ):
        with pytest.raises(InputError, match=message):
            contents([experiment(path)])


def test_the_mean_rate_is_that_of_packets_of_1500_bytes() -> None:
    assert mean_rate(RateTrace(file="twelve"), TWELVE) == 12_000_000
    assert mean_rate(RateTrace(file="twelve", overhead="0B"), TWELVE) == 12_032_000
    assert mean_rate(RateTrace(file="twelve", opportunity="752B"), TWELVE) == 6_000_000


def test_a_trace_that_has_changed_is_told(twelve: str) -> None:
    known = digests(contents([experiment(twelve), experiment(twelve)]).traces)
    assert list(known) == [twelve]
    again = unchanged_contents([experiment("twelve")], {"twelve": known[twelve]}, Path(twelve).parent)
    assert again.traces == {"twelve": TWELVE}
    Path(twelve).write_text("2\n")
    with pytest.raises(InputError, match=r"the file has changed since these results were begun; .* or new results$"):
        unchanged_contents([experiment(twelve)], known, Path())
    assert unchanged_contents([experiment(twelve)], {}, Path()).traces == {twelve: "2\n"}
    Path(twelve).unlink()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        unchanged_contents([experiment(twelve)], known, Path())


def test_contents_that_are_known_are_not_read_again(twelve: str) -> None:
    Path(twelve).unlink()
    scenario = resolve(experiment(twelve), mode="sim", inputs=Inputs({twelve: "3\n", "other": "4\n"}, {}, {}))
    assert scenario["network"]["traces"] == {twelve: "3\n"}
