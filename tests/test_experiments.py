"""The experiments of the papers: each is valid, says what to expect, and finds it in simulation."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import pytest

import queue_loss
from waspbench import Result, run
from waspbench.experiment import accept, apply
from waspbench.experiment.load import read
from waspbench.experiment.sweep import points
from waspbench.results.server_work import server_work
from waspbench.stats import mean_interval

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
        ("fixed-size", {"clients__count": 64, "workload__size": "64KiB"}, pytest.approx(220, rel=0.05)),
        ("variable-size", {"clients__count": 64}, pytest.approx(1200, rel=0.15)),
        ("think-time", {"clients__count": 2048}, pytest.approx(2048, rel=0.05)),
        ("think-time", {"clients__count": 8192}, pytest.approx(3800, rel=0.05)),
        ("concurrent", {"clients__count": 1}, pytest.approx(600, rel=0.15)),
        ("concurrent", {"clients__count": 64}, pytest.approx(3800, rel=0.05)),
        ("persistent", {"clients__count": 64}, pytest.approx(6500, rel=0.05)),
        ("persistent", {"clients__count": 64, "workload__size": "64KiB"}, pytest.approx(220, rel=0.1)),
        ("pipelined", {"clients__count": 64}, pytest.approx(8000, rel=0.05)),
        ("pipelined", {"clients__count": 8}, pytest.approx(7100, rel=0.05)),
        ("pipelined", {"clients__count": 64, "workload__size": "64KiB"}, pytest.approx(220, rel=0.1)),
    ],
)
def test_client_effects_of_simmonds_et_al(name: str, settings: dict[str, Any], expected: Any) -> None:
    assert rate(f"ip-tne-2003/{name}", **settings) == expected


LOSSY = '{{model="wasp2001", rate="{}"}}'


def test_flash_is_saturated_by_256_users_without_loss_only() -> None:
    """Nahum et al. 2001: 1,035, 471 and 198 operations a second. With loss it is what the README has."""
    times = {"warmup": "10s", "duration": "60s"}
    none = simulated("wasp-2001/surge", **times, clients__loss="0%", clients__count=256)
    assert none.throughput.mean == pytest.approx(1035, rel=0.1)
    busy = [none.server_cpu.busy or 0.0]
    for label, rate_with_loss in (("3%", 327), ("6%", 166)):
        lossy = simulated("wasp-2001/surge", **times, clients__loss=LOSSY.format(label), clients__count=256)
        assert lossy.throughput.mean == pytest.approx(rate_with_loss, rel=0.1)
        busy.append(lossy.server_cpu.busy or 0.0)
    assert busy[0] > 0.99
    assert busy[2] < busy[1] < 0.5


@functools.cache
def saturated(preset: str, loss: str, rtt: str = "0ms", clients: int = 2048) -> Result:
    """A saturated server of files of 13 KB, SURGE's mean; with one size, short runs have the mix of long ones."""
    found = simulated(
        "wasp-2001/surge",
        warmup="20s",
        duration="20s",
        clients__count=clients,
        clients__loss=loss if loss == "0%" else LOSSY.format(loss),
        clients__rtt=rtt,
        workload='{kind="single", size="13KB"}',
        server__model__preset=preset,
    )
    assert (found.server_cpu.busy or 0.0) > 0.9
    return found


def answered(result: Result) -> float:
    """Requests a second that the server began; what clients ended in a short run differs by what is under way."""
    return server_work(result.runs)["request"].number / result.runs[0].interval_s


def cost(result: Result) -> float:
    """CPU microseconds of a request."""
    work = server_work(result.runs)
    return 1e6 * sum(each.cpu_s for each in work.values()) / work["request"].number


def test_a_request_costs_more_cpu_with_loss_and_capacity_falls() -> None:
    """Nahum et al. 2001, Figures 17 and 18: Apache makes half of Flash, and loses relatively less. Costs are ours."""
    falls = []
    for preset, costs in (("flash-2001", (985, 1006)), ("apache-2001", (1928, 1955))):
        none, some = (saturated(preset, loss) for loss in ("0%", "3%"))
        assert (cost(none), cost(some)) == pytest.approx(costs, rel=0.005)
        assert answered(some) < answered(none)
        falls.append(cost(some) / cost(none))
    ratio = answered(saturated("apache-2001", "0%")) / answered(saturated("flash-2001", "0%"))
    assert ratio == pytest.approx(0.5, abs=0.1)
    assert falls[1] < falls[0]


def test_a_long_round_trip_costs_little_capacity() -> None:
    """Nahum et al. 2001, Figure 19: 5 % less with 400 ms."""
    near, far = saturated("flash-2001", "0%"), saturated("flash-2001", "0%", "400ms", 4096)
    assert answered(far) / answered(near) == pytest.approx(0.95, abs=0.02)


def lost_before_the_backbone(folder: Path, clients: int, queue: str) -> list[float]:
    """The shares of packets in per cent that the queue of link b1 drops in each run, with so many clients."""
    document = read(queue_loss.FILE)
    document["sweep"] = {}
    document["measure"] = {"warmup": "10s", "duration": "20s", "runs": 3}
    fields = [f"clients.count={clients // 4}", f"network.links.b1.queue={queue}"]
    return queue_loss.losses(run(apply(document, fields), mode="sim", output=folder / f"{clients}-{queue}"))


@pytest.mark.slow
def test_the_shorter_the_queue_the_more_is_lost_however_many_clients(tmp_path: Path) -> None:
    """Simmonds et al. 2003, Table 2, from 512 clients on: the 90 % intervals of neighbours do not meet."""
    found = {
        (clients, queue): lost_before_the_backbone(tmp_path, clients, queue)
        for clients in (512, 4096)
        for queue in queue_loss.QUEUES
    }
    ends = {cell: mean_interval(shares) for cell, shares in found.items()}
    for clients in (512, 4096):
        for shorter, longer in itertools.pairwise(queue_loss.QUEUES):
            low, high = ends[clients, shorter], ends[clients, longer]
            assert low is not None
            assert high is not None
            assert low[0] > high[1]
    for queue in queue_loss.QUEUES[1:]:
        few, many = (sum(found[clients, queue]) for clients in (512, 4096))
        assert max(few, many) < 1.5 * min(few, many)


def test_slow_clients_hardly_disturb_a_server_with_memory() -> None:
    few, many = (simulated("io-lite-1999/slow-clients", clients__slow__count=count) for count in (1, 128))
    waiting = [group.outcomes["unfinished"] for each in (few, many) for group in each.groups if group.name == "slow"]
    assert waiting == [1, 128]
    assert many.throughput.mean == pytest.approx(few.throughput.mean, rel=0.1)
