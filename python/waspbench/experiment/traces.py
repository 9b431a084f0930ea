"""Rate traces of links: recorded rates in Mahimahi's format, in the place of a constant rate.

The crate ``wasp-net`` has what a trace means (``crates/net/src/impairment/rate_trace.rs``), and
`waspbench.experiment.trace_files` reads the files.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from waspbench import _core
from waspbench.experiment.base import Part
from waspbench.experiment.units import PositiveSize, Size

RANDOM = "random"


def _start(value: Any) -> Any:
    if value != RANDOM:
        try:
            _core.parse_duration(value)
        except (TypeError, ValueError):
            raise ValueError('must be a time in the trace such as "10s", or random') from None
    return value


Start = Annotated[
    str,
    BeforeValidator(_start),
    WithJsonSchema({"type": "string", "format": "duration, or random", "examples": ["10s", RANDOM]}),
]
_Path = Annotated[str, Field(min_length=1)]


class RateTrace(Part):
    """A recorded rate, in the format of Mahimahi's mm-link (Netravali et al., USENIX ATC 2015). Each line of the file
    is a time in milliseconds at which the link may send a packet of 1,500 bytes, or several shorter ones. The last line
    is the length of the trace."""

    file: _Path
    """Path of the trace. In an experiment file it is relative to the directory of that file."""
    repeat: bool = True
    """Whether the trace begins again at its end. If false, it must be as long as warm-up and measured interval."""
    start: Start = RANDOM
    """Time in the trace at which the run starts, with the warm-up. random: any time of the trace, drawn anew for each
    run and each link; both directions of a link start at the same time. If repeat is false, the default is 0ms."""
    opportunity: PositiveSize = "1504B"
    """Number of bytes that the link may send at each time, at most 65535B. The default is that of Mahimahi's code."""
    overhead: Size = "4B"
    """Number of bytes that each packet needs beyond those of IP; less than opportunity. The default is that of
    Mahimahi's code, in which a packet of 1,500 bytes needs 1,504."""

    @model_validator(mode="before")
    @classmethod
    def _once_from_the_beginning(cls, data: Any) -> Any:
        is_once = isinstance(data, dict) and data.get("repeat") is False
        return {"start": "0ms", **data} if is_once else data


def written_out(value: Any) -> Any:
    """A path as a table; anything else as it is."""
    return {"file": value} if isinstance(value, str) else value


def _named(value: Any) -> Any:
    if isinstance(value, (dict, Part)) or (isinstance(value, str) and value):
        return written_out(value)
    raise ValueError('must be the path of a rate trace such as "lte.down", or a table with that path as file')


TraceOption = Annotated[RateTrace, BeforeValidator(_named, json_schema_input_type=_Path | RateTrace)]
"""A rate trace: the path of its file, or a table."""
