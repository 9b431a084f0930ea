"""The manifest of a file set: what was generated, how, and what is in each file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, ValidationError

from waspbench.documented import Documented
from waspbench.errors import InputError

MANIFEST = "wasp-files.json"
"""Name of the manifest in the directory of the files."""

FORMAT = 1
"""Version of the manifest's format. A newer one is refused."""


class _Part(Documented):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Entry(_Part):
    """One file."""

    path: str
    """Path of the file from the directory of the set; with a leading slash, as in a request."""
    size: int
    """Size of the file in bytes."""
    part: Literal["base", "embedded", "loner"]
    """Part of the file in pages: base, embedded or loner."""
    references: int
    """Number of requests for the file in one pass, by its popularity."""
    sha256: str
    """SHA-256 of its content, in hexadecimal."""


class Manifest(_Part):
    """What a file set was made from, and what it consists of."""

    format: int
    """Version of this format."""
    wasp: str
    """Version of WASP that wrote the set."""
    kind: Literal["surge", "prowgen"]
    """The generator: surge or prowgen."""
    seed: int
    """Seed of the set."""
    options: dict[str, Any]
    """The options that were given, and the preset."""
    parameters: dict[str, Any]
    """All parameters, those of the preset included."""
    bytes: int
    """Size of all files together, in bytes."""
    entries: list[Entry]
    """The files."""

    def workload(self) -> str:
        """The workload as the engine takes it."""
        return json.dumps({"kind": self.kind, **self.options})


def load(directory: Path) -> Manifest:
    """The manifest in ``directory``.

    Raises:
        InputError: there is none, it cannot be read, or it is of a newer format.
    """
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        message = "is not there: no file set, or one whose writing was interrupted"
        raise InputError.at(str(path), message) from None
    except OSError as error:
        raise InputError.at(str(path), f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError.at(str(path), "is no JSON") from None
    version = content.get("format") if isinstance(content, dict) else None
    if isinstance(version, int) and version > FORMAT:
        message = f"has format {version}, newer than this version of WASP reads ({FORMAT})"
        raise InputError.at(str(path), message)
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError.at(str(path), f"is no manifest of a file set: {where}: {first['msg']}") from None


def save(manifest: Manifest, directory: Path) -> None:
    """Writes the manifest into ``directory``: the same bytes for the same set."""
    entries = ",\n".join(json.dumps(entry.model_dump()) for entry in manifest.entries)
    head = json.dumps(manifest.model_dump(exclude={"entries"}), indent=1)[:-2]
    (directory / MANIFEST).write_text(f'{head},\n "entries": [\n{entries}\n]}}\n')
