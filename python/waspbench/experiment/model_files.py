"""Files of server models: where an experiment names one, and what it holds."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from waspbench.errors import InputError
from waspbench.experiment.problems import problems_of
from waspbench.experiment.server_model import ModelValues, ServerModel, values_beside

if TYPE_CHECKING:
    from waspbench.experiment.model import Experiment

MOST = 1 << 20
"""Bytes of a model file; a longer one is taken for a mistake."""
FIELD = "server.model.file"
"""The field that names a model file."""


class ModelFile(ModelValues):
    """What a model file holds."""

    refused: ClassVar = {
        "file": "a model file cannot name another",
        "server": "leave out [server.model]: its fields stand alone here",
    }

    fit: dict[str, Any] | None = None
    """Notes, such as what the costs were fitted on. The model does not depend on them."""


def used(experiments: Iterable[Experiment]) -> list[str]:
    """The paths of the model files of some experiments."""
    files = (experiment.server.model.file for experiment in experiments)
    return list(dict.fromkeys(file for file in files if file is not None))


def text_of(content: bytes, path: str) -> str:
    """The text of a model file with this content.

    Raises:
        InputError: it is no model.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError.at(FIELD, f"{path}: is not a UTF-8 text file") from None
    model_of(text, path)
    return text


def model_of(text: str, path: str) -> ModelFile:
    """The model in a file with this text.

    Raises:
        InputError: it is none.
    """
    kind, parse = ("JSON", json.loads) if path.endswith(".json") else ("TOML", tomllib.loads)
    try:
        content = parse(text)
    except (ValueError, RecursionError) as error:
        raise InputError.at(FIELD, f"{path}: not valid {kind}: {error}") from None
    if not isinstance(content, dict):
        raise InputError.at(FIELD, f"{path}: must be a table with fields of server.model, such as per_request")
    try:
        return ModelFile.model_validate(content)
    except ValidationError as error:
        problems = problems_of(error, content, ModelFile)
        raise InputError.at(FIELD, f"{path}: {'; '.join(map(str, problems))}") from None


def filled_in(model: ServerModel, texts: Mapping[str, str]) -> ModelValues:
    """``model`` with what its file says, if it has one. ``texts`` are those of files by their paths."""
    if model.file is None:
        return model
    of_file = model_of(texts[model.file], model.file)
    return ModelValues(preset=of_file.preset, **values_beside(of_file.given, model.given) | model.given)


def located(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``document``, which is the content of an experiment file in ``folder``, with the paths of model files as they are
    from the current directory.
    """
    made = {part: _located(part, value, folder) for part, value in document.items()}
    if isinstance(made.get("sweep"), dict):
        made["sweep"] = _in_sweep(made["sweep"], folder)
    return made


def _located(field: str, value: Any, folder: Path) -> Any:
    """The value of ``field``; of a table that may have the path of a model file, with the new path."""
    if field == FIELD and isinstance(value, str) and value:
        return os.path.normpath(folder / value)
    if field in ("server", "server.model") and isinstance(value, dict):
        return {name: _located(f"{field}.{name}", inner, folder) for name, inner in value.items()}
    return value


def _in_sweep(sweep: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, values in sweep.items():
        if field == "zip":
            tables = values if isinstance(values, list) else [values]
            found[field] = [_in_sweep(table, folder) if isinstance(table, dict) else table for table in tables]
        elif isinstance(values, list):
            found[field] = [_located(field, value, folder) for value in values]
        else:
            found[field] = values
    return found
