"""The searches for lengths of a study's points, and the pilots that they have on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from waspbench.errors import InputError, RunFailedError, WaspError
from waspbench.experiment import Experiment
from waspbench.experiment.resolve import FIRST_DURATION, duration_of, warmup_of
from waspbench.experiment.sweep import Point
from waspbench.experiment.units import AUTO, duration, seconds
from waspbench.results.lengths import FoundLengths, Pilot
from waspbench.results.records import records_of, write_text
from waspbench.runner.lengths import LengthSearch, PilotLengths

LENGTHS = "lengths.json"
"""The pilots of a point whose lengths are to be found; from them a search goes on where it was."""

FIRST_PILOT = 1_000_000
"""Number of the first pilot as a run: pilots draw otherwise than any run that is measured."""


class Searches:
    """Those of all points whose lengths are to be found; ``directory_of`` says where the results of a point are."""

    def __init__(self, directory_of: Callable[[int], Path]) -> None:
        self._directory_of = directory_of
        self._by_point: dict[int, LengthSearch] = {}
        self._disturbed: dict[int, Pilot] = {}

    def open(self, point: Point) -> LengthSearch | None:
        """The search for a point's lengths as far as it has come; None where the experiment says both.

        Raises:
            InputError: its pilots cannot be read, or runs were made without any.
        """
        fields = _fields(point.experiment)
        if not fields:
            return None
        search = self._by_point[point.index] = LengthSearch(fields, _first(point.experiment, fields))
        directory = self._directory_of(point.index)
        for pilot in _read_pilots(directory / LENGTHS):
            search.tell(pilot)
        if search.found is None and any(record.summary for record in records_of(directory)):
            raise InputError.at(str(directory / LENGTHS), "is not what the runs here were made with; begin anew")
        return search

    def fields(self, index: int) -> tuple[str, ...]:
        """Fields of ``measure`` that are to be found for a point."""
        search = self._by_point.get(index)
        return () if search is None else search.fields

    def pilot(self, index: int) -> tuple[int, PilotLengths]:
        """The number of a point's next pilot, from 0, and its lengths."""
        search = self._by_point[index]
        return len(search.pilots), search.next

    def measure(self, index: int, pilot: PilotLengths | None = None) -> dict[str, str]:
        """What to put in place of fields of ``measure``: for a pilot, or for the runs of a point."""
        if pilot is None:
            found = self.found(index)
            return {} if found is None else found.measure
        own = {"warmup": duration(pilot.warmup)} if "warmup" in self.fields(index) else {}
        return own | {"duration": duration(pilot.duration)}

    def found(self, index: int) -> FoundLengths | None:
        """How a point's lengths were found; None while they are not."""
        search = self._by_point.get(index)
        return None if search is None else search.found

    def keep(self, index: int, pilot: Pilot | None) -> None:
        """Keeps what a pilot said that is made again, because the machine disturbed it."""
        if pilot is not None:
            self._disturbed[index] = pilot

    def tell(self, index: int, pilot: Pilot | None, error: WaspError | None) -> RunFailedError | None:
        """What a pilot said, or why it failed; returns why the point has no lengths, if that is certain."""
        search = self._by_point[index]
        before = self._disturbed.pop(index, None)
        said = pilot or before
        if said is None:
            return _failed(len(search.pilots) + 1, error)
        search.tell(said)
        pilots = [each.model_dump() for each in search.pilots]
        write_text(self._directory_of(index) / LENGTHS, json.dumps({"pilots": pilots}, indent=2) + "\n")
        return self.given_up(index)

    def given_up(self, index: int) -> RunFailedError | None:
        """Why no lengths were found for a point, where its search has ended without any."""
        why = self._by_point[index].given_up
        return None if why is None else RunFailedError(why)

    def is_over(self, index: int) -> bool:
        """Whether no other pilot of a point is to be made."""
        return self._by_point[index].over


def _failed(pilot: int, error: WaspError | None) -> RunFailedError:
    """The failure of a pilot by its number, from 1."""
    if isinstance(error, RunFailedError):
        return RunFailedError(f"pilot run {pilot}: {error.message}", field=error.field)
    return RunFailedError(f"pilot run {pilot}: {error or 'failed'}")


def _fields(experiment: Experiment) -> tuple[str, ...]:
    return tuple(field for field in ("warmup", "duration") if getattr(experiment.measure, field) == AUTO)


def _first(experiment: Experiment, fields: tuple[str, ...]) -> PilotLengths:
    """Lengths of the first pilot; the interval of pilots for a warm-up is their own."""
    interval = duration_of(experiment) if "duration" in fields else FIRST_DURATION
    return PilotLengths(seconds(warmup_of(experiment)), seconds(interval))


def _read_pilots(path: Path) -> list[Pilot]:
    """The pilots that were made for a point before."""
    try:
        return [Pilot.model_validate(pilot) for pilot in json.loads(path.read_text(encoding="utf-8"))["pilots"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError.at(str(path), "no valid pilots; remove the file, and they are made again") from None
