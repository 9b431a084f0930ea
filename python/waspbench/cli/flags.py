"""Flags of ``wasp bench`` and ``capacity``: each stands for a field of the experiment file, whose documentation is its
help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from waspbench import field_texts
from waspbench.cli import options
from waspbench.cli.options import CLIENTS, MEASURE, NETWORK, SERVER, WORKLOAD
from waspbench.errors import Argument, InputError

if TYPE_CHECKING:
    from waspbench.experiment import Mode

LOSS_FLAGS = ("loss", "loss_up", "loss_down", "loss_model", "burst")


@dataclass(frozen=True)
class Flag:
    """A flag that stands for fields."""

    paths: tuple[str, ...]
    """The fields that it sets; none where `document` says what it means."""
    group: Group | None = None
    """Its section of the help."""
    metavar: str | None = None
    """What its value is; None of a switch."""
    text: str = ""
    """Its help, where that is not the documentation of its first field."""
    short: str | None = None
    as_given: bool = False
    """Whether its value is the field's as it is: a text, whatever it looks like in TOML, or True of a switch."""
    option: Any = None
    """The option that commands without such flags have, too, where there is one; it says all but ``paths``."""


_COMMAND = (
    "Command line that starts the server, such as 'python3 -m http.server {port} --directory {root}'. "
    "It implies --server command."
)
_ACCESS_LOG = "Let nginx or apache log each request, which costs CPU time. The logs are kept with the results."
_PROFILE = (
    "Access profile, such as cable. It sets RTT, bandwidth, queue, and for some profiles loss, unless flags do; "
    "wasp profiles lists all."
)
_WORKLOAD = (
    "What clients ask for: one file (single), a generated set of files (surge, prowgen), or a log (replay). "
    "[default: single]"
)
_PRESET = "Named set of parameters of surge (surge98...) or prowgen (ip-tne...). [default: the first]"
_THINK = "Pause of a client between two pages or requests. [default: the workload's own]"
_RATE = "Open loop: arrivals of all clients together, such as 100/s. [default: closed loop]"
_WARMUP = "Time before the measured interval, in which clients start one after another; auto finds it. [default: 5s]"
_RUNS = "Number of independent runs, from which means and intervals follow. [default: 3]"
_UNTIL = "Make runs until half the width of throughput's 90 % confidence interval is at most this share of its mean."
_MAX_ERRORS = "Largest share of errors among the transactions of a valid run. [default: 10%]"
_OUTSTANDING = (
    "Number of arrivals that may wait for busy clients, in equal parts, with --rate; further ones are dropped. "
    "[default: 1000, or the number of clients if that is larger]"
)
_PATH = "Path that the clients ask for, with --command. [default: a file of --file-size, which WASP writes to {root}]"
_TCP = "TCP stack of the clients, and of a simulated server: today's Linux, or BSD as of 1999. [default: linux]"
_MSS = "Largest segment that the clients announce (MSS), in bytes of payload. [default: 1460]"
_ECN = "Let clients ask for ECN. Queues that mark then do so in place of early drops: fq-codel, or any with ecn = true."
_START = "How clients begin: as in the middle of a long run, or all at once with a request. [default: equilibrium]"
_MODEL = "Loss model: two-state (bursts), independent, or wasp2001 (the WASP paper's table). [default: two-state]"
_BURST = "Probability that the packet after a lost one is lost, too. [default: 35%]"
_QUEUE = "Queues of each access link: a size such as 64KiB, or codel, fq-codel, pie or red. [default: unlimited]"
_TRACE_DOWN = "Recorded rate to each client, in the place of --down: a trace in Mahimahi's format. [default: none]"
_TRACE_UP = "Recorded rate from each client, in the place of --up. [default: none]"
_JITTER = "Standard deviation of the delay in each direction, which is not below zero; order is kept. [default: none]"
_REORDER = "Share of the packets that are held back until three later ones have passed, or for 100 ms. [default: none]"
_DUPLICATE = "Share of the packets that arrive twice, in each direction. [default: none]"
_CORRUPT = "Share of the packets in which a bit is flipped, in each direction. [default: none]"

FLAGS: dict[str, Flag] = {
    "server": Flag(("server.kind",), SERVER, "NAME", short="-s"),
    "mpm": Flag(("server.mpm",), SERVER, "event|prefork"),
    "command": Flag(("server.command",), SERVER, "LINE", _COMMAND, as_given=True),
    "path": Flag(("server.path",), SERVER, "PATH", _PATH, as_given=True),
    "access_log": Flag(("server.access_log",), SERVER, None, _ACCESS_LOG, as_given=True),
    "congestion": Flag(("server.congestion",), SERVER, "NAME"),
    "clients": Flag(("clients.count",), CLIENTS, "N", short="-c"),
    "connections": Flag(("clients.http.connections",), CLIENTS, "N", "Parallel connections of a client. [default: 1]"),
    "requests_per_connection": Flag(("clients.http.requests_per_connection",), CLIENTS, "N"),
    "pipeline": Flag(("clients.http.pipeline",), CLIENTS, "N"),
    "http_version": Flag(("clients.http.version",), CLIENTS, "1.0|1.1", as_given=True),
    "method": Flag(("clients.http.method",), CLIENTS, "GET|HEAD|POST"),
    "think": Flag(("clients.think",), CLIENTS, "DURATION", _THINK),
    "start": Flag(("clients.start",), CLIENTS, "equilibrium|together", _START),
    "timeout": Flag(("clients.http.timeout",), CLIENTS, "DURATION"),
    "tcp": Flag(("clients.tcp.preset", "server.tcp.preset"), CLIENTS, "linux|bsd1999", _TCP),
    "mss": Flag(("clients.tcp.mss",), CLIENTS, "N", _MSS),
    "ecn": Flag(("clients.tcp.ecn",), CLIENTS, None, _ECN, as_given=True),
    "rate": Flag(("clients.arrivals.rate",), CLIENTS, "FREQUENCY", _RATE),
    "arrivals": Flag(
        ("clients.arrivals.model",),
        CLIENTS,
        "poisson|constant",
        "How arrivals are spread in time, with --rate. [default: poisson]",
    ),
    "outstanding": Flag(
        ("clients.arrivals.outstanding",),
        CLIENTS,
        "N",
        _OUTSTANDING,
    ),
    "profile": Flag(("clients.profile",), NETWORK, "NAME", _PROFILE, as_given=True),
    "rtt": Flag(("clients.rtt",), NETWORK, "DURATION", short="-r"),
    "loss": Flag((), NETWORK, "PROBABILITY", "Packet loss in each direction. [default: none]", short="-l"),
    "loss_up": Flag((), NETWORK, "PROBABILITY", "Packet loss from clients to server."),
    "loss_down": Flag((), NETWORK, "PROBABILITY", "Packet loss from server to clients."),
    "loss_model": Flag((), NETWORK, "MODEL", _MODEL),
    "burst": Flag((), NETWORK, "PROBABILITY", _BURST),
    "down": Flag(("clients.bandwidth.down",), NETWORK, "RATE", "Bandwidth to each client. [default: unlimited]"),
    "up": Flag(("clients.bandwidth.up",), NETWORK, "RATE", "Bandwidth from each client. [default: unlimited]"),
    "trace_down": Flag(("clients.trace.down",), NETWORK, "FILE", _TRACE_DOWN, as_given=True),
    "trace_up": Flag(("clients.trace.up",), NETWORK, "FILE", _TRACE_UP, as_given=True),
    "queue": Flag(
        ("clients.queue",),
        NETWORK,
        "QUEUE",
        _QUEUE,
    ),
    "jitter": Flag(("clients.jitter",), NETWORK, "DURATION", _JITTER),
    "reorder": Flag(("clients.reorder",), NETWORK, "PROBABILITY", _REORDER),
    "duplicate": Flag(("clients.duplicate",), NETWORK, "PROBABILITY", _DUPLICATE),
    "corrupt": Flag(("clients.corrupt",), NETWORK, "PROBABILITY", _CORRUPT),
    "workload": Flag(("workload.kind",), WORKLOAD, "KIND", _WORKLOAD, short="-w"),
    "file_size": Flag(("workload.size",), WORKLOAD, "SIZE", short="-f"),
    "preset": Flag(("workload.preset",), WORKLOAD, "NAME", _PRESET),
    "log": Flag(("workload.log",), WORKLOAD, "FILE", "Access log to replay, with --workload replay.", as_given=True),
    "warmup": Flag(("measure.warmup",), MEASURE, "DURATION", _WARMUP),
    "duration": Flag(("measure.duration",), MEASURE, "DURATION", short="-d"),
    "runs": Flag(("measure.runs",), MEASURE, "N", _RUNS, short="-n"),
    "until": Flag(("measure.until.ci",), MEASURE, "SHARE", _UNTIL),
    "max_runs": Flag(("measure.until.max_runs",), MEASURE, "N", "Maximum number of runs, with --until. [default: 20]"),
    "max_errors": Flag(("measure.max_errors",), MEASURE, "SHARE", _MAX_ERRORS),
    "seed": Flag(("seed",), MEASURE, "N"),
    "mode": Flag(("mode",), option=options.Mode),
}
"""Every flag that stands for fields, by the name of its parameter, in the order of the help."""

PATHS = {name: flag.paths for name, flag in FLAGS.items()} | {"url": ("server.url",)}
"""The fields that each parameter sets, the URL's too."""

_MODELS = {
    "": ("model", "Experiment"),
    "server": ("model", "Server"),
    "workload": ("workload", "Single"),
    "clients": ("clients", "Clients"),
    "clients.tcp": ("tcp", "Tcp"),
    "clients.http": ("http", "Http"),
    "measure": ("model", "Measure"),
}
"""Where the tables are declared whose fields document flags: a module of `waspbench.experiment`, and a class in it."""


def flag(parameter: str) -> str:
    """The flag of a parameter: ``--file-size`` of ``file_size``. The URL is the one argument."""
    return "URL" if parameter == "url" else "--" + parameter.replace("_", "-")


def fields_of(parameter: str) -> tuple[str, ...]:
    """The fields that a parameter says."""
    return _FIELDS.get(parameter) or PATHS[parameter]


_FIELDS = {
    "loss": ("clients.loss",),
    "loss_up": ("clients.loss.up",),
    "loss_down": ("clients.loss.down",),
    "loss_model": ("clients.loss.model",),
    "burst": ("clients.loss.burst",),
    "trace_down": ("clients.trace.down.file",),
    "trace_up": ("clients.trace.up.file",),
    "jitter": ("clients.jitter.deviation",),
    "reorder": ("clients.reorder.share",),
    "duplicate": ("clients.duplicate.share",),
    "corrupt": ("clients.corrupt.share",),
}
"""The fields of flags that stand for a table in its short form, and of those of loss."""


def _documentation(path: str) -> str:
    """What the source says of a field, and its default."""
    table, _, name = path.rpartition(".")
    module, model = _MODELS[table]
    field = field_texts.of_class(f"waspbench.experiment.{module}", model).get(name)
    if field is None:
        return ""
    default = "" if field.default is None else f" [default: {field.default}]"
    return " ".join(f"{field.text}{default}".split())


def _parameter(name: str, declared: Flag) -> tuple[str, Any, Any]:
    """The field of `Flags` for a flag: what cyclopts makes an option of."""
    if declared.option is not None:
        return name, declared.option, None
    long = flag(name)
    option = Parameter(
        name=long if declared.short is None else (long, declared.short),
        metavar=declared.metavar,
        group=declared.group,
        help=declared.text or _documentation(declared.paths[0]),
    )
    kind = str if declared.metavar is not None else bool
    return name, Annotated[kind | None, option], None


def table(name: str, declared: Mapping[str, Flag]) -> Any:
    """The type of what was given of each of these flags, or None: what cyclopts makes a command's options of."""
    fields = [_parameter(*item) for item in declared.items()]
    return make_dataclass(name, fields, frozen=True, kw_only=True, namespace={"__module__": __name__})


if TYPE_CHECKING:
    Flags = Any
else:
    Flags = table("Flags", FLAGS)
"""What was given of each flag, or None."""

NONE = Flags()


def document(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an experiment file that says what the flags say; ``values`` has what was given, or None, for
    each parameter.

    Raises:
        InputError: flags contradict each other.
    """
    from waspbench.experiment.load import set_path, value_of

    made: dict[str, Any] = {"name": name, "clients": [{}]}
    for parameter, paths in PATHS.items():
        if values.get(parameter) is not None:
            for path in paths:
                given = values[parameter]
                as_given = parameter == "url" or FLAGS[parameter].as_given
                set_path(made, path, given if as_given else value_of(given))
    for kind in ("command", "url"):
        if values.get(kind) is not None and values.get("server") is None:
            set_path(made, "server.kind", kind)
    loss = _loss({name: values.get(name) for name in LOSS_FLAGS})
    if loss is not None:
        set_path(made, "clients.loss", loss)
    return made


def with_settings(document: Mapping[str, Any], values: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """The content with what ``--set`` says on top of what flags said.

    Raises:
        InputError: both say the same field.
    """
    from waspbench.experiment.clients import DEFAULT_NAME
    from waspbench.experiment.load import apply, with_name

    for setting in settings:
        field = with_name(document, setting.partition("=")[0].strip())
        of_all = field.replace(f"clients.{DEFAULT_NAME}.", "clients.", 1)  # flags make one group
        for parameter in PATHS:
            if values.get(parameter) is None:
                continue
            paths = _fields_of_queue(values[parameter]) if parameter == "queue" else fields_of(parameter)
            if any(_overlap(of_all, path) for path in paths):
                raise InputError.at("--set", f"{flag(parameter)} says {of_all}, too; leave one out", setting)
    return apply(document, settings)


def _fields_of_queue(value: str) -> list[str]:
    """The fields that a size, a name or a table of a queue says."""
    from waspbench.experiment.load import value_of
    from waspbench.experiment.queues import written_out

    queue = written_out(value_of(value))
    return [f"clients.queue.{field}" for field in queue] if isinstance(queue, dict) else ["clients.queue"]


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def check_effects(mode: Mode, values: Mapping[str, Any]) -> None:
    """Refuses flags that a run in ``mode`` would not obey.

    Raises:
        InputError: there is one.
    """
    if mode == "live":
        return
    if values["congestion"] is not None:
        message = "sets the server's kernel in a live run; --tcp chooses the TCP of a modelled server"
        raise InputError.at("--congestion", message, values["congestion"])
    for parameter in ("mpm", "command", "path", "url", "access_log"):
        if values[parameter] is not None:
            message = "is for the server of a live run, in whose place a simulation has a modelled one"
            raise InputError.at(flag(parameter), message, values[parameter])


def _loss(values: Mapping[str, str | None]) -> dict[str, Any] | None:
    """The loss table, in the shortest form that says what the flags say."""
    from waspbench.experiment.load import value_of

    rates = {name: values[name] for name in ("loss", "loss_up", "loss_down")}
    shape = {
        field: value_of(text)
        for field, text in (("model", values["loss_model"]), ("burst", values["burst"]))
        if text is not None
    }
    if all(rate is None for rate in rates.values()):
        for name in ("loss_model", "burst"):
            if values[name] is not None:
                raise InputError.at(flag(name), "has no effect without --loss, --loss-up or --loss-down", values[name])
        return None
    if rates["loss_up"] is None and rates["loss_down"] is None:
        return {**shape, "rate": value_of(str(rates["loss"]))}
    if all(rate is not None for rate in rates.values()):
        raise InputError.at("--loss", "has no effect beside --loss-up and --loss-down", rates["loss"])
    sides = {way: rates[f"loss_{way}"] or rates["loss"] for way in ("up", "down")}
    return {way: {**shape, "rate": value_of(rate)} for way, rate in sides.items() if rate is not None}


def flag_of_field(values: Mapping[str, Any], declared: Mapping[str, Flag] = FLAGS) -> Callable[[str], str]:
    """What knows the flag for a field, of a command that has the flags ``declared`` and an URL; ``values`` has what was
    given, or None, for each parameter.
    """
    known = {name: flag.paths for name, flag in declared.items()} | {"url": PATHS["url"]}
    flags = {path: flag(parameter) for parameter, paths in known.items() for path in paths}
    flags |= {"clients.loss.rate": "--loss", "clients": "--clients"}
    flags |= {"clients.arrivals": "--rate"} if "rate" in declared else {}
    flags |= {"clients.think.value": "--think"}
    for way in ("up", "down"):
        flags[f"clients.queue.{way}"] = "--queue"
        flags[f"clients.loss.{way}.rate"] = flag(f"loss_{way}" if values.get(f"loss_{way}") is not None else "loss")
    flags |= {field: flag(name) for name in ("jitter", "reorder", "duplicate", "corrupt") for field in _FIELDS[name]}
    for prefix in ("clients.loss", "clients.loss.up", "clients.loss.down"):
        flags |= {f"{prefix}.burst": "--burst", f"{prefix}.model": "--loss-model"}
    return lambda where: where if isinstance(where, Argument) else flags.get(where, where)
