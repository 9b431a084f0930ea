"""What a server must have for a workload: files of the same paths and sizes, or a directory that holds them."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from waspbench import _core
from waspbench.errors import InputError, Problem
from waspbench.experiment import Experiment, Prowgen, Replay, Single, Surge
from waspbench.results.result import LogReading, Site
from waspbench.workload.check import verify

_SHOWN = 10
"""Missing files that are named; of more only the number."""


@dataclass(frozen=True)
class Served:
    """What a server is to have."""

    files: list[tuple[str, int]]
    """Path and size of each file that is to be made."""
    directory: Path | None = None
    """A directory to serve as it is, in place of such files."""


def served(experiment: Experiment) -> Served:
    """What the server of ``experiment`` needs.

    Raises:
        InputError: the log cannot be read, or the directory does not hold what is asked for.
    """
    workload = experiment.workload
    if isinstance(workload, Single):
        return Served([(path, _core.parse_bytes(size)) for path, size in single_files(workload)])
    built = build(experiment)
    if workload.directory is None:
        return Served(_by_name(built.files()) if isinstance(workload, Replay) else built.files())
    directory = Path(workload.directory)
    _open_to_all(directory)
    if isinstance(workload, Replay):
        _holds(directory, built.files())
    else:
        _is_set(directory, workload, built, set_seed(experiment))
    return Served([], directory)


def by_path(experiment: Experiment) -> dict[str, int]:
    """Sizes of the files of ``experiment`` by the path of a request, without a query; of several for one the largest.

    Raises:
        InputError: the log cannot be read.
    """
    workload = experiment.workload
    if isinstance(workload, Single):
        return {path.partition("?")[0]: _core.parse_bytes(size) for path, size in single_files(workload)}
    sizes: dict[str, int] = {}
    for target, size in build(experiment).files():
        path = target.partition("?")[0]
        sizes[path] = max(size, sizes.get(path, 0))
    return sizes


def single_files(workload: Single) -> list[tuple[str, str]]:
    """Path and size of each file of a list."""
    options = workload.options()
    return [(file["path"], file["size"]) for file in options.get("files", [options])]


def set_seed(experiment: Experiment) -> int:
    """The seed of the file set: the workload's, or that of the experiment."""
    own: int | None = getattr(experiment.workload, "seed", None)
    return experiment.seed if own is None else own


def build(experiment: Experiment) -> _core.FileSet:
    """The files of a workload that is no list, in their order.

    Raises:
        InputError: an option is not possible, or the log cannot be read or makes no sense.
    """
    with _told():
        return _core.build_files(*_asked(experiment))


def check_log(experiment: Experiment) -> None:
    """Reads the log that is replayed, if there is one.

    Raises:
        InputError: it cannot be read or makes no sense.
    """
    if isinstance(experiment.workload, Replay):
        site_of(experiment)


def _asked(experiment: Experiment) -> tuple[str, int]:
    """The options of the set, and its seed, on which a log does not depend."""
    options = experiment.workload.options()
    asked = {name: value for name, value in options.items() if name not in ("deal", "seed")}
    return json.dumps(asked), 0 if isinstance(experiment.workload, Replay) else set_seed(experiment)


@contextmanager
def _told() -> Iterator[None]:
    """Turns what the engine says of a workload into an `InputError`."""
    try:
        yield
    except _core.OptionError as error:
        raise InputError.at(f"workload.{error.field}", error.message) from None


def site_of(experiment: Experiment) -> Site:
    """What there is to ask for: the number of files and their bytes, and of a log what became of its lines.

    Raises:
        InputError: an option is not possible, or the log cannot be read or makes no sense.
    """
    workload = experiment.workload
    if isinstance(workload, Single):
        sizes = [_core.parse_bytes(size) for _, size in single_files(workload)]
        return Site(files=len(sizes), bytes=sum(sizes))
    with _told():
        files, total, told = _measured(*_asked(experiment))
    return Site(files=files, bytes=total, log=None if told is None else LogReading.model_validate_json(told))


@lru_cache(maxsize=64)
def _measured(options: str, seed: int) -> tuple[int, int, str | None]:
    """Number and bytes of the files of a workload, and the reading of its log. The points of a sweep share them."""
    built = _core.build_files(options, seed)
    files = built.files()
    return len(files), sum(size for _, size in files), built.reading()


def file_of(target: str) -> str:
    """The file with which a server answers a request: without its query, and ``index.html`` for a directory."""
    path = unquote(target.partition("?")[0])
    return path + "index.html" if path.endswith("/") else path


def _by_name(targets: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The files behind ``targets``: of several for one file the largest.

    Raises:
        InputError: a file would have to be a directory, too.
    """
    sizes: dict[str, int] = {}
    for target, size in targets:
        name = file_of(target)
        sizes[name] = max(size, sizes.get(name, 0))
    for name in sizes:
        for above in Path(name).parents:
            if str(above) in sizes:
                message = f"asks for {above} and for {name}, which cannot both be files; give workload.directory"
                raise InputError.at("workload.log", message)
    return list(sizes.items())


def _holds(directory: Path, targets: Iterable[tuple[str, int]]) -> None:
    """Makes sure that a directory has every file that is asked for.

    Raises:
        InputError: with one problem for each file that it does not have, up to ten.
    """
    names = dict.fromkeys(file_of(target) for target, _ in targets)
    missing = [name for name in names if not (directory / name.lstrip("/")).is_file()]
    problems = [
        Problem("workload.directory", f"{directory} has no {name}, which the log asks for") for name in missing[:_SHOWN]
    ]
    if len(missing) > _SHOWN:
        rest = f"{directory} lacks {len(missing) - _SHOWN:,d} more files of {len(names):,d} that the log asks for"
        problems.append(Problem("workload.directory", rest))
    if problems:
        raise InputError(problems)


def _open_to_all(directory: Path) -> None:
    """Makes sure that a server which has given up its rights can read a directory.

    Raises:
        InputError: it cannot be read by others, and may not be.
    """
    try:
        mode = directory.stat().st_mode
    except OSError as error:
        raise InputError.at("workload.directory", f"cannot be read: {error.strerror}", str(directory)) from None
    if not stat.S_ISDIR(mode):
        raise InputError.at("workload.directory", "is no directory", str(directory))
    if os.geteuid() == 0 and mode & 0o005 != 0o005:
        message = "the server runs as nobody, who may not read it: chmod o+rx"
        raise InputError.at("workload.directory", message, str(directory))


def _is_set(directory: Path, workload: Surge | Prowgen, built: _core.FileSet, seed: int) -> None:
    """Makes sure that a directory holds the set that the workload means, file by file.

    Raises:
        InputError: it holds another set, or its files do not match its manifest.
    """
    manifest = verify(directory)
    if manifest.kind != workload.kind:
        message = f"{directory} holds a set of kind {manifest.kind}, and the workload is {workload.kind}"
        raise InputError.at("workload.directory", message)
    if manifest.seed != seed:
        message = f"{directory} holds the set with seed {manifest.seed}; give workload.seed = {manifest.seed}"
        raise InputError.at("workload.directory", message)
    # Pauses and the order of requests may differ.
    if [(entry.path, entry.size, entry.part) for entry in manifest.entries] == [entry[:3] for entry in built.entries()]:
        return
    parameters: dict[str, Any] = json.loads(built.parameters() or "{}")
    others = (f"{name} = {_toml(theirs)}" for name, theirs in manifest.parameters.items() if theirs != parameters[name])
    message = f"{directory} holds another set than the workload means, with {', '.join(others)}"
    raise InputError.at("workload.directory", message)


def _toml(value: Any) -> str:
    return json.dumps(value)
