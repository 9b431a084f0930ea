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
    """Version of the format of the results."""
    created: str
    """Start of the first run: UTC, ISO 8601."""
    name: str
    """Name of the experiment."""
    mode: str
    """live or sim."""
    seed: int
    """Seed of all random choices."""
    experiment: dict[str, Any]
    """Content of the experiment file, with every default filled in."""
    settings: dict[str, list[str]]
    """Which parts of [server] this mode used, and which it did not."""
    scenario: dict[str, Any]
    """Input of the engine for the first run; other runs differ in ``run``. Each rate trace has its SHA-256, its number
    of opportunities and its length in place of its text, and each link that follows one has its mean rate."""
    server: dict[str, Any]
    """The server under test: name, version, command, configuration text; in simulation its model."""
    testbed: dict[str, Any]
    """Device, kernel settings, CPUs and labels of a live run; empty in simulation."""
    machine: dict[str, Any]
    """The machine: its processor, number of CPUs, kernel, memory and settings."""
    versions: dict[str, str]
    """Versions of WASP, Python, the kernel and the libraries that made the results, and the build profile of the
    engine."""
    valid: bool
    """Whether the result is valid."""
    invalid_reasons: list[Reason]
    """Reasons why the result is not valid; empty if it is valid."""
    interrupted: bool
    """Whether the experiment ended before all runs were complete."""
    varied: dict[str, Any] = Field(default_factory=dict)
    """Values of the swept fields, by path; empty without a sweep."""
    site: Site | None = None
    """Files that the clients could ask for: their number and their bytes."""
    lengths: FoundLengths | None = None
    """How WASP found the lengths of warm-up and measured interval, if the experiment leaves them open (``auto``)."""
    runs: list[RunSummary]
    """Summary of each run."""
    tables: list[str]
    """Tables in the directory: a directory for each, with one Parquet file for each run."""


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
