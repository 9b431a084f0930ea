"""The kernel's side of a configuration: live runs that are kept, so that a comparison can go on where it ended."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from waspbench import _core
from waspbench.errors import Argument, CannotRunError, InputError, RunFailedError
from waspbench.experiment import parse
from waspbench.experiment.units import seconds
from waspbench.live import choose_mode
from waspbench.results import Manifest, load_manifest, populations_of
from waspbench.results.store import MANIFEST, read_table
from waspbench.results.study import is_study, read_plan
from waspbench.runner.batch import measure
from waspbench.runner.lock import DirectoryLock
from waspbench.stats.histogram import merge
from waspbench.validation.cases import CASES, RUNS, Case
from waspbench.validation.sides import SHORTEST, Side

REFUSED = 4
"""How many live runs of a configuration may be refused; after one more, no others are made."""
ALIKE = frozenset({"warmup", "mser", "censored", "too_few"})
"""Reasons that do not count here: both sides begin alike, and are measured over the same interval."""


@dataclass(frozen=True)
class Measured:
    """The kernel's side: the runs that count, why others did not, and with what they were made."""

    side: Side
    refused: Sequence[str]
    servers: frozenset[str]
    days: frozenset[str]


def require() -> None:
    """Raises CannotRunError where no live run is possible, or none with this engine would be valid."""
    choose_mode("live", parse(CASES[0].document(SHORTEST)))
    if _core.profile() != "release":
        raise CannotRunError(f"the engine is built with the profile {_core.profile()}; ./run build makes the release")


def kept(case: Case, results: Path) -> float | None:
    """Seconds that the runs take that are in ``results`` already; None where there is none.

    Raises:
        InputError: there is something else.
    """
    if not results.exists():
        return None
    if not results.is_dir():
        raise InputError.at(Argument("results"), "a directory would be valid", str(results))
    lengths = {_length(_checked(case, made)) for made in sorted(results.iterdir()) if not _was_killed(case, made)}
    if len(lengths) > 1:
        raise InputError.at(Argument("results"), "runs of one length would be valid", str(results))
    return lengths.pop() if lengths else None


def measured(case: Case, duration: float, results: Path) -> Measured:
    """The kernel's side, from the runs in ``results``, and from others that are made there until enough of them count.

    A run that is interrupted is not kept.

    Raises:
        CannotRunError: this machine cannot run live.
        InputError: what is in ``results`` are no such runs.
        KeyboardInterrupt: the run was interrupted.
    """
    counted: list[tuple[Path, Manifest]] = []
    refused: list[str] = []
    for number in count():
        where = results / f"{number}"
        there = where.exists() and not _was_killed(case, where)
        if len(counted) == RUNS or (len(refused) > REFUSED and not there):
            break
        if not there:
            try:
                _make(case.document(duration) | {"seed": number + 1}, where)
            except RunFailedError as error:
                refused.append(f"failed: {error.message}")
                continue
        manifest = _checked(case, where)
        against = disturbed(manifest)
        if against:
            refused.append(against)
        else:
            counted.append((where, manifest))
    runs = [one for _, manifest in counted for one in manifest.runs]
    tables = [where / "histogram" / f"run-{one.run}.parquet" for where, manifest in counted for one in manifest.runs]
    return Measured(
        Side(runs, merge(populations_of(read_table(table)).ok for table in tables)),
        refused,
        frozenset(server_of(manifest) for _, manifest in counted),
        frozenset(manifest.created[:10] for _, manifest in counted),
    )


def _was_killed(case: Case, where: Path) -> bool:
    """Whether a run of a configuration was begun there and killed."""
    if not is_study(where) or (where / MANIFEST).exists():
        return False
    plan = read_plan(where)
    return (plan.kind, plan.points, plan.name) == ("sweep", 1, case.document(SHORTEST)["name"])


def _make(document: dict[str, Any], where: Path) -> None:
    if where.exists():
        with DirectoryLock(where):
            shutil.rmtree(where)
    measure(document, where)


def _checked(case: Case, where: Path) -> Manifest:
    """The manifest of a kept run.

    Raises:
        InputError: it is of another experiment, or of results that do not have the counters.
    """
    manifest = load_manifest(where)
    wanted = parse(case.document(SHORTEST)).model_dump(exclude_none=True, by_alias=True)
    if manifest.mode != "live" or _compared(manifest.experiment) != _compared(wanted):
        raise InputError.at(
            Argument("results"), f"live runs of the configuration {case.name} would be valid", str(where)
        )
    if any("RetransSegs" not in (one.tcpext or {}) for one in manifest.runs):
        raise InputError.at(Argument("results"), "runs with the counter RetransSegs would be valid", str(where))
    return manifest


def _compared(experiment: dict[str, Any]) -> dict[str, Any]:
    """What all runs of a configuration have alike; the modelled server is no part of a live run."""
    server = {name: value for name, value in experiment["server"].items() if name not in ("tcp", "model")}
    measure = {name: value for name, value in experiment["measure"].items() if name != "duration"}
    return experiment | {"server": server, "measure": measure, "seed": None}


def _length(manifest: Manifest) -> float:
    return seconds(manifest.experiment["measure"]["duration"])


def disturbed(manifest: Manifest) -> str:
    """Why a run does not count; empty if it does."""
    reasons = {reason.code for reason in manifest.invalid_reasons}
    if not manifest.valid and not reasons:
        return "not valid"
    return ", ".join(sorted(reasons - ALIKE))


def server_of(manifest: Manifest) -> str:
    """The server and the kernel of a run."""
    server = f"{manifest.server.get('name', 'nginx')} {manifest.server.get('version') or 'of unknown version'}"
    return f"{server} on Linux {manifest.versions['kernel']}"
