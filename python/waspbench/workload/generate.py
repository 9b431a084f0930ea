"""Writes a file set: content that does not compress, the same bytes for the same options and seed."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from waspbench import _core
from waspbench.errors import Argument, CannotRunError, InputError
from waspbench.experiment.load import apply
from waspbench.experiment.workload import start_from_preset
from waspbench.workload import fileset
from waspbench.workload.fileset import Entry, Manifest

_PIECE = 1 << 20


def complete(kind: str, options: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """``options`` with each setting ``path=value`` on top.

    A path into a table that is not given starts from the preset's table.

    Raises:
        InputError: a setting is no ``path=value``, or leads into something that is no table.
    """
    settings = list(settings)
    completed: dict[str, Any] = {"kind": kind, **copy.deepcopy(dict(options))}
    for setting in settings:
        table, dot, _ = setting.partition("=")[0].strip().partition(".")
        if dot:
            start_from_preset(completed, table)
    del completed["kind"]
    return apply(completed, settings)


def generate(directory: Path, kind: str, options: Mapping[str, Any], seed: int) -> Manifest:
    """Writes the set that belongs to ``options`` and ``seed`` into the new or empty ``directory``.

    The manifest comes last, so that a set whose writing was interrupted has none.

    Raises:
        InputError: the options are not possible, or the directory is not empty.
        CannotRunError: the files cannot be written.
    """
    given = {name: value for name, value in options.items() if value is not None}
    built = _build({"kind": kind, **given}, seed)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise InputError.at(str(directory), "is not empty; name a new directory")
        entries = [
            Entry(path=path, size=size, part=part, references=references, sha256=_write(directory, path, size, content))
            for (path, size, part, references), content in zip(built.entries(), _contents(built), strict=False)
        ]
        manifest = Manifest(
            format=fileset.FORMAT,
            wasp=_core.version(),
            kind="surge" if kind == "surge" else "prowgen",
            seed=seed,
            options=given,
            parameters=json.loads(built.parameters() or "{}"),
            bytes=sum(entry.size for entry in entries),
            entries=entries,
        )
        fileset.save(manifest, directory)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError.at(str(error.filename or directory), "is no directory") from None
    except OSError as error:
        raise CannotRunError(f"{error.filename or directory}: cannot be written: {error.strerror}") from None
    return manifest


def _build(workload: Mapping[str, Any], seed: int) -> _core.FileSet:
    try:
        return _core.build_files(json.dumps(workload), seed)
    except _core.OptionError as error:
        raise InputError.at(Argument(f"options.{error.field}"), error.message) from None
    except OverflowError:
        raise InputError.at(Argument("seed"), "must be from 0 to 18446744073709551615", seed) from None


def _contents(built: _core.FileSet) -> Iterator[_core.FileContent]:
    return map(built.content, itertools.count())


def _write(directory: Path, path: str, size: int, content: _core.FileContent) -> str:
    """Writes one file and returns the SHA-256 of its content."""
    target = directory / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as file:
        for start in range(0, size, _PIECE):
            piece = content.read(min(_PIECE, size - start))
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()
