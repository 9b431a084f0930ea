"""The tables of experiments/README.md: how they are made, and that what an operation costs is counted right."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import papers
import queue_loss
import surge_cost
import surge_rate
from surge_cost import Stratum
from waspbench import StudyResult, run
from waspbench.experiment import accept
from waspbench.experiment.load import read
from waspbench.experiment.sweep import points
from waspbench.results.server_work import server_work


def test_only_what_lies_between_the_marks_is_replaced() -> None:
    page = "before\n\n<!-- cost -->\n\nold\n\n<!-- /cost -->\n\nafter\n"
    assert papers.replaced(page, "cost", ["| a |", "", "b"]) == page.replace("old", "| a |\n\nb")
    assert papers.replaced(page, "cost", ["old", ""]) == page
    with pytest.raises(ValueError, match="no part between"):
        papers.replaced(page, "rate", ["x"])


def test_the_page_has_the_marks_of_every_part() -> None:
    text = papers.PAGE.read_text()
    for name in papers.SECTIONS:
        assert text.count(f"<!-- {name} -->") == text.count(f"<!-- /{name} -->") == 1


def test_costs_of_a_class_are_weighted_by_another_mix() -> None:
    """Half of the operations without loss are large; with loss a tenth of those that end."""
    mix = {1_000: Stratum(500, 50_000.0, 500 * 1_000), 4_000: Stratum(500, 500_000.0, 500 * 4_000)}
    lossy = {1_000: Stratum(900, 900 * 120.0, 900 * 1_000), 4_000: Stratum(100, 100 * 1_500.0, 100 * 4_000)}
    assert surge_cost.standardised(lossy, lossy) == pytest.approx((258.0, 0.0))
    assert surge_cost.standardised(lossy, mix) == pytest.approx((0.5 * 120 + 0.5 * 1_500, 0.0))
    assert surge_cost.standardised(mix, mix) == pytest.approx((550.0, 0.0))


def test_files_that_never_end_cost_what_the_largest_known_do_for_each_byte() -> None:
    mix = {1_000: Stratum(900, 0.0, 900 * 1_000), 32_000: Stratum(100, 0.0, 100 * 32_000)}
    lossy = {1_000: Stratum(900, 900 * 120.0, 900 * 1_000), 4_000: Stratum(100, 100 * 1_500.0, 100 * 4_000)}
    lossy[32_000] = Stratum(surge_cost.LEAST - 1, 1.0, 1)
    us, guessed = surge_cost.standardised(lossy, mix)
    assert us == pytest.approx(0.9 * 120 + 0.1 * 1_500 * 8)
    assert guessed == pytest.approx(1_200 / us)


def test_strata_with_too_few_operations_cannot_tell_anything() -> None:
    few = {1_000: Stratum(surge_cost.LEAST - 1, 1.0, 1)}
    with pytest.raises(ValueError, match="no size of files has 10 operations"):
        surge_cost.standardised(few, few)


def test_packets_are_weighted_as_costs_are() -> None:
    mix = {1_000: Stratum(500, 0.0, 500_000), 4_000: Stratum(500, 0.0, 2_000_000)}
    lossy = {1_000: Stratum(90, 0.0, 90_000, received=450, sent=540), 4_000: Stratum(10, 0.0, 40_000, 80, 110)}
    assert surge_cost.standardised(lossy, mix, "received") == pytest.approx((6.5, 0.0))
    assert surge_cost.standardised(lossy, mix, "sent") == pytest.approx((8.5, 0.0))


def test_acknowledgments_and_segments_follow_the_mix_and_connections_do_not() -> None:
    counts = {"syn": 1.0, "data": 2.0, "ack": 3.0, "duplicate_ack": 1.0, "segment": 8.0, "retransmission": 0.5}
    mixed = surge_cost.with_mix(counts | {"request": 1.0, "timer": 1.5}, received=9.0, sent=10.0)
    assert mixed == counts | {
        "ack": 4.5, "duplicate_ack": 1.5, "segment": 10.0, "retransmission": 0.625, "request": 1.0, "timer": 1.5,
    }  # fmt: skip


def test_a_cost_that_is_needed_gives_the_goal() -> None:
    none, some = 20.0, 24.0
    need = surge_cost.needed(none, some, 39.0, (968.0, 1_124.0), goal=1_260.0)
    assert 188.0 + some * need.cost == pytest.approx(1_260.0)
    assert need.without == pytest.approx(188.0 + none * need.cost)


def test_what_operations_cost_adds_up_to_what_the_server_spent(tmp_path: Path) -> None:
    """But for timers, whose microseconds belong to no packet, and jobs that are under way at the end."""
    document = surge_cost.document(["6%"], {"warmup": "0s", "duration": "120s", "runs": 1})
    document["clients"][0] |= {"count": 64, "loss": surge_cost.lossy("6%")}
    document.pop("sweep")
    result = run(document, mode="sim", output=tmp_path / "out")
    rows = surge_cost.operations(result)
    assert rows.height == result.transactions().height
    assert set(rows["outcome"]) >= {"ok", "timed_out", "unfinished"}
    work = server_work(result.runs)
    without_timers = sum(1e6 * each.cpu_s for kind, each in work.items() if kind != "timer")
    assert rows["us"].sum() == pytest.approx(without_timers, rel=0.01)
    sent, received = work["segment"].number, sum(work[kind].number for kind in ("data", "ack", "duplicate_ack", "syn"))
    assert rows["sent"].sum() == pytest.approx(sent, rel=0.001)
    assert rows["received"].sum() == pytest.approx(received, rel=0.001)
    # The size of a file is that of its responses.
    known = result.transactions().join(surge_cost.sizes(), on="file").filter(pl.col("outcome") == "ok")
    assert known.height > 1_000
    assert (known["bytes"].cast(pl.Int64) == known["size"]).all()


def test_every_variant_of_a_user_is_an_experiment_of_its_own() -> None:
    found = points(surge_rate.document())
    assert len(found) == len(surge_rate.VARIANTS)
    for point in found:
        accept(point.experiment, "sim")


def test_the_sweep_of_table_2_has_every_cell_of_the_papers() -> None:
    cells = {
        (4 * point.settings["clients.count"], point.settings["network.links.b1.queue"])
        for point in points(read(queue_loss.FILE))
    }
    assert cells == {(clients, queue) for clients in queue_loss.PAPER for queue in queue_loss.QUEUES}


def test_the_loss_of_a_run_is_that_of_its_interval_alone(tmp_path: Path) -> None:
    """The link drops in warm-up and interval; the table counts the interval."""
    document = read(queue_loss.FILE)
    document["sweep"] = {"network.links.b1.queue": ["2KiB", "8KiB"]}
    document["measure"] = {"warmup": "2s", "duration": "4s", "runs": 2}
    document["mode"] = "sim"
    found = papers.made(document, tmp_path / "out")
    assert isinstance(found, StudyResult)
    results = [point.result for point in found.points]
    assert all(result is not None for result in results)
    short, long = (queue_loss.losses(result) for result in results if result is not None)
    assert len(short) == len(long) == 2
    assert min(short) > max(long) > 0
    assert results[0] is not None
    seconds = results[0].link_series().filter((pl.col("link") == "b1") & (pl.col("direction") == "forward"))
    for number, share in enumerate(short):
        rows = seconds.filter((pl.col("run") == number) & pl.col("second").is_in([2, 3, 4, 5]))
        assert share == pytest.approx(100 * float(rows["dropped"].sum()) / float(rows["packets"].sum()))
    with pytest.raises(ValueError, match="the runs of another experiment"):
        papers.made(document | {"seed": 2}, tmp_path / "out")
    again = papers.made(document, tmp_path / "out")
    assert [point.result.results for point in again.points if point.result] == [
        result.results for result in results if result is not None
    ]
