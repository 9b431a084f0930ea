"""Checks a file set against its manifest, and its manifest against what was intended."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ConfigDict

from waspbench import _core
from waspbench.documented import Documented
from waspbench.errors import InputError, Problem
from waspbench.workload import fileset
from waspbench.workload.fileset import Entry, Manifest

_SHOWN = 10
"""Problems that are told; of more only the number."""


class _Part(Documented):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Compared(_Part):
    """A distribution as generated and as intended."""

    name: str
    """Quantity whose distribution it is."""
    unit: str
    """Unit: B or s; empty for numbers."""
    samples: int
    """Number of values."""
    distance: float | None
    """Kolmogorov-Smirnov distance between the two distributions; null if no distribution is intended."""
    limit: float | None
    """Largest distance at which the distribution is as intended."""
    reason: str
    """Where that limit comes from."""
    median: float
    """Median of the generated values."""
    intended_median: float | None
    """Median of the intended distribution; null if no distribution is intended."""
    mean: float
    """Mean of the generated values."""
    intended_mean: float | None
    """Mean of the intended distribution; null if no distribution is intended."""
    points: list[tuple[float, float, float | None]]
    """Points of the distribution: value, share of the generated values above it, and the intended share."""

    @property
    def as_intended(self) -> bool:
        """Whether the distance is within its limit; true where nothing is intended."""
        return self.distance is None or self.limit is None or self.distance <= self.limit


class Popularity(_Part):
    """How often each file is requested."""

    slope: float | None
    """Slope on logarithmic axes; null with fewer than two files."""
    intended_slope: float
    """Slope that is intended."""
    ranks: tuple[int, int]
    """First and last rank of the fit."""
    tolerance: float
    """Largest difference from the intended slope at which the slope is as intended."""
    points: list[tuple[int, int]]
    """Rank and number of requests."""


class Examination(_Part):
    """A file set, and one pass through the sequence of its requests."""

    files: int
    """Number of files."""
    bytes: int
    """Size of all files together, in bytes."""
    pages: int
    """Number of pages that are requested in one pass."""
    requests: int
    """Number of requests for files in one pass."""
    requested_bytes: int
    """Bytes that are requested in one pass."""
    never_requested: int
    """Number of embedded files that are in no page."""
    overdrawn: int
    """Number of requests for embedded files beyond those of their popularity."""
    distributions: list[Compared]
    """The distributions, compared with the intended ones."""
    popularity: Popularity
    """How often each file is requested."""


def verify(directory: Path) -> Manifest:
    """The manifest in ``directory``, when the files there are those that it lists and that its options and seed give.

    Raises:
        InputError: there is no manifest, or with one problem for each file that differs, up to ten.
    """
    manifest = fileset.load(directory)
    if not _is_generated(manifest):
        message = f"does not list what its options and seed give; it was changed, or made by WASP {manifest.wasp}"
        raise InputError.at(str(directory / fileset.MANIFEST), message)
    problems = list(_differences(directory, manifest.entries))
    if len(problems) > _SHOWN:
        rest = Problem(str(directory), f"{len(problems) - _SHOWN} more files do not match the manifest")
        problems = [*problems[:_SHOWN], rest]
    if problems:
        raise InputError(problems)
    return manifest


def examine(manifest: Manifest, run: int = 0) -> Examination:
    """What was generated beside what was intended, with the order of requests of run ``run``."""
    return Examination.model_validate_json(_build(manifest).examine(run))


def _build(manifest: Manifest) -> _core.FileSet:
    try:
        return _core.build_files(manifest.workload(), manifest.seed)
    except (ValueError, OverflowError) as error:
        raise InputError.at(fileset.MANIFEST, f"holds options that are not possible: {error}") from None


def _is_generated(manifest: Manifest) -> bool:
    listed = [(entry.path, entry.size, entry.part, entry.references) for entry in manifest.entries]
    return listed == _build(manifest).entries() and manifest.bytes == sum(entry.size for entry in manifest.entries)


def _differences(directory: Path, entries: list[Entry]) -> Iterator[Problem]:
    for entry in entries:
        path = directory / entry.path.lstrip("/")
        try:
            size = path.stat().st_size
            if size != entry.size:
                yield Problem(str(path), f"has {size} bytes; the manifest says {entry.size}")
            elif _sha256(path) != entry.sha256:
                yield Problem(str(path), "has other content than the manifest says")
        except FileNotFoundError:
            yield Problem(str(path), "is not there; the manifest lists it")
        except OSError as error:
            yield Problem(str(path), f"cannot be read: {error.strerror}")
    known = {entry.path.lstrip("/") for entry in entries} | {fileset.MANIFEST}
    for folder, _, names in sorted(os.walk(directory)):
        for name in sorted(names):
            path = Path(folder, name)
            if path.relative_to(directory).as_posix() not in known:
                yield Problem(str(path), "is not in the manifest")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
