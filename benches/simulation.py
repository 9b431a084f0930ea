"""Packets a second of simulated bulk transfers on one core: `cargo run --release -p wasp-benches --bin bulk`."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from waspbench.testbed.errors import CannotDoIt, TestbedError

GOAL, LEAST = 1.5e6, 0.7e6
"""Packets delivered end to end a second: what is aimed at, and the least that will do."""

VIRTUAL_SECONDS = {64: 60, 1024: 10}
"""How long to simulate for so many flows."""

_ROOT = Path(__file__).resolve().parent.parent


def bulk(flows: int) -> dict[str, Any]:
    """Builds and runs the benchmark with so many flows; returns the object that it prints.

    Raises:
        CannotDoIt: there is no cargo.
        TestbedError: it did not build or did not run.
    """
    if shutil.which("cargo") is None:
        raise CannotDoIt("the simulation's benchmark needs cargo (https://rustup.rs)")
    seconds = VIRTUAL_SECONDS.get(flows, 10)
    command = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "wasp-benches", "--bin", "bulk", "--"]
    said = subprocess.run(
        [*command, str(flows), str(seconds)], cwd=_ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if said.returncode != 0:
        reason = (said.stderr.strip().splitlines() or [f"status {said.returncode}"])[-1]
        raise TestbedError(f"the simulation's benchmark failed: {reason}")
    return dict(json.loads(said.stdout.strip().splitlines()[-1]))
