"""The workloads of an experiment: that of the file, which groups of clients share, and those of groups' own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waspbench import _core
from waspbench.experiment.clients import Clients
from waspbench.experiment.model import Experiment
from waspbench.experiment.workload import Workload


@dataclass(frozen=True)
class Use:
    """A workload, and who uses it."""

    workload: Workload
    groups: tuple[Clients, ...]
    """The groups of clients."""
    group: str | None
    """Name of the group whose own the workload is; None of the file's."""
    seed: int
    """Seed of the file set."""

    @property
    def directory(self) -> Path | None:
        """A directory that a live server serves for it; None where its files are to be made."""
        given: str | None = getattr(self.workload, "directory", None)
        return None if given is None else Path(given)

    @property
    def field(self) -> str:
        """Where it stands in the experiment file."""
        return "workload" if self.group is None else f"{self.groups[0].path}.workload"


def uses(experiment: Experiment) -> list[Use]:
    """The workloads of ``experiment`` that are used: the file's first, then those of groups' own in their order."""
    sharing = tuple(group for group in experiment.clients if group.workload is None)
    found = [Use(experiment.workload, sharing, None, _seed(experiment.workload, experiment.seed))] if sharing else []
    for group in experiment.clients:
        if group.workload is not None:
            seed = _core.seed_of_group(experiment.seed, group.name)
            found.append(Use(group.workload, (group,), group.name, _seed(group.workload, seed)))
    return found


def workload_of(experiment: Experiment, group: Clients) -> Workload:
    """What the clients of ``group`` ask for."""
    return experiment.workload if group.workload is None else group.workload


def as_document(experiment: Experiment) -> dict[str, Any]:
    """The content of a file for ``experiment`` with its defaults, without a workload that no group uses."""
    unused = {"workload"} if all(group.workload is not None for group in experiment.clients) else set()
    return experiment.model_dump(exclude_none=True, by_alias=True, exclude=unused)


def _seed(workload: Workload, otherwise: int) -> int:
    own: int | None = getattr(workload, "seed", None)
    return otherwise if own is None else own
