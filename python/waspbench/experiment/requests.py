"""Named requests: what clients ask an application for, and what they expect of its answers.

The engine checks what a field means by itself and beside the others (`waspbench._core.check_scenario`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, model_validator

from waspbench.experiment.base import TAG, Part, Tag
from waspbench.experiment.dealt import Dealt
from waspbench.experiment.delay import Delay
from waspbench.experiment.field_error import FieldError
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


class BodyTable(Part):
    """A body that is a file, a text as it stands, or bytes without meaning."""

    file: Annotated[str, Field(min_length=1)] | None = None
    """Path of a file with the body. It may have up to 16MiB of any bytes."""
    text: str | None = None
    """Text of at most 1MiB."""
    size: PositiveSize | None = None
    """Number of bytes without meaning, for an upload whose content does not matter."""
    template: bool = False
    """Whether placeholders in the file or text are replaced. A file must then be text in UTF-8. Otherwise the body is
    sent as it is."""

    @model_validator(mode="after")
    def _one(self) -> BodyTable:
        given = [name for name in ("file", "text", "size") if getattr(self, name) is not None]
        if not given:
            raise FieldError("file", "missing; give file, text or size")
        if len(given) > 1:
            raise FieldError(given[1], f"contradicts {given[0]}; give one of the two", getattr(self, given[1]))
        if self.size is not None and self.template:
            raise FieldError("template", "is for a file or a text; leave it out", self.template)
        return self

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        if self.file is not None:
            return {"file": {"name": self.file, "template": self.template}}
        if self.text is not None:
            return {"text" if self.template else "plain": self.text}
        return {"size": self.size}


def _form(body: Any) -> str | None:
    if isinstance(body, str):
        return f"{TAG}text"
    return f"{TAG}table" if isinstance(body, (dict, BodyTable)) else None


Body = Annotated[
    Annotated[str, Tag("text")] | Annotated[BodyTable, Tag("table")],
    Discriminator(
        _form,
        custom_error_type="body",
        custom_error_message=(
            'must be a text, or a table with a file or a size, such as { file = "order.json" } or { size = "2MiB" }'
        ),
    ),
]
"""A text, which is a template, or a table."""


class Capture(Part):
    """A value of at most 4,096 bytes that a session takes from a response, for placeholders of the steps behind it:
    either header, or after and before."""

    header: Annotated[str, Field(min_length=1)] | None = None
    """Name of the header field that has the value. If the response has several of this name, it is the first."""
    after: Annotated[str, Field(min_length=1)] | None = None
    """Text of at most 256 bytes that stands in the body before the value. The first place with this text counts."""
    before: Annotated[str, Field(min_length=1)] | None = None
    """Text of at most 256 bytes that stands in the body behind the value."""


class Request(Part):
    """A request with a name. Its path, its header fields and its body may have placeholders. Values take the place of
    these, which differ from request to request: {client}, {request}, {uuid}, {int:1-100}, {line:users.csv},
    {line:users.csv:2}, {client:users.csv} and {client:users.csv:2}. In a session, {NAME} is a captured value."""

    name: RequestName
    """Name of the request in results: letters, digits, - and _."""
    method: RequestMethod = "GET"
    """Method of the request."""
    path: Annotated[str, Field(min_length=1)]
    """Path of the request, with its query if it has one: it begins with a slash, with a line of a file that has paths
    or URLs, such as {line:urls.txt}, or with a captured value."""
    weight: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    """How often clients make the request, in proportion to the weights of the others: 1 unless set. It belongs to order
    = "weights"."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Header fields of the request. They replace fields of the same name in http.headers of the group."""
    body: Body | None = None
    """Body of a POST, PUT, PATCH or DELETE: a text of at most 1MiB, which may have placeholders, or a table such as
    { file = "order.json" }, { text = "{client}" } for a text without placeholders, or { size = "2MiB" } for an upload
    whose content does not matter. All bodies of a workload together have at most 64MiB."""
    expect: Expect = Field(default_factory=Expect)
    """What the response must be."""
    size: Size | None = None
    """Size of the answer of the simulated and of the built-in server. Unless set, it is 1KiB, or as close to that as
    expect allows. Other servers answer as they do."""
    capture: dict[str, Capture] = Field(default_factory=dict)
    """Values that are taken from the response, by the names of their placeholders. A response without one of them has
    the outcome wrong. It belongs to order = "session", as do think and once."""
    think: Delay | None = None
    """Pause after the step, before the next one. The pause between two sessions is think of the group; after the last
    step both pass."""
    once: bool = False
    """Whether only the first session of a client has the step, such as one to sign in. These steps come before all
    others. If one of them fails, the next session has them again."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        left_out = {name for name in ("capture", "once") if not getattr(self, name)}
        told = self.model_dump(exclude_none=True, exclude=left_out)
        if self.body is not None:
            told["body"] = {"text": self.body} if isinstance(self.body, str) else self.body.resolve()
        return told


class Requests(Dealt):
    """Named requests, as an application needs them: any method, path, header fields and body. Each request of a client
    is one of them, drawn at random by weight, or they are the steps of a session."""

    refused: ClassVar[dict[str, str]] = {
        "size": 'belongs to kind = "single"; each request can have a size, that of the answer in a simulation',
        "path": "each request has a path of its own",
    }

    kind: Literal["requests"]
    """Selects this workload."""
    folder: Annotated[str, Field(min_length=1)] | None = None
    """Folder of the files that the requests name, relative to the experiment file. Unless set, it is the folder of that
    file."""
    order: Literal["weights", "session"] = "weights"
    """Which request a client makes next. weights: any of them, drawn at random by weight. session: all of them in their
    order, each when the response to the one before is complete and its pause is over; then the next session begins. A
    step that is not ok ends its session."""
    cookies: bool = False
    """Whether each client keeps the cookies that responses set, and sends them with its requests."""
    requests: Annotated[list[Request], Field(min_length=1, max_length=1000)]
    """The requests. Those of a session are its steps, in this order."""

    def path_of(self, file: str) -> str:
        """The path of a file that a request names, as the engine is told it."""
        return file if self.folder is None or file.startswith("/") else f"{self.folder}/{file}"

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        return {
            "kind": self.kind,
            "deal": self.deal,
            **({} if self.folder is None else {"folder": self.folder}),
            "order": self.order,
            "cookies": self.cookies,
            "requests": [request.resolve() for request in self.requests],
        }
