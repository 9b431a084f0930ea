"""How the lengths of warm-up and measured interval were found that an experiment left open (``auto``)."""

from __future__ import annotations

from pydantic import Field

from waspbench.experiment.units import duration
from waspbench.results.formats import Record


class PilotGroup(Record):
    """The figures of a group of clients in a pilot; a mean's error is half the width of its 99 % interval over it."""

    name: str
    """Name of the group."""
    throughput: float
    """``ok`` transactions a second."""
    throughput_error: float | None
    """Its relative error, by batch means; None where nothing ended."""
    mean_ms: float | None
    """Mean response time of the ``ok`` transactions; None without any."""
    mean_error: float | None
    """Its relative error; None likewise."""


class Want(Record):
    """What a pilot was too short for."""

    code: str
    """That of the reason, or ``few`` where too few transactions ended."""
    warmup_s: float | None = None
    """Seconds of the warm-up that would do; None to leave it."""
    duration_s: float | None = None
    """Seconds of the measured interval likewise. Where both are None nothing is known of them."""


class Pilot(Record):
    """A run that is in no figure, made to find lengths."""

    warmup_s: float
    """Seconds of its warm-up."""
    duration_s: float
    """Seconds of its measured interval."""
    groups: list[PilotGroup]
    """Those that are no background."""
    wants: list[Want] = Field(default_factory=list)
    """What it was too short for; empty if it was long enough."""
    hopeless: str | None = None
    """Why no lengths would do, in words."""

    @property
    def length_s(self) -> float:
        """Seconds of both."""
        return self.warmup_s + self.duration_s


class FoundLengths(Record):
    """The lengths that were found, and how."""

    warmup_s: float | None
    """Seconds of the warm-up; None where the experiment says it."""
    duration_s: float | None
    """Seconds of the measured interval; None likewise."""
    why: str | None
    """Why no lengths would do, so that the search ended; None if two pilots agreed."""
    pilots: list[Pilot] = Field(min_length=1)
    """All that were made, in their order."""

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
