"""What a search for capacity found: ``DIR/capacity.json``, beside the results of every run that it made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from waspbench.errors import InputError
from waspbench.results.formats import FORMAT, Record, read_document

CAPACITY = "capacity.json"

SATURATED = 0.95
"""Busy share of the server's CPUs from which it counts as saturated."""

LINK_FULL = 0.90
"""Share of the shared link's rate in bodies alone from which that link counts as full."""

EXCUSED = frozenset({"server_queue"})
"""Reasons against a run that saturation excuses: a server at its limit turns connections away. All others stand."""

Bottleneck = Literal["server", "emulator", "network", "clients", "unknown"]


class LoadReading(Record):
    """One run of a search."""

    run: int
    """Number of the run: the order in which they were made."""
    load: int
    """Clients in all, those of background groups left out."""
    throughput: float
    goodput_bps: float = 0.0
    """Bits of bodies a second, those of background groups included."""
    interval_s: float | None = None
    """Length of the measured interval in seconds: longer than the file's where that was too short."""
    server_cpu: float | None
    """Busy share of the server's CPUs, without what other programs took of them."""
    meets: bool
    """Whether it met the objective."""
    counts: bool
    """Whether it did not fail and the emulator left the server its say."""
    failed: bool = False
    """Whether it did not come to its end, or had too many errors at a load that is too much for the server."""
    outcomes: dict[str, int] | None = None
    """Transactions by outcome; None if it did not come to its end, and in results of older versions."""
    statuses: dict[str, int] | None = None
    """Whole responses by status code; None likewise."""
    confirming: bool
    valid: bool | None
    """Whether nothing speaks against it but what saturation excuses (``server_queue``); None in results of older
    versions.
    """
    attempts: int = 1
    """How often it was tried."""
    notes: list[str] = Field(default_factory=list)
    """Why it failed, is not valid, or did not meet the objective; errors above 1 %, and what may help."""

    @property
    def unmade(self) -> bool:
        """Whether it did not come to its end, so that it has no figures here."""
        return self.failed and self.outcomes is None


class PointCapacity(Record):
    """The capacity at one point of a sweep."""

    index: int
    varied: dict[str, Any]
    capacity: float | None
    """The largest throughput, in ok transactions a second; None if no load counted and met the objective."""
    ci90: tuple[float, float] | None
    """Student-t interval over the runs at that load."""
    load: int | None
    """Clients at which it was found."""
    server_cpu: float | None
    """Busy share of the server's CPUs there, without what other programs took of them."""
    saturated: bool | None
    """Whether that is at least 95 %."""
    bottleneck: Bottleneck
    """What set the limit."""
    why: str
    """The same in words."""
    confirmed: bool
    """Whether fresh runs at that load all counted and met the objective; a sweep makes none."""
    valid: bool | None
    """Whether it was found, confirmed where the method confirms, and every run that makes it up is valid; None in
    results of older versions.
    """
    runs: int
    """Runs made."""
    readings: list[LoadReading]

    @property
    def behind(self) -> list[LoadReading]:
        """The runs from which the capacity follows."""
        return [] if self.load is None else readings_at(self.readings, self.load)


def readings_at(readings: Sequence[LoadReading], load: int) -> list[LoadReading]:
    """The runs at a load that tell its throughput: of those that counted and met the objective the ones that
    confirmed it, or else all.
    """
    found = [reading for reading in readings if reading.load == load and reading.counts and reading.meets]
    return [reading for reading in found if reading.confirming] or found


class CapacityResult(Record):
    """``capacity.json``, and what ``wasp capacity --json`` prints."""

    format: int = FORMAT
    name: str
    mode: str
    seed: int
    method: str
    """search or sweep."""
    objectives: list[str]
    results: str | None = None
    complete: bool
    valid: bool
    """Whether it is complete and every point's capacity is valid."""
    points: list[PointCapacity]

    def to_json(self) -> str:
        """The result as one JSON object."""
        return self.model_dump_json(indent=2)


def load_capacity(path: str | Path) -> CapacityResult:
    """The result in the directory at ``path``.

    Raises:
        InputError: there is none, or it is not valid or newer than this version.
    """
    file = Path(path) / CAPACITY
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError.at(str(file), f"cannot be read: {error.strerror}") from None
    found = read_document(CapacityResult, text, str(file), "capacity")
    return found.model_copy(update={"results": str(path)})
