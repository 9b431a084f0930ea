"""The command ``wasp``: its commands, each in a module that is imported when it is asked for, and exit status."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from cyclopts import App, CycloptsError, Group, Parameter, UnknownCommandError, UnknownOptionError

from waspbench.cli import status, version
from waspbench.cli.options import flag_of
from waspbench.errors import CannotRunError, InputError, RunFailedError, renamed
from waspbench.suggestion import meant

MEASURE = Group("Measure", sort_key=1)
RESULTS = Group("Results", sort_key=2)
TOOLS = Group("Tools", sort_key=3)

_COMMAND_NAME = re.compile(r'^Command "[^"]*" parameter ')
"""How cyclopts begins what it says of an argument; the help that is named after it says the same."""

app = App(
    name="wasp",
    help="How will this web server behave on the real Internet? WASP puts emulated wide-area clients in front of it.",
    help_epilogue="Exit status: 0 done and valid, 1 a check failed, 2 bad usage or input, 3 this machine cannot do it, "
    "4 no run came to its end, 5 done but not valid, or a check is undecided, 130 interrupted (the results up to then "
    "are kept and marked).",
    help_format="plaintext",
    version=version.TEXT,
    default_parameter=Parameter(negative=(), show_default=False, allow_leading_hyphen=False),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

COMMANDS: dict[str, tuple[str, Group, str]] = {
    "bench": ("bench:bench", MEASURE, "Measure a server, with flags instead of a file."),
    "run": (
        "study:run",
        MEASURE,
        "Run the experiment of a file: every point of its sweep, and its checks.",
    ),
    "capacity": (
        "capacity:capacity",
        MEASURE,
        "Find a server's largest throughput, or the most users for whom it meets an objective.",
    ),
    "calibrate": (
        "calibrate:calibrate",
        MEASURE,
        "Measure what the work of a server costs, and write a model of the server for simulations.",
    ),
    "twin": (
        "twin:twin",
        MEASURE,
        "Run an experiment live and in simulation, and say where the two differ.",
    ),
    "resume": (
        "study:resume",
        MEASURE,
        "Go on with an interrupted experiment: make the runs that its results lack.",
    ),
    "demo": (
        "tools:demo",
        MEASURE,
        "Compare the built-in server without loss and with 3 % loss: 256 clients at 100 ms, half a minute.",
    ),
    "init": ("init:init", MEASURE, "Write a commented experiment file for a question, to run and to change."),
    "list": ("lookup:list_results", RESULTS, "List results, newest first."),
    "show": ("lookup:show", RESULTS, "Print results again."),
    "compare": (
        "comparison:compare",
        RESULTS,
        "Say whether B is faster or slower than A, by how much, and how sure that is.",
    ),
    "report": (
        "report:report",
        RESULTS,
        "Write a report on results, or a comparison of several: a page, Markdown, JSON or CSV.",
    ),
    "plot": (
        "plot:plot",
        RESULTS,
        "Draw a figure of results as PDF, SVG or PNG, or list the figures that they have.",
    ),
    "normality": (
        "comparison:normality",
        RESULTS,
        "Test whether the runs are normally distributed, as the intervals assume.",
    ),
    "query": (
        "lookup:query",
        RESULTS,
        "Query results with SQL: a table results, and transactions, series, links and the others (needs DuckDB).",
    ),
    "serve": ("tools:serve", TOOLS, "Run the built-in web server until Ctrl-C: it answers /N with N bytes."),
    "files": (
        "files:files",
        TOOLS,
        "Write a set of files with the sizes and the popularity of a workload, or check one.",
    ),
    "topology": (
        "topology:topology",
        TOOLS,
        "Print the network of an experiment: nodes, links, and the path of each group to the server and back.",
    ),
    "profiles": ("tools:profiles", TOOLS, "List the access profiles: rates, round-trip time, loss and source of each."),
    "doctor": (
        "tools:doctor",
        TOOLS,
        "Say what this machine can do for live runs, what is missing, and how to get it.",
    ),
    "validate": (
        "validation:validate",
        TOOLS,
        "Compare the model with formulas, with the papers' findings and with Linux.",
    ),
    "completion": (
        "tools:completion",
        TOOLS,
        "Print the completion of commands and flags for a shell; for bash: source <(wasp completion bash).",
    ),
    "version": ("tools:version", TOOLS, "Print the version, like wasp --version."),
}
"""Each command: where it is defined in this package, its section of the help, and its summary. The summary is the first
sentence of its own documentation, which stands here too so that the list of commands imports none of them."""

for _number, (_name, (_module, _section, _summary)) in enumerate(COMMANDS.items()):
    app.command(f"waspbench.cli.{_module}", name=_name, group=_section, help=_summary, sort_key=_number)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and exits with its status. Every error is one line on standard error."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:  # nohup(1) ignores SIGHUP
            signal.signal(number, _interrupt)
    _open_streams()
    sys.exit(invoke(arguments))


def _open_streams() -> None:
    """Makes sure that what is printed goes somewhere (a stream may be closed) and that no letter is too much for it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for ever
        else:
            stream.reconfigure(errors="replace")


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its status. Without arguments it explains itself."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # an interrupt may have come during imports
        with renamed(flag_of):
            code = app(_words(arguments), print_error=False, exit_on_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        status.complain([_usage(error)])
        return status.Status.BAD_INPUT
    except InputError as error:
        status.complain(error.problems)
        return status.Status.BAD_INPUT
    except CannotRunError as error:
        status.complain([str(error)])
        return status.Status.CANNOT
    except RunFailedError as error:
        status.complain([_with_way_on(error)])
        return status.Status.FAILED
    except KeyboardInterrupt:
        status.complain(["interrupted"])
        return status.Status.INTERRUPTED
    except (BrokenPipeError, SystemExit):  # rich, which prints help, makes a SystemExit of a closed pipe
        _discard_output()
        return status.Status.PIPE_CLOSED
    except OSError as error:
        _discard_output()
        status.complain([f"{error.filename or 'standard output'}: {error.strerror or error}"])
        return status.Status.FAILED
    return int(code or 0)


def _discard_output() -> None:
    """Lets what was not written to standard output be lost: it would fail again when the process ends."""
    with suppress(OSError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _words(arguments: Sequence[str]) -> list[str]:
    """The arguments as they are read: ``wasp help run`` is ``wasp run --help``."""
    if list(arguments[:1]) in ([], ["help"]):
        return [*(word for word in arguments[1:] if word != "help"), "--help"]
    return list(arguments)


def _with_way_on(error: RunFailedError) -> str:
    """The failure, and the command that makes the runs that are missing, if it can."""
    from waspbench.results.study import is_study

    if error.kept is None or not is_study(error.kept):
        return str(error)
    return f"{error}; wasp resume {error.kept} makes the rest"


def _usage(error: CycloptsError) -> str:
    command = " ".join(("wasp", *(error.command_chain or ())))
    said = _COMMAND_NAME.sub("", " ".join(str(error).split())).partition(" Available commands")[0]
    if isinstance(error, UnknownOptionError):
        said = _instead(said, _for_flag(error))
    elif isinstance(error, UnknownCommandError) and error.app is not None and error.unused_tokens:
        near = meant(error.unused_tokens[0], [*(name for name in error.app if not name.startswith("-")), "help"])
        said = _instead(said, near and f"Did you mean {near}?")
    return f"{said.rstrip('.')} ({command} --help lists what is valid)"


def _instead(said: str, better: str | None) -> str:
    """The message with ``better`` in place of what cyclopts takes for meant."""
    return f"{said.partition(' Did you mean')[0]}{f' {better}' if better else ''}"


def _for_flag(error: UnknownOptionError) -> str | None:
    """What may help where a flag is not one of this command's."""
    from waspbench.cli.flags import FLAGS, fields_of, flag

    word = (error.token.keyword or error.token.value).partition("=")[0]
    valid = [name for argument in error.argument_collection for name in argument.names if name.startswith("--")]
    fields = next((fields_of(name) for name, each in FLAGS.items() if word in (flag(name), each.short)), ())
    of_clients = bool(fields) and not fields[0].startswith(("server.", "seed"))
    if fields and "--set" in valid and not (of_clients and error.command_chain == ("calibrate",)):
        return f"Here it is --set {fields[0]}=VALUE."
    others = [f"wasp {name}" for name in COMMANDS if word in _flags(name)]
    if others:
        return f"It is a flag of {others[0] if len(others) == 1 else f'{others[0]} and others'}."
    near = meant(word, valid)
    return None if near is None else f"Did you mean {near}?"


def _flags(name: str) -> set[str]:
    """The flags of a command that has no commands of its own."""
    command = app[name]
    if command.default_command is None:
        return set()
    return {each for argument in command.assemble_argument_collection() for each in argument.names}


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does."""
    raise KeyboardInterrupt
