"""Files that an experiment names: where they are, what they hold, and whether they are still the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from waspbench.errors import InputError
from waspbench.experiment import model_files, request_files, trace_files
from waspbench.experiment.model import Experiment


@dataclass(frozen=True)
class Inputs:
    """Contents of files by their paths."""

    traces: Mapping[str, str]
    """Rate traces."""
    files: Mapping[str, bytes]
    """What named requests use."""
    models: Mapping[str, str]
    """Models of the server."""


def digests(found: Mapping[str, str] | Mapping[str, bytes]) -> dict[str, str]:
    """The SHA-256 of each of these contents, by its path."""
    return {path: _digest(content) for path, content in found.items()}


def contents(experiments: Iterable[Experiment], folder: Path | None = None) -> Inputs:
    """The contents of every file that some experiments name, whose paths are relative to ``folder`` (by default the
    current directory).

    Raises:
        InputError: one cannot be read, or is not what it must be.
    """
    return _read(list(experiments), folder or Path(), {})


def unchanged_contents(
    experiments: Iterable[Experiment], known: Mapping[str, str], folder: Path, models: Mapping[str, str] | None = None
) -> Inputs:
    """The same as `contents`, if each content is still the one with the SHA-256 that is ``known`` of its path. Model
    files whose texts are given as ``models`` are not read again.

    Raises:
        InputError: one is another, or cannot be read.
    """
    return _read(list(experiments), folder, known, models)


def of_one(experiment: Experiment, known: Inputs | None) -> Inputs:
    """What one experiment names: of what is ``known``, if anything is; otherwise its files are read.

    Raises:
        InputError: one cannot be read, or is not what it must be.
    """
    if known is None:
        return contents([experiment])
    files = request_files.contents([experiment], lambda path, _: known.files[path])
    traces = {path: known.traces[path] for path in trace_files.used([experiment])}
    return Inputs(traces, files, {path: known.models[path] for path in model_files.used([experiment])})


def described(scenario: dict[str, Any]) -> dict[str, Any]:
    """``scenario`` as results keep it: without the contents of files."""
    return request_files.described(trace_files.described(scenario))


def located(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``document``, which is the content of an experiment file in ``folder``, with the paths of files as they are from
    the current directory.
    """
    found = model_files.located(trace_files.located(document, folder), folder)
    found = {part: _with_folder(value, folder) for part, value in found.items()}
    if isinstance(found.get("sweep"), dict):
        found["sweep"] = _in_sweep(found["sweep"], folder)
    return found


def _with_folder(value: Any, folder: Path) -> Any:
    """The same with the folder of every workload of named requests."""
    if isinstance(value, list):
        return [_with_folder(inner, folder) for inner in value]
    if not isinstance(value, dict):
        return value
    # What may have any keys is left alone.
    inner = {key: each if key in ("requests", "http") else _with_folder(each, folder) for key, each in value.items()}
    if inner.get("kind") != "requests" or inner.get("folder") == "":
        return inner
    there = _joined(folder, inner.pop("folder", ""))
    return inner if there == "." else {**inner, "folder": there}


def _in_sweep(sweep: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The same of swept folders."""
    found: dict[str, Any] = {}
    for path, values in sweep.items():
        if path == "zip" and isinstance(values, list):
            found[path] = [_in_sweep(table, folder) if isinstance(table, dict) else table for table in values]
        elif path.endswith("workload.folder") and isinstance(values, list):
            found[path] = [_joined(folder, value) for value in values]
        else:
            found[path] = values
    return found


def _joined(folder: Path, value: Any) -> Any:
    return os.path.normpath(folder / value) if isinstance(value, str) else value


def _read(
    experiments: list[Experiment], folder: Path, known: Mapping[str, str], models: Mapping[str, str] | None = None
) -> Inputs:
    traces: dict[str, str] = {}
    of_trace = partial(_bytes, folder, known, "rate trace", trace_files.MOST)
    for path, asking in trace_files.used(experiments).items():
        traces[path] = trace_files.text_of(of_trace(path, asking), path, asking)
    files = request_files.contents(experiments, partial(_bytes, folder, known, "file", request_files.MOST))
    if models is None:
        of_model = partial(_bytes, folder, known, "model file", model_files.MOST, field=model_files.FIELD)
        models = {path: model_files.text_of(of_model(path), path) for path in model_files.used(experiments)}
    return Inputs(traces, files, models)


def _bytes(folder: Path, known: Mapping[str, str], what: str, most: int, path: str, field: str) -> bytes:
    """The content of a file at ``path``, which ``field`` names.

    Raises:
        InputError: it cannot be read, is too long, or is another than is known.
    """
    there = folder / path
    try:
        size, is_file = there.stat().st_size, there.is_file()
        content = there.read_bytes() if is_file and size <= most else b""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        file, _, number = path.rpartition(":")
        if what == "file" and (folder / file).is_file():
            message = f"{number} is no field of {file}; the number of a field would be valid, such as {file}:2"
            raise InputError.at(field, message) from None
        raise InputError.at(field, f"{path}: cannot be read: {why}; the path of a {what} would be valid") from None
    if not is_file and what == "model file" and (there / "model.json").is_file():
        raise InputError.at(field, f"{path}: is a directory; its file {path.rstrip('/')}/model.json would be valid")
    if not is_file:
        raise InputError.at(field, f"{path}: is no regular file; the path of a {what} would be valid")
    if size > most:
        raise InputError.at(field, f"{path}: has {size:,d} bytes; a {what} may have at most {most:,d}")
    if _digest(content) != known.get(path, _digest(content)):
        message = (
            f"{path}: the file has changed since these results were begun; the file with the SHA-256 {known[path]} "
            "would be valid, or new results"
        )
        raise InputError.at(field, message)
    return content


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
