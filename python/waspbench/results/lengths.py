"""How the lengths of warm-up and measured interval were found that an experiment left open (``auto``)."""

from __future__ import annotations

from pydantic import Field

from waspbench.experiment.units import duration
from waspbench.results.formats import Record


class PilotGroup(Record):
    """Figures of a group of clients in a pilot run. The error of a mean is half the width of its 99 % interval,
    relative to the mean."""

    name: str
    """Name of the group."""
    throughput: float
    """``ok`` transactions a second."""
    throughput_error: float | None
    """Relative error of throughput, by batch means; None if no transaction ended."""
    mean_ms: float | None
    """Mean response time of ``ok`` transactions; None without any."""
    mean_error: float | None
    """Relative error of the mean response time; None without any."""


class Want(Record):
    """A reason why a pilot run was too short."""

    code: str
    """Code of the reason, or ``few`` if too few transactions ended."""
    warmup_s: float | None = None
    """Length of the warm-up, in seconds, that would be long enough; None if it can stay."""
    duration_s: float | None = None
    """Length of the measured interval, in seconds, that would be long enough; None if it can stay. If both are None,
    the lengths that would be enough are not known."""


class Pilot(Record):
    """A pilot run, which finds lengths and is in no figure."""

    warmup_s: float
    """Length of its warm-up in seconds."""
    duration_s: float
    """Length of its measured interval in seconds."""
    groups: list[PilotGroup]
    """Figures of each group of clients but background groups."""
    wants: list[Want] = Field(default_factory=list)
    """Reasons why the pilot run was too short; empty if it was long enough."""
    hopeless: str | None = None
    """Why no length would be enough, in words."""

    @property
    def length_s(self) -> float:
        """Seconds of both."""
        return self.warmup_s + self.duration_s


class FoundLengths(Record):
    """The lengths that were found, and how."""

    warmup_s: float | None
    """Length of the warm-up in seconds; None if the experiment sets it."""
    duration_s: float | None
    """Length of the measured interval in seconds; None if the experiment sets it."""
    why: str | None
    """Why the search ended without lengths that are enough; None if two pilot runs agreed."""
    pilots: list[Pilot] = Field(min_length=1)
    """All pilot runs, in their order."""

    @property
    def pilots_s(self) -> float:
        """Seconds of all pilots together, warm-ups included."""
        return sum(pilot.length_s for pilot in self.pilots)

    @property
    def measure(self) -> dict[str, str]:
        """Fields of ``measure`` in place of ``auto``."""
        found = {"warmup": self.warmup_s, "duration": self.duration_s}
        return {field: duration(seconds) for field, seconds in found.items() if seconds is not None}

    @property
    def text(self) -> str:
        """In words."""
        fields, made = " and ".join(self.measure), spent(self.pilots)
        if self.why is None:
            return f"{fields} found by {made}; a run twice as long agreed"
        return f"{fields} auto ended after {made}, because no length helps: {self.why}"


def spent(pilots: list[Pilot]) -> str:
    """How many they are, and how long together, in words."""
    many = "s" if len(pilots) > 1 else ""
    return f"{len(pilots)} pilot run{many} of {rounded(sum(pilot.length_s for pilot in pilots))} in all"


def rounded(seconds: float) -> str:
    """A length of time for people: 45s, 33min."""
    return f"{seconds:.0f}s" if seconds < 120 else f"{seconds / 60:.0f}min"
