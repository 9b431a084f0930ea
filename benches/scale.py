"""What an idle connection weighs in the emulator: resident memory beside so many clients that have asked once.

`python benches/scale.py CLIENTS SERVER_CPUS EMULATOR_CPUS` prints one JSON object; each measurement is a process of its
own.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import waspbench
from waspbench.experiment import parse
from waspbench.testbed import Placement, TestbedError, cpus

WARM_UP = "10s"
"""All clients ask at its beginning, and what is lost of so many handshakes at once is repeated within it."""


def idle_slope(placement: Placement, few: int, many: int) -> dict[str, Any]:
    """Bytes of a connection, from the memory beside few and beside many.

    Raises:
        TestbedError: a measurement failed.
    """
    rss = [_in_a_process(placement, clients) for clients in (few, many)]
    return {"few": few, "many": many, "bytes_per_connection": (rss[1] - rss[0]) / (many - few)}


def _in_a_process(placement: Placement, clients: int) -> int:
    show = cpus.show_list
    command = [sys.executable, __file__, str(clients), show(placement.server), show(placement.emulator)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise TestbedError(f"scale: {(said.stderr.strip().splitlines() or ['no output'])[-1]}")
    return int(json.loads(said.stdout)["rss"])


def idle(clients: int, server_cpus: str, emulator_cpus: str) -> dict[str, int]:
    """Resident bytes of this process while so many clients have a connection that waits."""
    document = {
        "name": "idle",
        "server": {"kind": "nginx"},
        "clients": [{"count": clients, "rtt": "20ms", "think": "1h", "start": "together"}],
        "measure": {"warmup": WARM_UP, "duration": "1h", "runs": 1},
    }
    with waspbench.start(parse(document), mode="live", server_cpus=server_cpus, emulator_cpus=emulator_cpus) as handle:
        while True:
            progress = handle.next_sample()
            if progress is not None and progress.measuring:
                break
        assert progress.completed == clients, (
            f"{progress.completed} of {clients} clients have an answer after {WARM_UP}"
        )
        return {"clients": clients, "rss": _resident()}


def _resident() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    print(json.dumps(idle(int(sys.argv[1]), sys.argv[2], sys.argv[3])))
