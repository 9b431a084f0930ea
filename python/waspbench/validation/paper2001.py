"""Section 4.3 of the WASP paper: what a server gains by NewReno and by selective acknowledgments."""

from __future__ import annotations

from waspbench.validation.page import Row, Table
from waspbench.validation.simulation import each, mean, scenario, shown, simulate

VARIANTS = ("reno", "newreno", "sack")
PAPER = {"newreno": "-10 %", "sack": "-20 %"}
LOSS = {"model": "wasp2001", "rate": "6%"}
WIDE = "64 KB, buffers of 64 KB"
"""The paper does not tell its buffers; those of the preset are 16 KB, the default of the time."""
MIX = {"kind": "surge"}
"""The heavy-tailed mix of the paper's macro-benchmark: SURGE's files and popularity."""


def variants(duration: float = 600.0, runs: int = 10) -> Table:
    """Mean response times of the server's variants."""
    sizes = {"1 KB": {"size": "1KB"}, "64 KB": {"size": "64KB"}, WIDE: {"size": "64KB"}, "SURGE": MIX}
    places = [(name, rtt, variant) for name in sizes for rtt in (0.0, 0.1) for variant in VARIANTS]

    def time(job: tuple[tuple[str, float, str], int]) -> float:
        (name, rtt, variant), run = job
        end: dict[str, object] = {"preset": "bsd1999", "sack": variant == "sack"}
        if name == WIDE:
            end |= {"send_buffer": "64KB", "receive_buffer": "64KB"}
        document = scenario(
            rtt=rtt,
            size="1KB",
            down=LOSS,
            up=LOSS,
            server=end | {"recovery": variant},
            client=end,
            count=32,
            warmup=30,
            duration=duration,
        )
        document["workload"] = sizes[name]
        found = simulate(document, run).response_time_ms.mean
        assert found is not None, "a run of a valid scenario has transactions"
        return found / 1e3

    jobs = [(place, run) for place in places for run in range(runs)]
    found: dict[tuple[str, float, str], list[float]] = {}
    for (place, _), value in zip(jobs, each(time, jobs), strict=True):
        found.setdefault(place, []).append(value)
    rows = []
    for name in sizes:
        for rtt in (0.0, 0.1):
            reno = found[name, rtt, "reno"]
            gains = {
                variant: [100 * (a / b - 1) for a, b in zip(found[name, rtt, variant], reno, strict=True)]
                for variant in VARIANTS[1:]
            }
            cells = (name, f"{rtt * 1e3:g} ms", f"{shown(reno)} s", *(f"{shown(gains[v], 2)} %" for v in VARIANTS[1:]))
            rows.append(Row(cells, abs(mean(gains["sack"])) < 5 if name == "1 KB" else None))
    said = ", ".join(f"{variant} {change}" for variant, change in PAPER.items())
    return Table(
        "paper2001",
        "The WASP paper, section 4.3",
        "Mean response time of 32 clients, one request a connection, before a server `bsd1999` that is never busy, "
        "with the paper's two-state loss labelled 6 % in both directions; SURGE is the heavy-tailed mix. The "
        f"changes are against `reno` with the same seed, {runs} runs of {duration:g} s.",
        f"none but that the variants do not differ for 1 KB (5 %); the paper's figures, 6 % loss: {said}.",
        ("response", "RTT", "reno", "newreno", "sack"),
        rows,
    )
