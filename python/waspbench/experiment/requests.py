"""Named requests: what clients ask an application for, and what they expect of its answers.

The engine checks what a field means by itself and beside the others (`waspbench._core.check_scenario`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field

from waspbench.experiment.base import TAG, Part, Tag
from waspbench.experiment.dealt import Dealt
from waspbench.experiment.units import PositiveSize, Size


def _name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", value):
        raise ValueError("must be from 1 to 64 letters, digits, '-' and '_'")
    return value


RequestName = Annotated[
    str,
    AfterValidator(_name),
    Field(json_schema_extra={"pattern": "^[A-Za-z0-9_-]+$", "minLength": 1, "maxLength": 64}),
]
RequestMethod = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


def _statuses(value: Any) -> Any:
    """A list of texts, of one status or several, each a number or a text."""
    found = value if isinstance(value, list) else [value]
    if any(isinstance(each, bool) or not isinstance(each, int | str) for each in found):
        raise ValueError("must be a status such as 201, a class such as 2xx, or a list of both")
    return [str(each) for each in found]


def _condition(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError('must be a condition such as ">= 10" or "< 1MiB"')
    return value


class Expect(Part):
    """What the response to a request must be. A complete response that is something else has the outcome wrong, which
    is an error."""

    status: (
        Annotated[
            list[str],
            BeforeValidator(_statuses, json_schema_input_type=int | str | list[int | str]),
            Field(min_length=1),
        ]
        | None
    ) = None
    """Expected status codes, such as 201 or [200, "3xx"]. Unless set, a status of 400 or above is an http_error, and
    any other status is expected."""
    contains: str | None = None
    """Text of at most 1,024 bytes that the body must have in it. The answer to a HEAD has no body."""
    length: Annotated[str, BeforeValidator(_condition, json_schema_input_type=str)] | None = None
    """Condition on the number of bytes of the body, such as ">= 10" or "< 1MiB"."""


class SizedBody(Part):
    """A body of bytes without meaning."""

    size: PositiveSize
    """Number of bytes."""


def _form(body: Any) -> str | None:
    if isinstance(body, str):
        return f"{TAG}text"
    return f"{TAG}size" if isinstance(body, (dict, SizedBody)) else None


Body = Annotated[
    Annotated[str, Tag("text")] | Annotated[SizedBody, Tag("size")],
    Discriminator(
        _form,
        custom_error_type="body",
        custom_error_message='must be a text, or a table with a size, such as { size = "2MiB" }',
    ),
]
"""A text, or a table with a size."""


class Request(Part):
    """A request with a name."""

    name: RequestName
    """Name of the request in results: letters, digits, - and _."""
    method: RequestMethod = "GET"
    """Method of the request."""
    path: Annotated[str, Field(min_length=1)]
    """Path of the request, with its query if it has one: it begins with a slash."""
    weight: Annotated[float, Field(ge=0, le=1_000_000)] = 1.0
    """How often clients make the request, in proportion to the weights of the others."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Header fields of the request. They replace fields of the same name in http.headers of the group."""
    body: Body | None = None
    """Body of a POST, PUT, PATCH or DELETE: a text of at most 1MiB, or { size = "2MiB" } for an upload whose content
    does not matter."""
    expect: Expect = Field(default_factory=Expect)
    """What the response must be."""
    size: Size | None = None
    """Size of the answer of the simulated and of the built-in server. Unless set, it is 1KiB, or as close to that as
    expect allows. Other servers answer as they do."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        told = self.model_dump(exclude_none=True)
        if self.body is not None:
            told["body"] = {"text": self.body} if isinstance(self.body, str) else {"size": self.body.size}
        return told


class Requests(Dealt):
    """Named requests, as an application needs them: any method, path, header fields and body. Each request of a client
    is one of them, drawn at random by weight."""

    refused: ClassVar[dict[str, str]] = {
        "size": 'belongs to kind = "single"; each request can have a size, that of the answer in a simulation',
        "path": "each request has a path of its own",
    }

    kind: Literal["requests"]
    """Selects this workload."""
    requests: Annotated[list[Request], Field(min_length=1, max_length=1000)]
    """The requests."""

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        return {"kind": self.kind, "deal": self.deal, "requests": [request.resolve() for request in self.requests]}
