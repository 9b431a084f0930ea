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
    """When a client aborts a request, as a person does who leaves a page. The first condition that is met counts. The
    client then resets the connection."""

    after: PositiveDuration | None = None
    """Time after the start of the request; less than timeout."""
    bytes: PositiveSize | None = None
    """Number of bytes of the body after which the client aborts, even if the body is complete with them."""

    @model_validator(mode="after")
    def _given(self) -> Abort:
        if self.after is None and self.bytes is None:
            raise FieldError("after", "missing; give after, bytes or both")
        return self


class Http(Part):
    """How clients use HTTP."""

    version: Version = "1.1"
    """HTTP version of the requests. With 1.0, clients that keep connections send Connection: keep-alive."""
    requests_per_connection: PositiveCount | None = None
    """Number of requests on a connection before it is closed; the last request asks the server to close it. 1 opens a
    connection for each request. Unless set, clients keep their connections."""
    connections: Annotated[int, Field(ge=1, le=8)] = 1
    """Number of parallel connections of a client. A client asks for the base file of a page first, then for its
    embedded files in their order, each on the next free connection."""
    pipeline: Annotated[int, Field(ge=1, le=64)] = 1
    """Maximum number of requests on a connection whose responses are outstanding. A client pauses once before each
    page, or before each batch of requests that it sends together."""
    method: Literal["GET", "HEAD", "POST"] = "GET"
    """Method of all requests."""
    conditional: bool = False
    """Whether requests carry If-None-Match: * (RFC 9110 section 13.1.2). A server then answers 304, without a body, for
    a file that exists. A server that ignores the condition answers 200."""
    body: PositiveSize | None = None
    """Size of the body of a POST."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Header fields that clients send in addition to their own."""
    timeout: PositiveDuration = "60s"
    """Time after which a client gives up a request."""
    next_after: Literal["response", "close"] = "response"
    """When a client may send its next request. response: after the response is complete. close: after both sides have
    closed the connection, too, if the connection is not kept. Connections are kept unless requests_per_connection or
    the server ends them."""
    abort: Abort | None = None
    """When a client aborts a request; never unless set."""
    read_rate: Rate | None = None
    """Rate at which a client reads data that have arrived; at once unless set. A small tcp.receive_buffer makes it a
    slow client, whose receive window is closed most of the time."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        return self.model_dump()
