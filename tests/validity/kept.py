"""Long runs and experiments of the matrix are made once and kept: truths in a file of the project, by the engine that
made them, and experiments in ``target/verdicts``, by all that they depend on.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from validity import judged
from validity.configurations import Configuration
from validity.judged import Experiment, LongRun, Truth
from waspbench import _core

ROOT = Path(__file__).parents[2]

TRUTHS = Path(__file__).parent / "truths.json"

VERDICTS = ROOT / "target" / "verdicts"

SPOILED = {"interrupted", "stopped", "failed"}
"""Reasons of an experiment that was not made in full."""

T = TypeVar("T")
Job = tuple[Configuration, int]
"""A configuration, and the seed of an experiment or the number of a long run."""


class StaleEngineError(Exception):
    """The engine that is installed was built from other sources."""


def digest(*parts: bytes) -> str:
    """A short name for these bytes."""
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8) + part)
    return made.hexdigest()[:12]


def _sources(folder: str, *endings: str) -> list[Path]:
    return sorted(path for ending in endings for path in (ROOT / folder).rglob(f"*{ending}"))


def engine() -> str:
    """Names the sources of the engine.

    Raises:
        StaleEngineError: one of them is newer than the engine that is installed.
    """
    sources = [*_sources("crates", ".rs", ".toml"), ROOT / "Cargo.toml", ROOT / "Cargo.lock"]
    built = Path(_core.__file__).stat().st_mtime
    if any(path.stat().st_mtime > built for path in sources):
        raise StaleEngineError("the engine is older than its sources: ./run build makes it anew")
    return digest(*(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() for path in sources))


def judgment() -> str:
    """Names all that an experiment depends on besides its configuration: the engine that is installed, the package, and
    how experiments are made here.
    """
    sources = [Path(_core.__file__), Path(judged.__file__), *_sources("python", ".py")]
    return digest(*(path.name.encode() + b"\0" + path.read_bytes() for path in sources))


def identity(configuration: Configuration) -> str:
    """Names what the truth of a configuration depends on besides the engine."""
    lengths = f"{configuration.settles:g} {configuration.lasts:g} {judged.LONG_RUNS}"
    return digest(_document(configuration), lengths.encode())


def _document(configuration: Configuration) -> bytes:
    return json.dumps(configuration.document(), sort_keys=True).encode()


def truths(path: Path = TRUTHS) -> dict[str, dict[str, Truth]]:
    """Those that are kept: by configuration, the truth of each group."""
    return {
        name: {group: judged.truth_from(each) for group, each in kept["groups"].items()}
        for name, kept in _read(path).items()
    }


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def foreign(wanted: Sequence[Configuration], path: Path = TRUTHS) -> list[str]:
    """The stable configurations of which no truth is kept that this engine made of what they are now."""
    kept, made_by = _read(path), engine()
    current = {name: (each["engine"], each["configuration"]) for name, each in kept.items()}
    return [each.name for each in wanted if each.is_stable and current.get(each.name) != (made_by, identity(each))]


def make_truths(wanted: Sequence[Configuration], jobs: int, path: Path = TRUTHS) -> None:
    """Makes the truths that are `foreign`, and keeps each as soon as it is there."""
    missing = set(foreign(wanted, path))
    by_name = {each.name: each for each in wanted if each.name in missing}
    runs: dict[str, list[LongRun]] = defaultdict(list)
    asked = [(each, number) for each in by_name.values() for number in range(judged.LONG_RUNS)]
    for (configuration, _), run in made(asked, judged.long_run, jobs, "long runs"):
        name = configuration.name
        runs[name].append(run)
        if len(runs[name]) == judged.LONG_RUNS:
            truth = {group: asdict(each) for group, each in judged.truth(runs.pop(name)).items()}
            _keep(path, name, {"engine": engine(), "configuration": identity(configuration), "groups": truth})


def _keep(path: Path, name: str, truth: Mapping[str, Any]) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(_read(path) | {name: truth}, indent=1, sort_keys=True) + "\n")
    beside.replace(path)


def experiments(
    wanted: Sequence[Configuration],
    jobs: int,
    number: int = judged.EXPERIMENTS,
    folder: Path = VERDICTS,
    make: Callable[[Configuration, int], Experiment] = judged.experiment,
) -> dict[str, list[Experiment]]:
    """So many experiments of each configuration, of seeds from 1: those that are kept, and the others, each of which is
    kept as soon as it is made.
    """
    folder = folder / judgment()
    folder.mkdir(parents=True, exist_ok=True)
    files = {each.name: folder / f"{each.name}-{digest(_document(each))}.jsonl" for each in wanted}
    kept = {name: _experiments(path) for name, path in files.items()}
    missing = [(each, seed) for seed in range(1, number + 1) for each in wanted if seed not in kept[each.name]]
    for (configuration, seed), experiment in made(missing, make, jobs, "experiments"):
        if SPOILED & set(experiment.reasons):
            raise RuntimeError(f"{configuration.name}, seed {seed}: {', '.join(experiment.reasons)}")
        kept[configuration.name][seed] = experiment
        with files[configuration.name].open("a") as file:
            file.write(json.dumps({"seed": seed, **asdict(experiment)}) + "\n")
    return {name: [found[seed] for seed in sorted(found) if seed <= number] for name, found in kept.items()}


def _experiments(path: Path) -> dict[int, Experiment]:
    """Those in a file, by seed; a last line that was not written to its end is taken off."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        path.write_bytes(whole)
    return {line["seed"]: judged.experiment_from(line) for line in map(json.loads, whole.splitlines())}


def made(
    asked: Sequence[Job], make: Callable[[Configuration, int], T], jobs: int, what: str
) -> Iterator[tuple[Job, T]]:
    """What ``make`` returns, of each job, as soon as it is there. A job that fails, or Ctrl-C, ends the others, too."""
    if not asked:
        return
    # Where the engine has run in this process, a fork of it would hang.
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_leave_interrupts)
    counted = count(1)
    try:
        futures = {pool.submit(make, *job): job for job in asked}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
            _say(next(counted), len(asked), what)
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_interrupts() -> None:
    """An interrupt is for the process that waits: an experiment that it ended would look like one that was made."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _say(done: int, of: int, what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{done:,} of {of:,} {what}", end="" if done < of else "\n", file=sys.stderr, flush=True)


def processes() -> int:
    """As many as there are CPUs."""
    return os.cpu_count() or 1
