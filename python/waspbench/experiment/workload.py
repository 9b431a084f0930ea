"""What the clients ask for: one file, a generated set with its popularity and order, a log, or named requests.

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
from waspbench.experiment.dealt import Dealt
from waspbench.experiment.delay import Delay, Shape
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.requests import Requests
from waspbench.experiment.units import PositiveSize, Probability, Size, UrlPath

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Slope = Annotated[float, Field(ge=0, le=5)]
FileCount = Annotated[int, Field(ge=1, le=1_000_000)]
Sigma = Annotated[float, Field(ge=0.001, le=20)]
Sampling = Literal["independent", "stratified"]


class WeightedFile(Part):
    """A file of a list."""

    size: PositiveSize
    """Size of the file."""
    weight: Annotated[float, Field(ge=0, le=1_000_000)] = 1.0
    """How often clients ask for the file, in proportion to the weights of the others."""
    path: UrlPath | None = None
    """Path of the file; / and its number of bytes unless set."""

    def resolve(self) -> dict[str, Any]:
        """As the engine takes it."""
        return {"path": self.path or path_of(self.size), "size": self.size, "weight": self.weight}


class Single(Dealt):
    """One file that all requests ask for [N01], or a list of files from which each request draws one at random by
    weight."""

    kind: Literal["single"] = "single"
    """Selects this workload, which is the default."""
    size: PositiveSize | None = None
    """Size of the file that all requests ask for; 1KiB unless set."""
    files: Annotated[list[WeightedFile], Field(min_length=1)] | None = None
    """Files of the list; instead of size."""

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


class _Generated(Dealt):
    refused: ClassVar[dict[str, str]] = {"size": 'belongs to kind = "single"; these files have sizes of their own'}

    seed: Seed | None = None
    """Seed of the file set. Unless set, it is the seed of the experiment; in the workload of a group it follows from
    that seed and the name of the group."""
    directory: str | None = None
    """Directory that wasp files wrote with the same options and seed, for a live server to serve. Unless set, WASP
    creates files with the same paths and sizes for a server that it starts."""

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        return self.model_dump(exclude_none=True, exclude={"directory"})


class Tail(Part):
    """Heavy tail of the file sizes: a Pareto distribution."""

    fraction: Probability
    """Share of the files that belong to the tail."""
    shape: Shape
    """Tail index, alpha; above 0."""
    scale: PositiveSize
    """Smallest size in the tail, k. The body ends here."""


class Sizes(Part):
    """Sizes of files: a lognormal body and a Pareto tail [98]."""

    mu: Annotated[float, Field(ge=-10, le=30)]
    """Mean of the natural logarithm of the body's sizes in bytes."""
    sigma: Sigma
    """Standard deviation of that logarithm."""
    tail: Tail | None = None
    """Heavy tail. Without one, the body reaches up to the cap."""
    cap: PositiveSize
    """Largest size of a file."""


class Shares(Part):
    """Shares of the classes of files; the rest are loners, which are pages by themselves."""

    base: Probability
    """Share of the files that embed others."""
    embedded: Probability
    """Share of the files that others embed."""


class RequestSizes(Part):
    """Intended distribution of the sizes of requested files: Pareto [98]."""

    shape: Shape
    """Tail index, alpha; above 0."""
    scale: PositiveSize
    """Smallest size, k."""
    cap: PositiveSize | None = None
    """Largest size; that of the largest file unless set."""


Number = Annotated[int, Field(ge=0, le=10_000)]


class NoEmbedded(Part):
    """There are no pages: clients ask for every file by itself."""

    model: Literal["none"]
    """Selects this distribution."""


class ConstantEmbedded(Part):
    """Every page has the same number of embedded files."""

    model: Literal["constant"]
    """Selects this distribution."""
    value: Number
    """Number of embedded files of each page."""


class ParetoEmbedded(Part):
    """The integer part of a Pareto variate."""

    model: Literal["pareto"]
    """Selects this distribution."""
    shape: Shape
    """Tail index, alpha; above 0."""
    scale: Shape
    """Smallest value of the variate, k."""
    cap: Number
    """Maximum number of embedded files of a page; a larger number is drawn again."""
    counts_base: bool = False
    """Whether the number counts the base file too, as in the released sources of SURGE."""


class GammaEmbedded(Part):
    """The integer part of a gamma variate."""

    model: Literal["gamma"]
    """Selects this distribution."""
    shape: Shape
    """Shape, kappa."""
    scale: Shape
    """Scale, theta."""
    cap: Number
    """Maximum number of embedded files of a page; a larger number is drawn again."""


Embedded = Annotated[
    Annotated[NoEmbedded, Tag("none")]
    | Annotated[ConstantEmbedded, Tag("constant")]
    | Annotated[ParetoEmbedded, Tag("pareto")]
    | Annotated[GammaEmbedded, Tag("gamma")],
    kinds("model", "none", "constant", "pareto", "gamma"),
]


class NoLocality(Part):
    """Requests come in random order. Popular files repeat often, for no other reason than their popularity."""

    model: Literal["none"]
    """Selects this order."""


class LognormalLocality(Part):
    """The next page comes from a stack of all pages, the most recently used on top, at a lognormal distance from the
    top [98]."""

    model: Literal["lognormal"]
    """Selects this order."""
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
    client is a user equivalent. A field that is left out has the value of the preset."""

    kind: Literal["surge"]
    """Selects this workload."""
    preset: Literal["surge98", "surge-50MB", "surge99", "pries2012"] = "surge98"
    """Named set of parameters; docs/workloads.md has their sources."""
    files: FileCount | None = None
    """Number of files [N01]."""
    requests: Annotated[int, Field(ge=1)] | None = None
    """Number of requests in the sequence, for all files together. Unless set, it is as many as give the least popular
    file one request [98]."""
    zipf_slope: Slope | None = None
    """Exponent of Zipf's law: the number of requests for the file of rank r is in proportion to r^-slope [98]."""
    sampling: Sampling | None = None
    """How file sizes are drawn: independently, or one from each of as many strata as there are files (WASP's own
    choice)."""
    sizes: Sizes | None = None
    """Sizes of all files; base_sizes, embedded_sizes and loner_sizes override it [98]."""
    base_sizes: Sizes | None = None
    """Sizes of base files [98]."""
    embedded_sizes: Sizes | None = None
    """Sizes of embedded files [98]."""
    loner_sizes: Sizes | None = None
    """Sizes of files that are pages by themselves [98]."""
    shares: Shares | None = None
    """Shares of the classes of files [99]."""
    request_sizes: RequestSizes | None = None
    """Intended distribution of the sizes of requested files, at which the optimal matching aims [98]."""
    matching: Literal["optimal", "random"] | None = None
    """Which files are popular: those that bring the sizes of requested files closest to request_sizes (optimal), or
    files at random [98]."""
    embedded: Embedded | None = None
    """Number of files embedded in a page [98]."""
    locality: Locality | None = None
    """Order of the requests, which decides how soon a page is asked for again [98]."""
    inactive_off: Delay | None = None
    """Pause between two pages [98]. A group with think or arrivals does not use it. If you set it, at least one group
    must use it."""
    active_off: Delay | None = None
    """Pause between two files of a page [98]; not with embedded none."""


class Body(Part):
    """Body of the file sizes: lognormal, with the mean and deviation that it has before it is cut off where the tail
    begins [B02]."""

    mean: PositiveSize
    """Mean size."""
    deviation: PositiveSize
    """Standard deviation of the sizes."""


class PopularLimit(Part):
    """Largest size of popular files, so that no single transfer dominates (ProWGen's sources)."""

    references: Annotated[int, Field(ge=1)]
    """Number of requests from which on a file counts as popular."""
    size: Size
    """Largest size of a popular file."""


class NoStack(Part):
    """Requests in random order."""

    model: Literal["none"]
    """Selects this order."""


class StaticStack(Part):
    """Each position of the stack has a probability: that of the file whose popularity has the same rank [B02]."""

    model: Literal["static"]
    """Selects this order."""
    depth: Annotated[int, Field(ge=1)]
    """Maximum number of files on the stack."""


class DynamicStack(Part):
    """Each file on the stack has its own probability, whatever its position [B02]."""

    model: Literal["dynamic"]
    """Selects this order."""
    depth: Annotated[int, Field(ge=1)]
    """Maximum number of files on the stack."""


Stack = Annotated[
    Annotated[NoStack, Tag("none")] | Annotated[StaticStack, Tag("static")] | Annotated[DynamicStack, Tag("dynamic")],
    kinds("model", "none", "static", "dynamic"),
]


class Prowgen(_Generated):
    """ProWGen [B02]: heavy-tailed files, Zipf popularity, one-timers, a stack model of locality. A field that is left
    out has the value of the preset."""

    kind: Literal["prowgen"]
    """Selects this workload."""
    preset: Literal["ip-tne", "webtraff"] = "ip-tne"
    """Named set of parameters; docs/workloads.md has their sources."""
    objects: FileCount | None = None
    """Number of files [S03]."""
    requests: Annotated[int, Field(ge=1)] | None = None
    """Intended number of requests in the sequence. The default is WASP's own choice: two minutes of the peak rate of
    [S03]."""
    one_timers: Probability | None = None
    """Share of the files that are requested only once (Arlitt and Williamson, SIGMETRICS 1996)."""
    zipf_slope: Slope | None = None
    """Exponent of Zipf's law: the number of requests for the file of rank r is in proportion to r^-slope [S03]."""
    body: Body | None = None
    """Body of the file sizes [B02]."""
    tail: Tail | None = None
    """Tail of the file sizes [S03]. Its fraction is WASP's own choice, which gives the mean size of [S03]."""
    cap: PositiveSize | None = None
    """Largest size of a file [S03]."""
    sampling: Sampling | None = None
    """How file sizes are drawn: independently, or one from each of as many strata as there are files (WASP's own
    choice)."""
    correlation: Literal["negative", "zero", "positive"] | None = None
    """Correlation between the size of a file and its popularity [S03]."""
    popular_limit: PopularLimit | None = None
    """Largest size of popular files; with correlation zero only."""
    stack: Stack | None = None
    """Order of the requests, by a stack of recently used files [S03]. The default depth is ProWGen's."""


class Replay(Dealt):
    """The requests of an access log, or of a list of URLs."""

    refused: ClassVar[dict[str, str]] = {"size": 'belongs to kind = "single"; the log tells the sizes of its files'}

    kind: Literal["replay"]
    """Selects this workload."""
    log: str
    """Path of the log from the current directory. The file may be compressed with gzip."""
    format: Literal["log", "urls"] = "log"
    """log: an access log in the common log format, or in one that continues it, such as the combined one. urls: lines
    of URL, URL SECONDS or URL SECONDS BYTES."""
    max_bad_lines: Probability = "1%"
    """Largest share of lines that WASP cannot read. A log with more of them is an error."""
    unknown_size: PositiveSize = "10000B"
    """Size of a file if no line of the log gives one."""
    times: bool = False
    """Whether requests begin at the times of the log (or at the SECONDS of a list). Unless set, WASP ignores these
    times. Several clients need deal = "modulo" for it."""
    repeat: bool = True
    """Whether the log begins again after its end."""
    directory: str | None = None
    """Directory for a live server to serve; it must have every file of the log. Unless set, WASP creates files with the
    sizes in the log for a server that it starts."""

    def options(self) -> dict[str, Any]:
        """The options as the engine takes them."""
        return self.model_dump(exclude={"directory"})


Workload = Annotated[
    Annotated[Single, Tag("single")]
    | Annotated[Surge, Tag("surge")]
    | Annotated[Prowgen, Tag("prowgen")]
    | Annotated[Replay, Tag("replay")]
    | Annotated[Requests, Tag("requests")],
    kinds("kind", "single", "surge", "prowgen", "replay", "requests", default="single"),
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
