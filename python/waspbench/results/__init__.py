"""Results: figures of runs and of experiments, and the directory that keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waspbench.lazy import attributes

if TYPE_CHECKING:
    from waspbench.results.estimates import Estimate, ResponseTime
    from waspbench.results.formats import FORMAT
    from waspbench.results.groups import Group
    from waspbench.results.manifest import Manifest
    from waspbench.results.reasons import Advice, Reason
    from waspbench.results.result import Direction, Network, Result, combine
    from waspbench.results.store import (
        check_free,
        default_directory,
        load,
        load_manifest,
        populations_of,
        write_table,
    )
    from waspbench.results.summary import Emulator, Invalid, RunSummary, ServerCpu, Waits

__all__ = [
    "FORMAT",
    "Advice",
    "Direction",
    "Emulator",
    "Estimate",
    "Group",
    "Invalid",
    "Manifest",
    "Network",
    "Reason",
    "ResponseTime",
    "Result",
    "RunSummary",
    "ServerCpu",
    "Waits",
    "check_free",
    "combine",
    "default_directory",
    "load",
    "load_manifest",
    "populations_of",
    "write_table",
]

_HOMES = {
    "Advice": "reasons",
    "Direction": "result",
    "Emulator": "summary",
    "Estimate": "estimates",
    "FORMAT": "formats",
    "Group": "groups",
    "Invalid": "summary",
    "Manifest": "manifest",
    "Network": "result",
    "Reason": "reasons",
    "ResponseTime": "estimates",
    "Result": "result",
    "RunSummary": "summary",
    "ServerCpu": "summary",
    "Waits": "summary",
    "check_free": "store",
    "combine": "result",
    "default_directory": "store",
    "load": "store",
    "load_manifest": "store",
    "populations_of": "store",
    "write_table": "store",
}

__getattr__, __dir__ = attributes(__name__, _HOMES)
