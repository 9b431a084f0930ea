"""The comparisons of the validation page with few samples and fixed seeds, the page, and the command."""

from pathlib import Path

import pytest

from waspbench.cli.app import invoke
from waspbench.cli.status import Status
from waspbench.stats import mean_interval
from waspbench.testbed.capability import Support
from waspbench.validation import Row, Table, bulk, latency, paper2001, tcp
from waspbench.validation.figure import Figure, Point
from waspbench.validation.page import SECTIONS, write
from waspbench.validation.paper2001 import VARIANTS


def verdicts(table: Table) -> tuple[int, list[Row]]:
    """How many rows met their bar, and those that did not."""
    return sum(row.met is True for row in table.rows), [row for row in table.rows if row.met is False]


def test_slow_start_takes_its_round_trips_exactly() -> None:
    assert verdicts(latency.slow_start()) == (12, [])


def test_short_transfers_take_the_time_of_cardwells_model() -> None:
    assert verdicts(latency.cardwell(1_000)) == (12, [])


def test_renos_rate_is_that_of_pftk() -> None:
    assert verdicts(bulk.pftk(2_600)) == (8, [])


def test_no_variant_is_slower_than_its_predecessor() -> None:
    assert verdicts(bulk.variants(600)) == (4, [])  # there is no bar below 1 % of loss


def test_cubics_window_is_that_of_its_rfc() -> None:
    assert verdicts(bulk.cubic(10)) == (5, [])


def test_variants_differ_only_for_responses_of_many_segments() -> None:
    found = paper2001.measure(120.0, 6, ("1 KB", "64 KB", paper2001.WIDE))
    for rtt in paper2001.RTTS:
        for variant in ("newreno", "sack"):
            assert paper2001.changes(found, "1 KB", rtt, variant) == [0.0] * 6
        for name in ("64 KB", paper2001.WIDE):
            gain = mean_interval(paper2001.changes(found, name, rtt, "sack"))
            assert gain is not None
            assert gain[1] < 0


def test_the_papers_table_judges_both_variants_for_small_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    for worse in ("newreno", "sack"):

        def measured(duration: float, runs: int, worse: str = worse) -> paper2001.Times:
            cases = [(name, rtt, variant) for name in paper2001.SIZES for rtt in paper2001.RTTS for variant in VARIANTS]
            return {case: [1.06 if case[2] == worse else 1.0] * runs for case in cases}

        monkeypatch.setattr(paper2001, "measure", measured)
        assert paper2001.variants().judged == [False, False]


POINT = Point(10.0, 11.0, (10.5, 11.5), "a")


def table(name: str, *, met: bool, figure: bool = False) -> Table:
    shown = Figure((POINT, Point(200.0, 150.0, None, "b")), "s", 0.8, 1.2) if figure else None
    return Table(name, name.title(), "What.", "the bar", ("x",), [Row(("1",), met)], figure=shown)


def part(page: str, section: str) -> str:
    return page.partition(f"<!-- {section} -->")[2].partition(f"<!-- /{section} -->")[0]


def test_the_page_has_every_table_and_keeps_what_was_not_measured(tmp_path: Path) -> None:
    page = write(tmp_path, {"simulated": [table("one", met=True, figure=True)], "kernel": [table("two", met=False)]})
    first = page.read_text()
    assert "| One | 1 of 1 |" in first
    assert "| 1 | yes |" in first
    assert "| 1 | **no** |" in first
    assert "](validation/one.svg)" in first
    assert (tmp_path / "validation" / "one.svg").read_text().count("<circle") == 2
    again = write(tmp_path, {"clients": [table("three", met=True)]}).read_text()
    assert "| Three | 1 of 1 |" in part(again, "clients")
    assert [part(again, section) for section in ("simulated", "kernel")] == [
        part(first, section) for section in ("simulated", "kernel")
    ]
    anew = write(tmp_path, {"simulated": [table("four", met=True)]}).read_text()
    assert "One" not in anew
    assert part(anew, "clients") == part(again, "clients")
    assert all(anew.count(f"<!-- {section} -->") == 1 for section in SECTIONS)


@pytest.mark.parametrize(("met", "status"), [(True, 0), (False, 1)])
def test_the_command_prints_a_summary_writes_the_page_and_tells_by_its_status(
    met: bool,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tcp, "SIMULATED", (lambda: table("one", met=met),))
    assert invoke(["validate", "tcp", "-o", str(tmp_path)]) == status
    said = capsys.readouterr()
    assert f"| One | {int(met)} of 1 |" in said.out
    assert str(tmp_path / "validation.md") in said.err
    assert (tmp_path / "validation.md").exists()


def test_the_kernel_is_refused_at_once_where_the_machine_cannot(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("waspbench.live.live_support", lambda: Support(ok=False, why="no TUN"))
    assert invoke(["validate", "kernel"]) == Status.CANNOT
    assert "no TUN" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "status", "summary"),
    [
        ([Row(("1",), met=True), Row(("2",))], Status.DONE, "1 of 1"),
        ([Row(("1",), met=True), Row(("2",), unjudged="lag")], Status.INVALID, "1 of 2 (1 not judged)"),
        ([Row(("1",), met=False), Row(("2",), unjudged="lag")], Status.CHECK_FAILED, "0 of 2 (1 not judged)"),
        ([Row(("1",))], Status.DONE, "none set"),
    ],
)
def test_a_bar_that_could_not_be_judged_leaves_the_verdict_open(
    rows: list[Row],
    status: Status,
    summary: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = Table("one", "One", "What.", "the bar", ("x",), rows)
    monkeypatch.setattr(tcp, "SIMULATED", (lambda: one,))
    assert invoke(["validate", "tcp"]) == status
    assert f"| One | {summary} |" in capsys.readouterr().out


def never() -> Table:
    raise AssertionError("nothing is measured")


def test_a_page_of_somebody_else_is_found_before_anything_is_measured_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tcp, "SIMULATED", (never,))
    page = tmp_path / "validation.md"
    page.write_text("mine\n")
    assert invoke(["validate", "tcp", "-o", str(tmp_path)]) == Status.BAD_INPUT
    assert "has a validation.md that this command has not written" in capsys.readouterr().err
    assert page.read_text() == "mine\n"


def test_a_place_that_is_no_directory_is_found_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tcp, "SIMULATED", (never,))
    (tmp_path / "file").write_text("")
    assert invoke(["validate", "tcp", "-o", str(tmp_path / "file")]) == Status.BAD_INPUT
    assert "cannot be written to" in capsys.readouterr().err
