"""What is to be said of the figures of named requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waspbench.results.few import LEAST, lacking, named, notes_of_parts
from waspbench.results.named_requests import NamedRequest
from waspbench.results.parts import RequestKey
from waspbench.results.sessions import Sessions


def notes_of_requests(
    found: Mapping[RequestKey, NamedRequest | Sessions], ok: int, percentiles: Sequence[str]
) -> list[str]:
    """Which response times of the requests in ``found`` are left out for lack of ``ok`` transactions, beside those of
    all clients, who had so many.
    """
    if not ok:
        return []
    requests = {key.said: figures for key, figures in found.items() if isinstance(figures, NamedRequest)}
    counts = {name: request.outcomes.get("ok", 0) for name, request in requests.items()}
    begun = [name for name, request in requests.items() if any(request.outcomes.values())]
    few = [name for name in begun if counts[name] < LEAST and requests[name].response_time_ms.mean is None]
    notes = [f"{named('request', few)}: fewer than {LEAST} ok transactions, whose response times are left out"]
    return notes * bool(few) + notes_of_parts("request", counts, percentiles, lacking(percentiles, ok))
