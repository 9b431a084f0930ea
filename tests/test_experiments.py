"""The experiments of the papers: each is valid, says what to expect, and finds it in simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from waspbench import Result, run
from waspbench.experiment import accept, apply
from waspbench.experiment.load import read
from waspbench.experiment.sweep import points

ROOT = Path(__file__).parents[1] / "experiments"
FILES = sorted(ROOT.rglob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_experiment_is_valid_and_says_what_to_expect(file: Path) -> None:
    document = read(file)
    assert document["name"] == f"{file.parent.name}-{file.stem}"
    for point in points(document):
        for mode in ("live", "sim"):
            accept(point.experiment, mode)
    text = file.read_text()
    assert "\n# Expected: " in text
    assert f"wasp run experiments/{file.relative_to(ROOT)}" in text
    assert f"({file.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


def simulated(name: str, warmup: str = "1s", duration: str = "2s", **settings: Any) -> Result:
    """One run of one point of an experiment, shorter than the experiment's own; `__` in a setting is a dot."""
    document = read(ROOT / f"{name}.toml")
    document["sweep"] = {}
    document["measure"] = {"warmup": warmup, "duration": duration, "runs": 1}
    fields = [f"{path.replace('__', '.')}={value}" for path, value in settings.items()]
    return run(apply(document, fields), mode="sim")


def rate(name: str, **settings: Any) -> float:
    return simulated(name, **settings).throughput.mean


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("fixed-size", {"clients__count": 1}, pytest.approx(160, rel=0.15)),
        ("fixed-size", {"clients__count": 64}, pytest.approx(3800, rel=0.05)),
        ("fixed-size", {"clients__count": 64, "workload__size": "64KB"}, pytest.approx(220, rel=0.05)),
        ("variable-size", {"clients__count": 64}, pytest.approx(1200, rel=0.15)),
        ("think-time", {"clients__count": 2048}, pytest.approx(2048, rel=0.05)),
        ("think-time", {"clients__count": 8192}, pytest.approx(3800, rel=0.05)),
        ("concurrent", {"clients__count": 1}, pytest.approx(600, rel=0.15)),
        ("concurrent", {"clients__count": 64}, pytest.approx(3800, rel=0.05)),
        ("persistent", {"clients__count": 64}, pytest.approx(6500, rel=0.05)),
        ("persistent", {"clients__count": 64, "workload__size": "64KB"}, pytest.approx(220, rel=0.1)),
        ("pipelined", {"clients__count": 8}, pytest.approx(6500, rel=0.05)),
        ("pipelined", {"clients__count": 64, "workload__size": "64KB"}, pytest.approx(220, rel=0.1)),
    ],
)
def test_client_effects_of_simmonds_et_al(name: str, settings: dict[str, Any], expected: Any) -> None:
    assert rate(f"ip-tne-2003/{name}", **settings) == expected


def test_what_loss_does_to_surge() -> None:
    """Nahum et al. 2001: 1,035, 471 and 198 operations a second of 256 user equivalents."""
    times = {"warmup": "5s", "duration": "10s"}
    name, lossy = "wasp-2001/surge", '{{model="wasp2001", rate="{}"}}'
    none = simulated(name, **times, clients__loss="0%")
    three, six = (simulated(name, **times, clients__loss=lossy.format(label)) for label in ("3%", "6%"))
    assert none.throughput.mean == pytest.approx(1035, rel=0.1)
    assert three.throughput.mean == pytest.approx(471, rel=0.35)
    assert six.throughput.mean == pytest.approx(198, rel=0.25)
    busy = [result.server_cpu.busy or 0.0 for result in (none, three, six)]
    assert busy[0] > 0.95
    assert busy[2] < busy[1] < 0.5


def test_slow_clients_hardly_disturb_a_server_with_memory() -> None:
    few, many = (simulated("io-lite-1999/slow-clients", clients__slow__count=count) for count in (1, 128))
    waiting = [group.outcomes["unfinished"] for each in (few, many) for group in each.groups if group.name == "slow"]
    assert waiting == [1, 128]
    assert many.throughput.mean == pytest.approx(few.throughput.mean, rel=0.1)
