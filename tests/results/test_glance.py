"""Results at a glance: the line that stands for them, and what a notebook shows."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from capacity_results import point as found_point
from capacity_results import searched
from comparison_results import compared
from comparison_results import point as compared_point
from measured_runs import result, study_of
from waspbench import Result, StudyResult
from waspbench.results.check import Check
from waspbench.results.glance import MOST_ROWS
from waspbench.results.reasons import Reason


def untrusted(made: Result) -> Result:
    reason = Reason(run=0, code="lag", message="packets left <late> & often")
    return made.model_copy(update={"valid": False, "invalid_reasons": [reason]})


def check(*, passed: bool | None) -> Check:
    return Check(
        point=0, varied={}, condition="p99 < 1s", value=1.0, ci90=None, judged=1.0, passed=passed, why="p99 is <so>"
    )


def without_errors(made: Result) -> Result:
    return made.model_copy(update={"errors": 0.0})


def test_a_result_is_a_line() -> None:
    assert repr(without_errors(result([640.0, 650.0]))) == (
        "<Result 'x', sim: 645.0 ok/s (90 %: 613.4 to 676.6, 2 runs), p99 312.5 ms, valid>"
    )
    assert repr(without_errors(result([640.0]))) == "<Result 'x', sim: 640.0 ok/s (1 run), p99 312.5 ms, valid>"
    assert str(result([640.0])) == repr(result([640.0]))


def test_the_line_tells_errors_and_what_speaks_against_a_result() -> None:
    failing = result([640.0]).model_copy(update={"errors": 0.25})
    assert repr(untrusted(failing)).endswith("312.5 ms, 25.00 % errors, NOT VALID: lag>")


def test_a_study_is_a_line() -> None:
    found = study_of([({"x": 1}, [640.0, 660.0]), ({"x": 2}, [320.0, 340.0])])
    assert repr(found) == "<StudyResult 'x', sim: 2 points, 330.0 to 650.0 ok/s, up to 0.02 % errors, valid>"
    going_on = study_of([({"x": 1}, [640.0]), ({"x": 2}, [])], complete=False)
    assert repr(going_on) == "<StudyResult 'x', sim: 1 of 2 points, 640.0 ok/s, up to 0.02 % errors, NOT COMPLETE>"
    assert repr(study_of([({}, [])], complete=False)) == "<StudyResult 'x', sim: no figures, NOT COMPLETE>"


def test_the_line_tells_checks_that_did_not_pass() -> None:
    checks = [check(passed=False), check(passed=None), check(passed=True)]
    told = repr(study_of([({}, [640.0])]).model_copy(update={"checks": checks}))
    assert told.endswith("valid, 1 of 3 checks failed, 1 of 3 checks undecided>")


def test_a_search_is_a_line() -> None:
    assert repr(searched([found_point()], find="clients", objectives=["p99 < 1s"])) == (
        "<CapacityResult 'e', sim: 500 clients with p99 < 1s (90 %: 490 to 520), valid>"
    )
    several = searched([found_point(), found_point(index=1, capacity=300), found_point(index=2, capacity=None)])
    assert repr(several.model_copy(update={"find": "clients", "valid": False})) == (
        "<CapacityResult 'e', sim: 3 points: 300 to 500 clients, none found at 1, NOT VALID: none found>"
    )


def test_a_comparison_is_a_line() -> None:
    few = compared(compared_point([1.0, 2.0], [3.0, 4.0], note="too few runs"))
    assert repr(few) == (
        "<ComparisonResult throughput of 'b' against 'a': no difference shown, +133.3 %, too few runs, valid>"
    )
    point = compared_point([1.0, 1.1, 1.2, 1.3], [3.0, 3.1, 3.2, 3.3])
    other = compared_point([1.0, 2.0], [1.0, 2.0])
    assert repr(compared(point, other, valid=False)).endswith(
        "against 'a': 2 points: 1 faster, 1 no difference shown, NOT VALID>"
    )


class Page(HTMLParser):
    """The texts of a page by the tag that they stand in, and the tags that are open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert not self.open, "every tag is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1], data))

    def of(self, tag: str) -> list[str]:
        return [text for where, text in self.texts if where == tag]


def page(found: Result | StudyResult) -> Page:
    return Page(found._repr_html_())


def test_a_notebook_shows_the_table_of_the_command() -> None:
    found = study_of([({"clients.count": 1}, [640.0, 660.0]), ({"clients.count": 2}, [320.0, 340.0])])
    shown = page(found)
    assert shown.of("th") == found.listing.heads
    assert shown.of("td") == [text for row in found.listing.cells for text in row]
    assert shown.of("b") == [repr(found)]


def test_a_notebook_shows_what_speaks_against_results_in_red_and_as_text() -> None:
    found = untrusted(result([640.0]))
    text = found._repr_html_()
    assert "<late>" not in text
    shown = Page(text)
    assert "packets left <late> & often" in shown.of("li")
    assert "Not to be trusted:" in shown.of("p")
    assert shown.of("b") == [repr(found), "NO"]
    assert text.count("#d33") == 2
    assert "#d33" not in result([640.0])._repr_html_()


def test_a_notebook_shows_checks() -> None:
    found = study_of([({}, [640.0])]).model_copy(update={"checks": [check(passed=False), check(passed=True)]})
    shown = page(found)
    assert shown.of("td")[-5:] == ["p99 < 1s", "p99 is <so>", "p99 < 1s", "passed", "p99 is <so>"]
    assert "FAILED" in shown.of("b")


def test_a_notebook_shows_answers_and_verdicts() -> None:
    search = searched([found_point()], find="clients", objectives=["p99 < 1s"])
    assert Page(search._repr_html_()).of("li")[0].startswith("500 clients with p99 < 1s")
    found = compared(compared_point([1.0, 2.0], [3.0, 4.0], note="too few <runs>"))
    lists = Page(found._repr_html_()).of("li")
    assert lists[0].startswith("no difference shown: 1.5 -> 3.5 /s")
    assert lists[-1] == "too few <runs>"


def test_long_tables_are_cut() -> None:
    found = study_of([({"x": index}, [640.0]) for index in range(MOST_ROWS + 3)])
    text = found._repr_html_()
    assert text.count("<tr>") == MOST_ROWS + 1
    assert "and 3 more rows, which data frames have" in text


@pytest.mark.parametrize("found", [study_of([]), study_of([({}, [])], complete=False)])
def test_results_without_figures_are_shown(found: StudyResult) -> None:
    assert repr(found) in page(found).of("b")


def test_what_is_not_whole_has_a_repr() -> None:
    bare = Result.model_construct(name="x")  # type: ignore[call-arg]
    assert repr(bare).startswith("Result(name='x'")
