"""The fields that all workloads have."""

from __future__ import annotations

from typing import Any, Literal

from waspbench.experiment.base import Part


class Dealt(Part):
    """A workload, whose requests are dealt to clients."""

    kind: str
    """Selects the workload."""
    deal: Literal["own", "modulo"] = "own"
    """How requests are dealt to clients. own: each client has its own sequence of requests. modulo: client c of the n
    that share the workload takes requests c, c + n, c + 2n... of one sequence for all of them [S03]."""

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        return self.model_dump(exclude_none=True)
