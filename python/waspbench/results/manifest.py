"""The manifest of a results directory: what was measured, on what, and whether to trust it."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pydantic import Field

from waspbench import _core
from waspbench.results.formats import FORMAT, Record, read_document
from waspbench.results.lengths import FoundLengths
from waspbench.results.reasons import Reason
from waspbench.results.result import Site
from waspbench.results.summary import RunSummary


class Manifest(Record):
    """``manifest.json``."""

    format: int = FORMAT
    created: str
    """Start of the first run: UTC, ISO 8601."""
    name: str
    mode: str
    seed: int
    experiment: dict[str, Any]
    """The experiment file's content, every default filled in."""
    settings: dict[str, list[str]]
    """Which parts of [server] were used in this mode, and which were not."""
    scenario: dict[str, Any]
    """What the engine was told for the first run; the others differ in ``run``."""
    server: dict[str, Any]
    """The server under test: name, version, command, configuration text."""
    testbed: dict[str, Any]
    """Device, kernel settings, CPUs and labels of a live run; empty in simulation."""
    machine: dict[str, Any]
    versions: dict[str, str]
    valid: bool
    invalid_reasons: list[Reason]
    interrupted: bool
    varied: dict[str, Any] = Field(default_factory=dict)
    """Values of the fields that a sweep varies, by path; empty without one."""
    site: Site | None = None
    """What there was to ask for: number of files and bytes."""
    lengths: FoundLengths | None = None
    """How the lengths of warm-up and interval were found, where the experiment leaves them open."""
    runs: list[RunSummary]
    tables: list[str]
    """Tables beside the manifest: a directory each, with one Parquet file a run."""


def read_manifest(text: str, where: str) -> Manifest:
    """The manifest in ``text``, which was found at ``where``.

    Raises:
        InputError: it is none, or of a newer format.
    """
    return read_document(Manifest, text, where, "manifest")


def now() -> str:
    """The present: UTC, to the second, ISO 8601. It dates results; nothing may be measured with it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - a date is what is asked for


def versions() -> dict[str, str]:
    """Versions of what made and wrote the results. ``profile`` is how the engine was built: a profile of Cargo.toml."""
    found = {
        "waspbench": _core.version(),
        "profile": _core.profile(),
        "python": platform.python_version(),
        "kernel": os.uname().release,
    }
    for package in ("polars", "numpy", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
