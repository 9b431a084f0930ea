"""How clients use HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from waspbench.experiment.base import Part, one_of
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.tcp import PositiveCount
from waspbench.experiment.units import PositiveDuration, PositiveSize, Rate


def _as_text(value: Any) -> Any:
    """A version as TOML has it without quotes."""
    return str(value) if isinstance(value, float) else value


Version = Annotated[
    Literal["1.0", "1.1"], BeforeValidator(one_of("1.0", "1.1", later=("2", "3"))), BeforeValidator(_as_text)
]


class Abort(Part):
    """When a client gives a request up by itself; whichever comes first. Its connection is reset."""

    after: PositiveDuration | None = None
    """So long after its start; less than timeout."""
    bytes: PositiveSize | None = None
    """When so many bytes of the body have come, even if they are all."""

    @model_validator(mode="after")
    def _given(self) -> Abort:
        if self.after is None and self.bytes is None:
            raise FieldError("after", "missing; give after, bytes or both")
        return self


class Http(Part):
    """How clients use HTTP."""

    version: Version = "1.1"
    """The version that clients speak: 1.1, or 1.0 with keep-alive where connections are to be kept."""
    requests_per_connection: PositiveCount | None = None
    """Requests before a connection is closed; kept for ever unless set, 1 is a connection for each request."""
    connections: Annotated[int, Field(ge=1, le=8)] = 1
    """Parallel connections of a client. A page's base file comes first, then its embedded files in their order, each on
    the next free connection."""
    pipeline: Annotated[int, Field(ge=1, le=64)] = 1
    """Requests on a connection that wait for their responses. Requests that leave together share the pause before them:
    clients think once for each page or batch."""
    method: Literal["GET", "HEAD", "POST"] = "GET"
    """The method of every request."""
    conditional: bool = False
    """Whether requests ask for nothing but a 304 if the file exists (If-None-Match: *, RFC 9110 section 13.1.2). A
    server that does not know the condition answers 200."""
    body: PositiveSize | None = None
    """Size of the body of a POST."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Header fields beside the client's own."""
    timeout: PositiveDuration = "60s"
    """Time after which a client gives a request up."""
    next_after: Literal["response", "close"] = "response"
    """When the next request may start: when the response is whole, or when, besides, a connection that is not kept has
    been closed by both sides. Connections are kept unless requests_per_connection or the server says otherwise."""
    abort: Abort | None = None
    """When a client gives a request up by itself; never unless set."""
    read_rate: Rate | None = None
    """How fast the client reads what has arrived; at once unless set. With a small tcp.receive_buffer it is a slow
    client, whose window is closed most of the time."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        return self.model_dump()
