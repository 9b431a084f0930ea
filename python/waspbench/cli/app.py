"""The commands of ``wasp`` and their exit status."""

from __future__ import annotations

import json as jsonlib
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from waspbench import _core
from waspbench.cli import demo as demonstration
from waspbench.cli import flags, status, studies, table
from waspbench.cli.flags import option
from waspbench.cli.runner import run_and_print
from waspbench.errors import CannotRunError, InputError, RunFailedError
from waspbench.experiment import PROFILES
from waspbench.experiment.conditions import all_of
from waspbench.experiment.load import apply, parse, read, value_of
from waspbench.live import choose_mode
from waspbench.serve import serve as serve_here

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How will this web server behave on the real Internet? WASP puts emulated wide-area clients before it.",
    epilog="Exit status: 0 done and valid, 1 a check failed, 2 bad usage or input, 3 this machine cannot do it, "
    "4 the run failed, 5 done but invalid, 130 interrupted (what was measured is kept and marked).",
)

Text = str | None
_COMMAND = (
    "Start line of a server of any kind, such as 'python3 -m http.server {port} --directory {root}'; "
    "it implies --server command."
)
_URL = "A server that runs already on this machine, and what to ask it for, such as http://127.0.0.1:8080/."
_ACCESS_LOG = "nginx or apache logs each request, which costs it CPU time; the logs are kept with the results."
_WARMUP = "Time before the measured interval, in which clients start one after another; auto finds it. [default: 5s]"
_PROFILE = "Access profile, such as cable: sets RTT, bandwidth and queue unless they are given; see wasp profiles."
_WORKLOAD = "What is asked for: single, surge, prowgen or replay. [default: single]"
_PRESET = "Published parameters of surge (surge98...) or prowgen (ip-tne...). [default: the first]"
_THINK = "Pause of a client between two pages or requests. [default: the workload's own]"
_RATE = "Open loop: arrivals of all clients together, such as 100/s. [default: closed loop]"
_ARRIVALS = "How arrivals are spread, with --rate. [default: poisson]"
_OUTSTANDING = "Most arrivals that wait, with --rate; more are counted and shed. [default: 1000]"
_MAX_ERRORS = "Share of the transactions that may fail before a run counts as not valid. [default: 10%]"
_UNTIL = "Add runs until half the interval of throughput is at most this part of its mean."
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="New directory for the results. [default: results/<time>-<name>]"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
ServerCpus = Annotated[
    Text, typer.Option("--server-cpus", metavar="LIST", help="CPUs of the server in a live run, such as 0 or 0-1.")
]
EmulatorCpus = Annotated[
    Text,
    typer.Option("--emulator-cpus", metavar="LIST", help="CPUs of the emulator in a live run, a thread on each."),
]
FileArgument = Annotated[Path, typer.Argument(metavar="FILE.toml", help="The experiment.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Set a field, such as clients.rtt=50ms; may be repeated."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, help="Simulated runs side by side in a sweep. [default: the CPUs]"),
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--assert", metavar="CONDITION", help='Exit with 1 unless it holds, such as "p99 < 800ms"; may be repeated.'
    ),
]
ModeOption = Annotated[Text, option("mode", "live|sim")]


@app.command()
def bench(
    context: typer.Context,
    url: Annotated[Text, typer.Argument(metavar="URL", help=_URL)] = None,
    mode: ModeOption = None,
    server: Annotated[Text, option("server", "NAME")] = None,
    mpm: Annotated[Text, option("mpm", "event|prefork")] = None,
    command: Annotated[Text, option("command", "LINE", _COMMAND)] = None,
    path: Annotated[Text, option("path", "PATH")] = None,
    access_log: Annotated[bool | None, option("access_log", None, _ACCESS_LOG)] = None,
    clients: Annotated[Text, option("clients", "N")] = None,
    profile: Annotated[Text, option("profile", "NAME", _PROFILE)] = None,
    rtt: Annotated[Text, option("rtt", "D")] = None,
    loss: Annotated[Text, typer.Option(metavar="P", help="Packet loss in each direction. [default: none]")] = None,
    loss_up: Annotated[Text, typer.Option(metavar="P", help="Packet loss from clients to server.")] = None,
    loss_down: Annotated[Text, typer.Option(metavar="P", help="Packet loss from server to clients.")] = None,
    loss_model: Annotated[
        Text, typer.Option(metavar="two-state|independent", help="Loss model (wasp2001 too). [default: two-state]")
    ] = None,
    burst: Annotated[
        Text, typer.Option(metavar="P", help="Probability that the packet after a lost one is lost. [default: 35%]")
    ] = None,
    down: Annotated[Text, option("down", "RATE", "Bandwidth to each client. [default: unlimited]")] = None,
    up: Annotated[Text, option("up", "RATE", "Bandwidth from each client. [default: unlimited]")] = None,
    queue: Annotated[Text, option("queue", "SIZE", "Queue of each access link, in bytes. [default: unlimited]")] = None,
    mss: Annotated[Text, option("mss", "N")] = None,
    tcp: Annotated[Text, option("tcp", "linux|bsd1999")] = None,
    congestion: Annotated[Text, option("congestion", "NAME")] = None,
    file_size: Annotated[Text, option("file_size", "SIZE")] = None,
    workload: Annotated[Text, option("workload", "KIND", _WORKLOAD)] = None,
    preset: Annotated[Text, option("preset", "NAME", _PRESET)] = None,
    log: Annotated[Text, option("log", "FILE", "Access log to replay, with --workload replay.")] = None,
    requests_per_connection: Annotated[Text, option("requests_per_connection", "N")] = None,
    http_version: Annotated[Text, option("http_version", "1.0|1.1")] = None,
    connections: Annotated[Text, option("connections", "N", "Parallel connections of a client. [default: 1]")] = None,
    pipeline: Annotated[Text, option("pipeline", "N")] = None,
    method: Annotated[Text, option("method", "GET|HEAD|POST")] = None,
    think: Annotated[Text, option("think", "D", _THINK)] = None,
    rate: Annotated[Text, option("rate", "F", _RATE)] = None,
    arrivals: Annotated[Text, option("arrivals", "poisson|constant", _ARRIVALS)] = None,
    outstanding: Annotated[Text, option("outstanding", "N", _OUTSTANDING)] = None,
    warmup: Annotated[Text, option("warmup", "D", _WARMUP)] = None,
    duration: Annotated[Text, option("duration", "D")] = None,
    runs: Annotated[
        Text, option("runs", "N", "Independent repeats, from which means and intervals follow. [default: 3]")
    ] = None,
    until: Annotated[Text, option("until", "P", _UNTIL)] = None,
    max_runs: Annotated[Text, option("max_runs", "N", "Runs at most, with --until. [default: 20]")] = None,
    max_errors: Annotated[Text, option("max_errors", "P", _MAX_ERRORS)] = None,
    seed: Annotated[Text, option("seed", "N")] = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    timeout: Annotated[Text, option("timeout", "D")] = None,
    thresholds: Thresholds = None,
    json: Json = False,
    output: Output = None,
) -> int:
    """Measure a server, with flags instead of a file."""
    document = flags.document("bench", context.params)
    described = flags.experiment(document, context.params)
    conditions = all_of({}, thresholds or [], "--assert")
    flags.check_effects(choose_mode(None, described)[0], context.params)
    if described.measure.open_ended:
        return studies.begin(
            document,
            output=output,
            mode=described.mode,
            thresholds=thresholds or [],
            server_cpus=server_cpus,
            emulator_cpus=emulator_cpus,
            outputs=studies.Outputs(json),
        )
    return run_and_print(
        described,
        conditions,
        output=output,
        json=json,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
    )


@app.command()
def run(
    file: FileArgument,
    mode: ModeOption = None,
    settings: Settings = None,
    thresholds: Thresholds = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the points and the time that they will take.")
    ] = False,
    jobs: Jobs = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    json: Json = False,
    junit: studies.JUnit = None,
    markdown: studies.Markdown = None,
    output: Output = None,
) -> int:
    """Make the experiment that a file describes: every point of its sweep, and its checks."""
    document = document_of(file, settings, mode)
    return studies.begin(
        document,
        output=output,
        mode=parse(document).mode,
        thresholds=thresholds or [],
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
        jobs=jobs,
        dry_run=dry_run,
        outputs=studies.Outputs(json, junit, markdown),
    )


def document_of(file: Path, settings: list[str] | None, mode: str | None) -> dict[str, Any]:
    """The content of an experiment file, with what the flags set."""
    document = apply(read(file), settings or [])
    if mode is not None:
        document["mode"] = value_of(mode)
    return document


@app.command()
def demo() -> int:
    """Compare the built-in server without loss and with 3 % loss: 256 clients at 100 ms, half a minute."""
    return demonstration.demo()


@app.command()
def serve(
    address: Annotated[str, typer.Option(metavar="IP", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port; 0 lets the kernel choose.")] = 8080,
) -> int:
    """Run the built-in web server until Ctrl-C: /N is answered with N bytes."""
    try:
        serve_here(address, port, lambda url: print(f"serving {url} (/N is answered with N bytes)", file=sys.stderr))
    except ValueError as error:
        raise InputError.at("--address", str(error), address) from None
    except OSError as error:
        raise CannotRunError(str(error)) from None
    return status.Status.DONE


@app.command()
def profiles(json: Json = False) -> int:
    """List the access profiles: rates, round-trip time, loss and source of each."""
    if json:
        print(jsonlib.dumps({name: asdict(profile) for name, profile in PROFILES.items()}, indent=2))
    else:
        print(table.profiles(PROFILES), end="")
    return status.Status.DONE


@app.command()
def version() -> int:
    """Print the version; wasp --version does so, too."""
    print(f"wasp {_core.version()}")
    return status.Status.DONE


def _version_asked(asked: bool) -> None:
    if asked:
        raise typer.Exit(version())


@app.callback()
def _all_commands(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version_asked, is_eager=True)
    ] = False,
) -> None:
    """What is asked of no command; the help is that of the app."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and exits with its status. Every error is one line on standard error."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:  # nohup(1) ignores SIGHUP
            signal.signal(number, _interrupt)
    sys.exit(invoke(arguments))


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its status. Without arguments it explains itself."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # an interrupt may have come during imports
        code = app(arguments or ["--help"], prog_name="wasp", standalone_mode=False)
    except TyperException as error:
        status.complain([_usage(error)])
        return status.Status.BAD_INPUT
    except InputError as error:
        status.complain(error.problems)
        return status.Status.BAD_INPUT
    except CannotRunError as error:
        status.complain([str(error)])
        return status.Status.CANNOT
    except RunFailedError as error:
        status.complain([str(error)])
        return status.Status.FAILED
    except (KeyboardInterrupt, typer.Abort):
        status.complain(["interrupted"])
        return status.Status.INTERRUPTED
    return int(code or 0)


def _usage(error: TyperException) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return message.rstrip(".").replace("\n", " ") + " (wasp --help lists what is valid)"


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does."""
    raise KeyboardInterrupt
