"""What a figure or a line of a table may be of: all clients or a group of them, and there all requests, those of one
name, or whole sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from waspbench.experiment.metrics import Metric
from waspbench.results.groups import Group
from waspbench.results.named_requests import NamedRequest
from waspbench.results.sessions import Sessions
from waspbench.results.summary import RunGroup, RunRequest, RunSessions, RunSummary
from waspbench.stats import Histogram, Populations

if TYPE_CHECKING:
    from waspbench.results.result import Result

WHOLE_SESSIONS = "whole sessions"
"""What the line of whole sessions has for the name of a request; no request can have this name."""


@dataclass(frozen=True)
class RequestKey:
    """A named request, or whole sessions, of a group or of all clients."""

    group: str | None
    """Name of the group; None for all clients, background groups left out."""
    request: str | None
    """Name of the request; None for whole sessions."""

    @property
    def said(self) -> str:
        """What notes call it."""
        name = WHOLE_SESSIONS if self.request is None else self.request
        return name if self.group is None else f"{name} of {self.group}"

    def metric(self, of: Metric) -> Metric:
        """A figure of this part."""
        return replace(of, group=self.group, request=self.request, sessions=self.request is None)


def requests_and_sessions(
    requests: Sequence[NamedRequest], sessions: Sessions | None, groups: Sequence[Group]
) -> dict[RequestKey, NamedRequest | Sessions]:
    """What the table by request has lines of: each request of all clients, and their whole sessions if they make some;
    or, if several groups have named requests, those of each group, after those of all clients of a name that several
    groups have.
    """
    named = [group for group in groups if group.requests]
    if len(named) == 1 and not named[0].background:
        return own_parts(None, requests, sessions)
    measured = [request.name for group in named if not group.background for request in group.requests]
    several = sum(group.sessions is not None and not group.background for group in named) > 1
    shared = [request for request in requests if measured.count(request.name) > 1]
    found = own_parts(None, shared, sessions if several else None)
    for group in named:
        found |= own_parts(group.name, group.requests, group.sessions)
    return found


def own_parts(
    group: str | None, requests: Iterable[NamedRequest], sessions: Sessions | None
) -> dict[RequestKey, NamedRequest | Sessions]:
    """The requests and the sessions of a group, or of all clients."""
    found: dict[RequestKey, NamedRequest | Sessions] = {
        RequestKey(group, request.name): request for request in requests
    }
    return found if sessions is None else {**found, RequestKey(group, None): sessions}


def measured_parts(
    requests: Sequence[NamedRequest], sessions: Sessions | None, groups: Sequence[Group]
) -> dict[RequestKey, NamedRequest | Sessions]:
    """Those of them that no background group has."""
    aside = {group.name for group in groups if group.background}
    found = requests_and_sessions(requests, sessions, groups)
    return {key: figures for key, figures in found.items() if key.group not in aside}


def part_of_run(run: RunSummary, metric: Metric) -> RunSummary | RunGroup | RunRequest | RunSessions | None:
    """What a figure of a run is of; None where the results do not tell."""
    part = run if metric.group is None else _called(metric.group, run.by_group or ())
    if part is None or metric.sessions:
        return part and part.sessions
    return part if metric.request is None else _called(metric.request, part.requests or ())


def part_of(result: Result, metric: Metric) -> Result | Group | NamedRequest | Sessions | None:
    """What a figure of a result is of; None where it does not tell."""
    part = result if metric.group is None else _called(metric.group, result.groups)
    if part is None or metric.sessions:
        return part and part.sessions
    return part if metric.request is None else _called(metric.request, part.requests)


def times_of(run: RunSummary, of: Metric, populations: Populations) -> Histogram:
    """The response times (nanoseconds) of a run that a figure is one of; ``populations`` are those of the run."""
    if of.group is not None:
        populations = populations.of_group([group.name for group in run.by_group or []].index(of.group))
    if of.request is not None:
        populations = populations.of_request(of.request)
    elif of.sessions:
        populations = populations.of_sessions()
    return populations.all if of.all else populations.ok


Called = TypeVar("Called", RunGroup, RunRequest, Group, NamedRequest)


def _called(name: str, parts: Iterable[Called]) -> Called | None:
    return next((part for part in parts if part.name == name), None)
