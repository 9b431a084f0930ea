"""Where groups of clients are: what a network that is no star fills in for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from waspbench.errors import Problem
from waspbench.experiment.network import MOST_SUBNETWORKS

ALL = "all"
"""In the place of a router of a backbone: a group of this size at each of them."""


def placed(document: Any, default_name: str) -> Any:
    """``document`` with what follows from the kind of its network. Where it is no star, an access link takes no time
    unless the group says so; and a group at all routers of a backbone is one at each, named ``homes-r1`` and so on. A
    group without a name has the ``default_name``.
    """
    return _expanded(document, default_name)[0]


def as_written(problems: Iterable[Problem], document: Any, default_name: str) -> list[Problem]:
    """Problems of the ``placed`` document; those of a group at all routers once, by the path of the group that the
    document has.
    """
    origins = _expanded(document, default_name)[1]
    found: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        where = problem.where
        for made, origin in origins.items():
            own = f"clients.{made}."
            if where.startswith(own):
                where = ".".join(part for part in ("clients", origin, where.removeprefix(own)) if part)
        found.setdefault((where, problem.message), replace(problem, where=where))
    return list(found.values())


def _expanded(document: Any, default_name: str) -> tuple[Any, dict[str, str]]:
    """The document as it is `placed`, and of each group that was made the name of the group that it was made of, which
    is empty where it has none.
    """
    if not isinstance(document, Mapping):
        return document, {}
    kind, routers = (_field(document.get("network"), name) for name in ("kind", "subnetworks"))
    groups = document.get("clients")
    if kind not in ("backbone", "graph") or not isinstance(groups, list):
        return document, {}
    count = routers if kind == "backbone" and type(routers) is int and 1 <= routers <= MOST_SUBNETWORKS else 0
    made = [each for group in groups for each in _placed(group, count, default_name)]
    origins = {group["name"]: origin for group, origin in made if origin is not None}
    return {**document, "clients": [group for group, _ in made]}, origins


def _field(table: Any, name: str) -> Any:
    return table.get(name) if isinstance(table, Mapping) else getattr(table, name, None)


def _placed(group: Any, routers: int, default_name: str) -> Iterator[tuple[Any, str | None]]:
    """What stands for a group, and of a group that is made the name of its own."""
    if isinstance(group, BaseModel):
        group = group.model_dump(exclude_unset=True, by_alias=True)
    if not isinstance(group, dict):
        yield group, None
        return
    near = group if "rtt" in group or "profile" in group else {**group, "rtt": "0ms"}
    name = near.get("name", default_name)
    if near.get("at") != ALL or not routers or not isinstance(name, str):
        yield near, None
        return
    for number in range(1, routers + 1):
        yield {**near, "name": f"{name}-r{number}", "at": f"r{number}"}, near.get("name", "")
