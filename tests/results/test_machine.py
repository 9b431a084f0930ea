"""What a result says of the machine that made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fake_core import FakeEngine
from measured_runs import summary
from waspbench import run
from waspbench.cli import table
from waspbench.results import Emulator, Result, ServerCpu, Waits, combine
from waspbench.stats import Histogram, Populations

LAG = Waits(p50=1, p99=2, max=3)


def measured(result: Result, **emulator: Any) -> Result:
    """A live result with these figures of the emulator."""
    cpu = ServerCpu(busy=0.42, others=0.004, steal=0.0, processes_s=4.0)
    return result.model_copy(update={"server_cpu": cpu, "emulator": Emulator(cpu=0.3, lag_us=LAG, **emulator)})


@pytest.fixture
def result(engine: FakeEngine, tmp_path: Path) -> Result:
    return run({"name": "machine", "mode": "sim", "clients": [{"count": 2}]}, output=tmp_path / "out")


def test_the_table_says_what_other_programs_took(result: Result) -> None:
    told = table.report(measured(result, others=0.01, run_delay=0.02, run_delay_by_others=0.001))
    assert "server CPU      42.0 % busy, 0.4 % by other programs, 0.0 % stolen\n" in told
    assert "1.0 % of its CPU used by other programs, run delay 2.0 %\n" in told


def test_the_table_says_nothing_of_what_is_not_known(result: Result) -> None:
    assert "other programs" not in table.report(result)
    assert "run delay" not in table.report(measured(result))


def test_a_result_has_the_mean_of_what_others_took_and_the_longest_wait() -> None:
    runs = []
    for number, (others, waited, by_others) in enumerate(
        [(0.01, 0.001, 0.0005), (0.02, 0.004, 0.0), (0.03, 0.002, 0.0)]
    ):
        made = summary(100.0, number)
        cpu = made.server_cpu.model_copy(update={"others": others})
        emulator = Emulator(cpu=0.3, others=others, run_delay=waited, run_delay_by_others=by_others, lag_us=LAG)
        runs.append(made.model_copy(update={"server_cpu": cpu, "emulator": emulator}))
    one = Histogram.of([0], [9], [1])
    nothing = Populations(one, one)
    result = combine(runs, [nothing] * len(runs), name="x", mode="live", seed=1)
    assert result.server_cpu.others == pytest.approx(0.02)
    assert result.emulator.others == pytest.approx(0.02)
    assert (result.emulator.run_delay, result.emulator.run_delay_by_others) == (0.004, 0.0005)
