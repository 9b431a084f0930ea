"""Errors do not pass in silence: what every table says of them, what makes a run invalid, and what is said to help."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fake_core import FakeEngine
from waspbench import run
from waspbench.cli import studies, table
from waspbench.cli.app import invoke
from waspbench.results import Result, errors
from waspbench.results.comparing import compare_results
from waspbench.results.exports import junit, markdown
from waspbench.results.study import study_of
from waspbench.testbed import Support

LOSSY: dict[str, Any] = {
    "name": "lossy",
    "mode": "sim",
    "clients": [
        {"name": "near", "count": 20, "rtt": "20ms"},
        {
            "name": "far",
            "count": 40,
            "rtt": "100ms",
            "loss": "12%",
            "http": {"timeout": "450ms", "requests_per_connection": 1},
        },
    ],
    "measure": {"warmup": "1s", "duration": "4s", "runs": 2},
}
"""The far group's requests time out now and then."""

FAR = LOSSY | {"clients": LOSSY["clients"][1:]}
"""Most requests of the only group do."""


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(FAR, output=tmp_path_factory.mktemp("far") / "out")


def test_a_run_most_of_whose_requests_time_out_is_not_valid(far: Result) -> None:
    assert far.errors is not None
    assert far.errors > 0.2
    assert {reason.code for reason in far.invalid_reasons} >= {"errors"}
    [said, *_] = [reason.message for reason in far.invalid_reasons if reason.code == "errors" and reason.run == 0]
    first = far.runs[0]
    share = 100 * errors.failed(first.outcomes) / errors.ended(first.outcomes)
    assert said == (
        f"{share:.1f} % of the {errors.ended(first.outcomes)} transactions that ended were not ok "
        f"(timed_out {first.outcomes['timed_out']}); at most 10% is allowed (measure.max_errors)"
    )


@pytest.mark.parametrize(("allowed", "valid"), [("100%", True), ("99%", True), ("1%", False)])
def test_how_many_errors_are_allowed_can_be_said(allowed: str, valid: bool) -> None:
    found = run(FAR | {"measure": FAR["measure"] | {"max_errors": allowed}})
    assert ("errors" not in {reason.code for reason in found.invalid_reasons}) is valid


def test_outcomes_and_status_codes_are_counted_by_group(tmp_path: Path) -> None:
    found = run(LOSSY, output=tmp_path / "out")
    for made in found.runs:
        near, far = made.by_group or []
        assert (near.name, far.name) == ("near", "far")
        assert errors.failed(near.outcomes) == 0
        assert far.outcomes["timed_out"] > 50
        assert near.statuses == {"200": near.outcomes["ok"]}
        assert far.statuses == {"200": far.outcomes["ok"]}
        assert errors.total([near.outcomes, far.outcomes]) == made.outcomes
        assert errors.total([near.statuses, far.statuses]) == made.statuses
    assert found.statuses == {"200": found.outcomes["ok"]}


def test_every_table_shows_outcomes_status_codes_and_the_share_of_errors(far: Result) -> None:
    assert far.errors is not None
    ok, timed_out = far.outcomes["ok"], far.outcomes["timed_out"]
    counts, share = f"ok {ok:,d} (200), timed_out {timed_out:,d}", f"{100 * far.errors:.2f}"
    study = study_of(far)
    twice = study.model_copy(update={"points": study.points * 2})
    for text in (
        table.report(far),
        studies.report(twice),
        markdown(study),
        table.compare({"a": far, "b": far}),
    ):
        assert share in text
        flat = " ".join(text.split())
        is_beside = "response time mean" in text
        assert counts in flat or (is_beside and f"timed_out {timed_out:,d} timed_out {timed_out:,d}" in flat)
        if not is_beside:  # side by side, which the command follows with the notes
            assert "all errors are timeouts: they took longer than 450ms" in flat
            assert "transactions that ended were not ok" in flat
    document = json.loads(study.to_json())["points"][0]["result"]
    assert document["errors"] == far.errors
    assert (document["outcomes"]["timed_out"], document["statuses"]) == (timed_out, {"200": ok})
    assert document["notes"][0].startswith("all errors are timeouts: ")
    assert "transactions that ended were not ok" in junit(study)


def test_errors_that_are_allowed_are_noted_in_every_table() -> None:
    some = run(FAR | {"measure": FAR["measure"] | {"max_errors": "100%"}})
    assert some.errors is not None
    share, ended = 100 * some.errors, errors.ended(some.outcomes)
    noted = f"{share:.1f} % of {ended:,d} transactions were not ok: timed_out {some.outcomes['timed_out']:,d}"
    assert some.notes[0] == noted
    study = study_of(some)
    for text in (table.report(some), studies.report(study), markdown(study)):
        assert noted in " ".join(text.split())


def test_a_comparison_shows_the_errors_of_both_sides(
    far: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(FAR | {"clients": [{"count": 40, "rtt": "100ms"}]}, output=tmp_path / "clean")
    assert invoke(["compare", str(tmp_path / "clean"), str(far.results)]) == 5
    said = " ".join(capsys.readouterr().out.split())
    assert f"timed_out {far.outcomes['timed_out']:,d}" in said
    assert "note: more than 1 % of B's transactions were not ok" in said
    assert "of A's transactions were not ok" not in said
    [point] = compare_results(str(tmp_path / "clean"), str(far.results)).points
    assert point.lines[1] == far.line


def test_the_demo_tells_of_errors(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, here: Path, capsys: Any) -> None:
    import fake_core

    monkeypatch.setitem(fake_core.OUTCOMES, "reset", 200)
    monkeypatch.setattr("waspbench.live.live_support", lambda: Support(False, "no device"))
    assert invoke(["demo"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^outcomes and status codes +ok [\d,]+ \(200\), +ok [\d,]+ \(200\),$", said, re.MULTILINE)
    assert re.search(r"^ +reset 200 +reset 200$", said, re.MULTILINE)
    assert "3 % loss: note: 3.0 % of 6,600 transactions were not ok: reset 200" in said


SCENARIO: dict[str, Any] = {
    "workload": {"kind": "single", "path": "/1024", "size": "1KiB"},
    "clients": [{"http": {"timeout": "60s"}}],
}


@pytest.mark.parametrize(
    ("outcomes", "statuses", "server", "said"),
    [
        ({"http_error": 500}, {"404": 500}, "command", "every response is 404: `/1024` was asked for; give --path "),
        ({"http_error": 500}, {"404": 500}, "url", "every response is 404: `/1024` was asked for; give another path"),
        ({"http_error": 500}, {"404": 500}, "nginx", "every response is 404: `/1024` was asked for"),
        (
            {"ok": 50, "http_error": 50},
            {"200": 50, "503": 50},
            "nginx",
            "all errors are responses 503: the server turns",
        ),
        (
            {"ok": 50, "http_error": 50},
            {"200": 50, "500": 50},
            "nginx",
            "all errors are responses 500: the server failed",
        ),
        ({"refused": 500}, {}, "url", "every connection was refused: nothing listens there, or not any more"),
        ({"timed_out": 500}, {}, "url", "every transaction timed out: they took longer than 60s; "),
        ({"ok": 9, "reset": 4, "timed_out": 2}, {}, "url", "4 of the 6 errors are connections that were reset: "),
        ({"malformed": 500}, {}, "url", "no answer was HTTP/1.x: does another protocol, such as https, answer"),
        ({"ok": 90, "aborted": 10}, {}, "url", "all errors are transactions that their clients gave up: http.abort"),
        ({"truncated": 9}, None, "url", "every response was cut short: "),
        ({"http_error": 9}, None, "url", None),
        ({"ok": 9900, "reset": 100}, {}, "url", None),
        ({"unfinished": 7}, {}, "url", "no transaction ended, and 7 had begun: the server does not answer, or"),
        ({}, {}, "url", None),
    ],
)
def test_what_is_said_to_help(
    outcomes: dict[str, int], statuses: dict[str, int] | None, server: str, said: str | None
) -> None:
    notes = errors.notes(outcomes, statuses, SCENARIO, server)
    hints = [note for note in notes if "transactions were not ok" not in note]
    assert (said is None) == (not hints)
    assert said is None or hints[0].startswith(said)


def test_a_note_begins_above_one_percent() -> None:
    assert errors.notes({"ok": 9900, "reset": 100}, {"200": 9900}, SCENARIO, "url") == []
    assert errors.notes({"ok": 9899, "reset": 101}, {"200": 9899}, SCENARIO, "url")[0] == (
        "1.0 % of 10,000 transactions were not ok: reset 101"
    )


def test_outcomes_in_words() -> None:
    outcomes = {"ok": 4000, "http_error": 3, "reset": 0, "timed_out": 20}
    statuses = {"200": 3990, "304": 10, "404": 2, "503": 1}
    assert errors.text(outcomes, statuses) == "ok 4,000 (200 3,990, 304 10), http_error 3 (404 2, 503 1), timed_out 20"
    assert errors.text(outcomes, None) == "ok 4,000, http_error 3, timed_out 20"
    assert errors.text({"ok": 0}, {}) == "none"
