"""What a server must have for a workload: files of the same paths and sizes, or a directory that holds them."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

from waspbench import _core
from waspbench.errors import InputError, Problem
from waspbench.experiment import Experiment, Mode, Prowgen, Replay, Requests, Server, Surge
from waspbench.experiment.resolve import resolve_workload
from waspbench.experiment.uses import Use, uses
from waspbench.results.result import GroupSite, LogReading, Site
from waspbench.serve import Answer
from waspbench.workload.check import verify

_SHOWN = 10
"""Missing files that are named; of more only the number."""


@dataclass(frozen=True)
class Served:
    """What a server is to have."""

    files: list[tuple[str, int]]
    """Path and size of each file that is to be made."""
    directories: dict[str, tuple[Path, str]] = field(default_factory=dict)
    """Directories to serve as they are, by the path of the server at which each is (``/homes``, or nothing for the
    top), with the field that asks for it.
    """


def served(experiment: Experiment) -> Served:
    """What the server of ``experiment`` needs.

    Raises:
        InputError: a log cannot be read, a directory does not hold what is asked for, or two workloads ask for what
            cannot both be there.
    """
    made: list[tuple[Use, list[tuple[str, int]]]] = []
    directories: dict[str, tuple[Path, Use]] = {}
    for use, top, files in _by_use(experiment):
        if use.directory is None:
            made.append((use, _by_name(files) if isinstance(use.workload, Replay) else files))
            continue
        _check_directory(use.directory, use, files)
        there, _ = directories.setdefault(top, (use.directory, use))
        if there.resolve() != use.directory.resolve():
            message = f"the server has one directory at its top, and another workload gives {there}; leave one out"
            raise InputError.at(f"{use.field}.directory", message, str(use.directory))
    sizes, users = _merged(made)
    _check_names(users)
    for top, (_, use) in directories.items():
        beside = next((path for path in sizes if path == top or path.startswith(f"{top}/")), None)
        if beside is None and not top and len(directories) > 1:
            beside = "those of another directory"
        if beside is not None:
            where = top or "at the top of the server"
            message = f"the files of this directory are {where}, where clients ask for others, too ({beside})"
            raise InputError.at(f"{use.field}.directory", f"{message}; leave the directory out")
    shown = {top: (directory, f"{use.field}.directory") for top, (directory, use) in directories.items()}
    return Served(list(sizes.items()), shown)


def by_path(experiment: Experiment) -> dict[str, int]:
    """Sizes of the files of ``experiment`` by the path of a request, without a query; of several for one the largest.

    Raises:
        InputError: a log cannot be read, or two workloads contradict each other.
    """
    made = [
        (use, [(target.partition("?")[0], size) for target, size in files]) for use, _, files in _by_use(experiment)
    ]
    return _merged(made)[0]


def answers(experiment: Experiment) -> list[Answer]:
    """What the built-in server answers to the named requests of ``experiment``: what these expect.

    Raises:
        InputError: two of them expect what no answer can be.
    """
    sites, _ = _built(experiment)
    try:
        return sites.answers([use.field for use in uses(experiment)])
    except _core.OptionError as error:
        raise InputError.at(error.field, error.message) from None


def _by_use(experiment: Experiment) -> Iterator[tuple[Use, str, list[tuple[str, int]]]]:
    """Each workload of files that is used, where a server that is started for it has its files, and these."""
    sites, tops = _built(experiment)
    for number, (use, top) in enumerate(zip(uses(experiment), tops, strict=True)):
        if not isinstance(use.workload, Requests):
            yield use, top, sites.files(number)


def files_of(experiment: Experiment, number: int) -> list[tuple[str, int]]:
    """Target and size of each file of the workload with this ``number`` among those that are used, in their order.

    Raises:
        InputError: a log cannot be read, or two workloads contradict each other.
    """
    return _built(experiment)[0].files(number)


def check_sites(experiment: Experiment, mode: Mode) -> None:
    """Reads the logs that are replayed, and makes sure that the server can have the files of all workloads, and can
    answer their named requests.

    Raises:
        InputError: a log cannot be read or makes no sense, two workloads contradict each other, or the server has
            nothing but files.
    """
    found = uses(experiment)
    named = [use for use in found if isinstance(use.workload, Requests)]
    kind = experiment.server.kind
    if named and mode == "live" and kind in ("nginx", "apache"):
        message = (
            f"serves files, and {named[0].field} has named requests, which an application answers; give that by "
            "command or url, or take builtin, which answers as the requests expect"
        )
        raise InputError.at("server.kind", message, kind)
    if named and (mode == "sim" or kind == "builtin"):
        answers(experiment)
    if len(found) > 1 or any(isinstance(use.workload, Replay) for use in found):
        site_of(experiment, mode)


def site_of(experiment: Experiment, mode: Mode) -> Site:
    """What there is to ask for: the number of files and their bytes, and of a log what became of its lines. Where
    groups have workloads of their own, also what there is for each group.

    Raises:
        InputError: an option is not possible, a log cannot be read or makes no sense, or two workloads contradict each
            other.
    """
    found = uses(experiment)
    (files, total), each = _figures(tuple(_asked(use, experiment.server, mode) for use in found))
    sites = [
        GroupSite(files=count, bytes=size, log=None if told is None else LogReading.model_validate_json(told))
        for count, size, told in each
    ]
    if len(found) == 1 and found[0].group is None:
        return Site(files=files, bytes=total, log=sites[0].log)
    groups = {group.name: site for use, site in zip(found, sites, strict=True) for group in use.groups}
    return Site(files=files, bytes=total, groups={group.name: groups[group.name] for group in experiment.clients})


_Asked = tuple[str, str, int, str | None]
"""A workload as its files depend on it: where it stands, its options, its seed, and the group whose own it is."""


def _asked(use: Use, server: Server, mode: Mode) -> _Asked:
    options = resolve_workload(use.workload, server, mode)
    asked = {name: value for name, value in options.items() if name not in ("deal", "seed")}
    # A log does not depend on a seed.
    return use.field, json.dumps(asked), 0 if isinstance(use.workload, Replay) else use.seed, use.group


def _built(experiment: Experiment) -> tuple[_core.Sites, list[str]]:
    """The files of all workloads that are used, and where a server that is started for them has those of each."""
    # A command that is asked for a path of its own has this file by its size.
    return _build(_asked(use, experiment.server, "sim") for use in uses(experiment))


def _build(found: Iterable[_Asked]) -> tuple[_core.Sites, list[str]]:
    sites = _core.Sites()
    tops = []
    for where, options, seed, group in found:
        try:
            tops.append(sites.add(options, seed, group))
        except _core.OptionError as error:
            raise InputError.at(f"{where}.{error.field}".rstrip("."), error.message) from None
    return sites, tops


@lru_cache(maxsize=64)
def _figures(found: tuple[_Asked, ...]) -> tuple[tuple[int, int], list[tuple[int, int, str | None]]]:
    """Number and bytes of the files of the server, and of each workload, with the reading of its log. The points of a
    sweep share them.
    """
    sites, tops = _build(found)
    return sites.totals(), [sites.figures(number) for number in range(len(tops))]


def build(use: Use) -> _core.FileSet:
    """The set that a workload generates.

    Raises:
        ValueError: an option is not possible.
    """
    return _core.build_files(_asked(use, Server(), "sim")[1], use.seed)


def file_of(target: str) -> str:
    """The file with which a server answers a request: without its query, and ``index.html`` for a directory."""
    path = unquote(target.partition("?")[0])
    return path + "index.html" if path.endswith("/") else path


def _by_name(targets: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The files behind ``targets``: of several for one file the largest."""
    sizes: dict[str, int] = {}
    for target, size in targets:
        name = file_of(target)
        sizes[name] = max(size, sizes.get(name, 0))
    return list(sizes.items())


def _merged(made: Iterable[tuple[Use, list[tuple[str, int]]]]) -> tuple[dict[str, int], dict[str, Use]]:
    """Size and user of each file of several workloads. Different targets may have one file, which then has the largest
    of their sizes, if they are of one workload or of logs.

    Raises:
        InputError: two workloads need a file with different sizes.
    """
    sizes: dict[str, int] = {}
    users: dict[str, Use] = {}
    for use, files in made:
        is_log = isinstance(use.workload, Replay)
        for path, size in files:
            there, user = sizes.setdefault(path, size), users.setdefault(path, use)
            user_is_log = isinstance(user.workload, Replay)
            if there != size and user is not use and not (is_log and user_is_log):
                message = f"{path} has {size}B here and {there}B in another workload; another path would be valid"
                raise InputError.at(use.field, message)
            # A workload that is no log gives an exact size.
            sizes[path], users[path] = max(there, size), use if user_is_log else user
    return sizes, users


def _check_names(users: Mapping[str, Use]) -> None:
    """Makes sure that no file would have to be a directory, too.

    Raises:
        InputError: one would.
    """
    for name, use in users.items():
        for above in map(str, Path(name).parents):
            if above in users:
                _refuse_both(above, users[above], name, use)


def _refuse_both(above: str, owner: Use, name: str, use: Use) -> NoReturn:
    """A file ``above`` would have to be a directory, too, in which another is."""
    at = f"{use.field}.log" if isinstance(use.workload, Replay) else use.field
    if use is not owner:
        asks, valid = f"{name}, and another workload for {above}", "leave one of them out"
    else:
        valid = f"give {use.field}.directory" if isinstance(use.workload, Replay) else "give another path"
        asks = f"{above} and for {name}"
    raise InputError.at(at, f"asks for {asks}, which cannot both be files; {valid}")


def _check_directory(directory: Path, use: Use, files: Iterable[tuple[str, int]]) -> None:
    """Makes sure that a directory can be served, and has what its workload asks for.

    Raises:
        InputError: it cannot, or does not.
    """
    at = f"{use.field}.directory"
    _open_to_all(directory, at)
    if isinstance(use.workload, Replay):
        _holds(directory, files, at)
    elif isinstance(use.workload, (Surge, Prowgen)):
        _is_set(directory, use)


def _holds(directory: Path, targets: Iterable[tuple[str, int]], at: str) -> None:
    """Makes sure that a directory has every file that is asked for.

    Raises:
        InputError: with one problem for each file that it does not have, up to ten.
    """
    names = dict.fromkeys(file_of(target) for target, _ in targets)
    missing = [name for name in names if not (directory / name.lstrip("/")).is_file()]
    problems = [Problem(at, f"{directory} has no {name}, which the log asks for") for name in missing[:_SHOWN]]
    if len(missing) > _SHOWN:
        rest = f"{directory} lacks {len(missing) - _SHOWN:,d} more files of {len(names):,d} that the log asks for"
        problems.append(Problem(at, rest))
    if problems:
        raise InputError(problems)


def _open_to_all(directory: Path, at: str) -> None:
    """Makes sure that a server which has given up its rights can read a directory.

    Raises:
        InputError: it cannot be read by others, and may not be.
    """
    try:
        mode = directory.stat().st_mode
    except OSError as error:
        raise InputError.at(at, f"cannot be read: {error.strerror}", str(directory)) from None
    if not stat.S_ISDIR(mode):
        raise InputError.at(at, "is no directory", str(directory))
    if os.geteuid() == 0 and mode & 0o005 != 0o005:
        message = "the server runs as nobody, who may not read it: chmod o+rx"
        raise InputError.at(at, message, str(directory))


def _is_set(directory: Path, use: Use) -> None:
    """Makes sure that a directory holds the set that the workload means, file by file.

    Raises:
        InputError: it holds another set, or its files do not match its manifest.
    """
    at, kind = f"{use.field}.directory", use.workload.kind
    manifest = verify(directory)
    if manifest.kind != kind:
        message = f"{directory} holds a set of kind {manifest.kind}, and the workload is {kind}"
        raise InputError.at(at, message)
    if manifest.seed != use.seed:
        message = f"{directory} holds the set with seed {manifest.seed}; give {use.field}.seed = {manifest.seed}"
        raise InputError.at(at, message)
    built = build(use)
    # Pauses and the order of requests may differ.
    if [(entry.path, entry.size, entry.part) for entry in manifest.entries] == [entry[:3] for entry in built.entries()]:
        return
    parameters: dict[str, Any] = json.loads(built.parameters() or "{}")
    others = (f"{name} = {_toml(theirs)}" for name, theirs in manifest.parameters.items() if theirs != parameters[name])
    message = f"{directory} holds another set than the workload means, with {', '.join(others)}"
    raise InputError.at(at, message)


def _toml(value: Any) -> str:
    return json.dumps(value)
