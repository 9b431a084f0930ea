"""Results: figures of runs and of experiments, and the directory that keeps them."""

from waspbench.results.formats import FORMAT
from waspbench.results.manifest import Manifest
from waspbench.results.result import Direction, Estimate, Network, Reason, ResponseTime, Result, combine
from waspbench.results.store import (
    TABLES,
    Store,
    check_free,
    default_directory,
    histogram_of,
    load,
    load_manifest,
    write_table,
)
from waspbench.results.summary import Emulator, Invalid, RunSummary, ServerCpu, Waits

__all__ = [
    "FORMAT",
    "TABLES",
    "Direction",
    "Emulator",
    "Estimate",
    "Invalid",
    "Manifest",
    "Network",
    "Reason",
    "ResponseTime",
    "Result",
    "RunSummary",
    "ServerCpu",
    "Store",
    "Waits",
    "check_free",
    "combine",
    "default_directory",
    "histogram_of",
    "load",
    "load_manifest",
    "write_table",
]
