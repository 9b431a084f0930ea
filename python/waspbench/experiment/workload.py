"""What the clients ask for: one file, a generated set with its popularity and order, or a log.

Sources of parameters: [98] Barford and Crovella, SIGMETRICS 1998; [99] the same, SIGMETRICS 1999; [B02] Busari and
Williamson 2002; [N01] Nahum et al. 2001; [S03] Simmonds et al. 2003. docs/workloads.md says more of each.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from waspbench import _core
from waspbench.experiment.base import Part, Tag, kinds
from waspbench.experiment.delay import Delay, Shape
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.units import PositiveSize, Probability, Size, UrlPath

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Slope = Annotated[float, Field(ge=0, le=5)]
FileCount = Annotated[int, Field(ge=1, le=1_000_000)]
Sigma = Annotated[float, Field(ge=0.001, le=20)]
Sampling = Literal["independent", "stratified"]


class _Dealt(Part):
    kind: str
    """Kind of workload."""
    deal: Literal["own", "modulo"] = "own"
    """How requests are dealt: each client has a stream of its own; or client c of n takes requests c, c + n, c + 2n...
    of the one sequence [S03]."""

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        return self.model_dump(exclude_none=True)


class WeightedFile(Part):
    """One of a list of files."""

    size: PositiveSize
    """Its size."""
    weight: Annotated[float, Field(ge=0, le=1_000_000)] = 1.0
    """How often it is asked for, in proportion to the others."""
    path: UrlPath | None = None
    """What is asked for; its number of bytes unless set."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        return {"path": self.path or path_of(self.size), "size": self.size, "weight": self.weight}


class Single(_Dealt):
    """One file, again and again [N01]; or a list of files, of which each request takes one at random by weight."""

    kind: Literal["single"] = "single"
    """Kind of workload."""
    size: PositiveSize | None = None
    """Size of the one file; 1KiB unless set."""
    files: Annotated[list[WeightedFile], Field(min_length=1)] | None = None
    """The files of a list."""

    @model_validator(mode="after")
    def _one_form(self) -> Single:
        if self.size is not None and self.files is not None:
            raise FieldError("size", "contradicts files; give one of the two", self.size)
        return self

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        if self.files is None:
            size = self.size or "1KiB"
            asked: dict[str, Any] = {"path": path_of(size), "size": size}
        else:
            asked = {"files": [file.resolve() for file in self.files]}
        return {"kind": self.kind, "deal": self.deal, **asked}


class _Generated(_Dealt):
    refused: ClassVar[dict[str, str]] = {"size": 'belongs to kind = "single"; these files have sizes of their own'}

    seed: Seed | None = None
    """Seed of the file set; that of the experiment unless set."""
    directory: str | None = None
    """A set that wasp files wrote with the same options and seed, for a live server to serve. Unless set, a managed
    server is given files of the same paths and sizes."""

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        return self.model_dump(exclude_none=True, exclude={"directory"})


class Tail(Part):
    """The heavy tail of sizes: Pareto."""

    fraction: Probability
    """Share of the files that belong to the tail."""
    shape: Shape
    """Tail index, alpha; above 0."""
    scale: PositiveSize
    """Least size of the tail, k, where the body is cut off."""


class Sizes(Part):
    """Sizes of files: a lognormal body and a Pareto tail [98]."""

    mu: Annotated[float, Field(ge=-10, le=30)]
    """Mean of the natural logarithm of the body's sizes in bytes."""
    sigma: Sigma
    """Standard deviation of that logarithm."""
    tail: Tail | None = None
    """The heavy tail; without one the body reaches up to the cap."""
    cap: PositiveSize
    """No file is larger."""


class Shares(Part):
    """Shares of the classes among the files; the rest are loners."""

    base: Probability
    """Files that have others embedded."""
    embedded: Probability
    """Files that are embedded in others."""


class RequestSizes(Part):
    """The distribution that the sizes of requests shall have: Pareto [98]."""

    shape: Shape
    """Tail index, alpha; above 0."""
    scale: PositiveSize
    """Least size, k."""
    cap: PositiveSize | None = None
    """Greatest size; the largest file unless set."""


Number = Annotated[int, Field(ge=0, le=10_000)]


class NoEmbedded(Part):
    """There are no pages: every file is asked for by itself."""

    model: Literal["none"]
    """The distribution."""


class ConstantEmbedded(Part):
    """The same number in every page."""

    model: Literal["constant"]
    """The distribution."""
    value: Number
    """That number."""


class ParetoEmbedded(Part):
    """The whole part of a Pareto number."""

    model: Literal["pareto"]
    """The distribution."""
    shape: Shape
    """Tail index, alpha; above 0."""
    scale: Shape
    """Least number, k."""
    cap: Number
    """No page has more; larger numbers are drawn again."""
    counts_base: bool = False
    """Whether the number counts the base file too, as in the released sources of SURGE."""


class GammaEmbedded(Part):
    """The whole part of a gamma number."""

    model: Literal["gamma"]
    """The distribution."""
    shape: Shape
    """Shape, kappa."""
    scale: Shape
    """Scale, theta."""
    cap: Number
    """No page has more; larger numbers are drawn again."""


Embedded = Annotated[
    Annotated[NoEmbedded, Tag("none")]
    | Annotated[ConstantEmbedded, Tag("constant")]
    | Annotated[ParetoEmbedded, Tag("pareto")]
    | Annotated[GammaEmbedded, Tag("gamma")],
    kinds("model", "none", "constant", "pareto", "gamma"),
]


class NoLocality(Part):
    """At random: no locality but that of popularity."""

    model: Literal["none"]
    """The order."""


class LognormalLocality(Part):
    """Lognormal distances in a stack of least recently used pages [98]."""

    model: Literal["lognormal"]
    """The order."""
    mu: Annotated[float, Field(ge=0, le=10)]
    """Mean of the natural logarithm of the distance."""
    sigma: Annotated[float, Field(ge=0.001, le=5)]
    """Standard deviation of that logarithm."""


Locality = Annotated[
    Annotated[NoLocality, Tag("none")] | Annotated[LognormalLocality, Tag("lognormal")],
    kinds("model", "none", "lognormal"),
]


class Surge(_Generated):
    """SURGE [98]: heavy-tailed files, Zipf popularity, pages with embedded files, temporal locality, OFF times. A
    client is a user equivalent. What is not given is the preset's."""

    kind: Literal["surge"]
    """Kind of workload."""
    preset: Literal["surge98", "surge-50MB", "surge99", "pries2012"] = "surge98"
    """Published set of parameters."""
    files: FileCount | None = None
    """Number of files [N01]."""
    requests: Annotated[int, Field(ge=1)] | None = None
    """References to all files together; unless set as many as ask once for the least popular file [98]."""
    zipf_slope: Slope | None = None
    """The file of rank r is asked for in proportion to r^-slope [98]."""
    sampling: Sampling | None = None
    """How sizes are drawn: independently, or one from each of as many strata as there are files (ours)."""
    sizes: Sizes | None = None
    """Sizes of all files; those of a class come before it [98]."""
    base_sizes: Sizes | None = None
    """Sizes of base files [98]."""
    embedded_sizes: Sizes | None = None
    """Sizes of embedded files [98]."""
    loner_sizes: Sizes | None = None
    """Sizes of files that are pages by themselves [98]."""
    shares: Shares | None = None
    """Shares of the classes among the files [99]."""
    request_sizes: RequestSizes | None = None
    """The distribution that the sizes of requests shall have [98]."""
    matching: Literal["optimal", "random"] | None = None
    """How popularity is matched with files [98]."""
    embedded: Embedded | None = None
    """Number of files embedded in a page [98]."""
    locality: Locality | None = None
    """The order of requests [98]."""
    inactive_off: Delay | None = None
    """Time between pages [98]; a group's think or arrivals stand in its place, and some group must have neither."""
    active_off: Delay | None = None
    """Time between the files of a page [98]; not where embedded is none."""


class Body(Part):
    """The body of the sizes: lognormal, by its mean and deviation before the tail cuts it off [B02]."""

    mean: PositiveSize
    """Mean."""
    deviation: PositiveSize
    """Standard deviation."""


class PopularLimit(Part):
    """What popular files may weigh, so that no single transfer dominates (ProWGen's sources)."""

    references: Annotated[int, Field(ge=1)]
    """Popular is a file with at least this many references."""
    size: Size
    """It is no larger than this."""


class NoStack(Part):
    """Requests in random order."""

    model: Literal["none"]
    """The order."""


class StaticStack(Part):
    """The probability belongs to the position in the stack: that of the file of the same rank in popularity [B02]."""

    model: Literal["static"]
    """The order."""
    depth: Annotated[int, Field(ge=1)]
    """Most files on the stack."""


class DynamicStack(Part):
    """The probability belongs to the file, wherever on the stack it is [B02]."""

    model: Literal["dynamic"]
    """The order."""
    depth: Annotated[int, Field(ge=1)]
    """Most files on the stack."""


Stack = Annotated[
    Annotated[NoStack, Tag("none")] | Annotated[StaticStack, Tag("static")] | Annotated[DynamicStack, Tag("dynamic")],
    kinds("model", "none", "static", "dynamic"),
]


class Prowgen(_Generated):
    """ProWGen [B02]: heavy-tailed files, Zipf popularity, one-timers, a stack model of locality. What is not given is
    the preset's."""

    kind: Literal["prowgen"]
    """Kind of workload."""
    preset: Literal["ip-tne", "webtraff"] = "ip-tne"
    """Published set of parameters."""
    objects: FileCount | None = None
    """Number of files [S03]."""
    requests: Annotated[int, Field(ge=1)] | None = None
    """Requests that are aimed at (ours: two minutes of the peak rate of [S03])."""
    one_timers: Probability | None = None
    """Share of the files that are asked for once (Arlitt and Williamson, SIGMETRICS 1996)."""
    zipf_slope: Slope | None = None
    """The file of rank r is asked for in proportion to r^-slope [S03]."""
    body: Body | None = None
    """The body of the sizes [B02]."""
    tail: Tail | None = None
    """The tail of the sizes [S03]; its share is ours, which gives the mean of [S03]."""
    cap: PositiveSize | None = None
    """No file is larger [S03]."""
    sampling: Sampling | None = None
    """How sizes are drawn: independently, or one from each of as many strata as there are files (ours)."""
    correlation: Literal["negative", "zero", "positive"] | None = None
    """How size and popularity go together [S03]."""
    popular_limit: PopularLimit | None = None
    """What popular files may weigh, where the correlation is zero."""
    stack: Stack | None = None
    """The order of requests [S03]; its depth is ProWGen's."""


class Replay(_Dealt):
    """The requests of an access log, or of a list of URLs."""

    refused: ClassVar[dict[str, str]] = {"size": 'belongs to kind = "single"; the log tells the sizes of its files'}

    kind: Literal["replay"]
    """Kind of workload."""
    log: str
    """The file, compressed with gzip or not."""
    format: Literal["log", "urls"] = "log"
    """An access log in the common format or in one that continues it; or lines of URL, URL SECONDS or URL SECONDS
    BYTES."""
    max_bad_lines: Probability = "1%"
    """Share of the lines that may make no sense; more are an error."""
    unknown_size: PositiveSize = "10000B"
    """Size of files that no line tells."""
    times: bool = False
    """Whether requests begin when they did in the log; its times, and the SECONDS of a list, mean nothing else. With
    more than one client the log must be shared out (deal = "modulo")."""
    repeat: bool = True
    """Whether the log begins again after its end."""
    directory: str | None = None
    """Files for a live server to serve, which must have every file of the log. Unless set, a managed server is given
    files of the sizes that the log tells."""

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        return self.model_dump(exclude={"directory"})


Workload = Annotated[
    Annotated[Single, Tag("single")]
    | Annotated[Surge, Tag("surge")]
    | Annotated[Prowgen, Tag("prowgen")]
    | Annotated[Replay, Tag("replay")],
    kinds("kind", "single", "surge", "prowgen", "replay", default="single"),
]
"""What the clients ask for, by its kind."""


def path_of(size: str) -> str:
    """Path of the file of ``size`` on every managed server: its number of bytes."""
    return f"/{_core.parse_bytes(size)}"


@cache
def preset_of(kind: str, preset: str | None = None) -> dict[str, Any]:
    """Every parameter of a preset (the kind's first unless given); nothing if there is no such kind or preset.

    The sizes of all classes are one option, but three parameters.
    """
    if kind not in ("surge", "prowgen"):
        return {}
    options = {"kind": kind} if preset is None else {"kind": kind, "preset": preset}
    try:
        parameters: dict[str, Any] = json.loads(_core.build_files(json.dumps(options), 0).parameters() or "{}")
    except ValueError:
        return {}
    return {"sizes": parameters.get("loner_sizes"), **parameters}


def start_from_preset(workload: dict[str, Any], table: str) -> None:
    """Gives ``workload`` the ``table`` of its preset, unless it has one, so that a field of it can be set."""
    preset = preset_of(str(workload.get("kind")), workload.get("preset")).get(table)
    if isinstance(preset, dict):
        workload.setdefault(table, copy.deepcopy(preset))
