"""Options that several commands share, and the sections of their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from waspbench.errors import Argument

Text = str | None

SERVER = Group("Server", sort_key=1)
CLIENTS = Group("Clients", sort_key=2)
NETWORK = Group("Network", sort_key=3)
WORKLOAD = Group("Workload", sort_key=4)
MEASURE = Group("Measurement", sort_key=5)
MACHINE = Group("Machine", sort_key=6)
OUTPUT = Group("Output", sort_key=7)

Output = Annotated[
    Path | None,
    Parameter(
        name=("--output", "-o"),
        metavar="DIR",
        group=OUTPUT,
        help="New directory for the results. [default: results/<time>-<name>]",
    ),
]
Quiet = Annotated[
    bool,
    Parameter(
        name=("--quiet", "-q"), group=OUTPUT, help="Print only errors on standard error: no progress and no notes."
    ),
]
Json = Annotated[bool, Parameter(group=OUTPUT, help="Print JSON instead of a table.")]
JUnit = Annotated[Path | None, Parameter(metavar="FILE", group=OUTPUT, help="Write the checks as JUnit XML.")]
Markdown = Annotated[Path | None, Parameter(metavar="FILE", group=OUTPUT, help="Write a summary in Markdown.")]
DryRun = Annotated[
    bool, Parameter(group=MEASURE, help="Print the points and how long they will take, and run nothing.")
]
ServerCpus = Annotated[
    Text, Parameter(metavar="LIST", group=MACHINE, help="CPUs of the server in a live run, such as 0 or 0-1.")
]
EmulatorCpus = Annotated[
    Text, Parameter(metavar="LIST", group=MACHINE, help="CPUs of the emulator in a live run; one thread runs on each.")
]
Jobs = Annotated[
    int | None,
    Parameter(
        metavar="N",
        group=MACHINE,
        help="Number of simulated runs of a sweep at the same time; 1 runs them in this process. [default: number of "
        "CPUs]",
    ),
]
FileArgument = Annotated[Path, Parameter(name="FILE.toml", help="The experiment.")]
Mode = Annotated[
    Text,
    Parameter(
        name=("--mode", "-m"),
        metavar="live|sim",
        group=MACHINE,
        help="Measure a real server (live) or a simulated one (sim). [default: live if the machine can]",
    ),
]
Settings = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        metavar="PATH=VALUE",
        group=MEASURE,
        help="Set a field, such as clients.rtt=50ms; may be repeated.",
    ),
]
Thresholds = Annotated[
    list[str] | None,
    Parameter(
        name="--assert",
        metavar="CONDITION",
        group=MEASURE,
        help='Condition that every point must meet, such as "phones.p99 < 800ms"; may be repeated. The command ends '
        "with "
        "status 1 if it fails, and with 5 if it is undecided.",
    ),
]
Percentiles = Annotated[
    Text,
    Parameter(
        name="--percentiles",
        metavar="LIST",
        group=OUTPUT,
        help="Percentiles of response times to show, such as 50,99.9. [default: those of the experiment, or "
        "50,90,95,99,99.9]",
    ),
]
Root = Annotated[
    Path,
    Parameter(
        metavar="DIR", help="Directory to search for results that the catalogue does not know, such as moved ones."
    ),
]

ARGUMENTS = {
    "output": "--output",
    "mode": "--mode",
    "jobs": "--jobs",
    "server_cpus": "--server-cpus",
    "emulator_cpus": "--emulator-cpus",
    "settings": "--set",
    "thresholds": "--assert",
    "search.low": "--low",
    "search.high": "--high",
    "search.most": "--max-runs",
    "search.confirm": "--confirm",
    "search.at_least": "--at-least",
    "search.objectives": "--slo",
    "search.find": "--find",
    "search.method": "--sweep",
    "alpha": "--alpha",
    "metric": "--metric",
    "results": "--results",
    "percentiles": "--percentiles",
    "fail_on": "--fail-on",
    "within": "--within",
    "figure": "--figure",
    "format": "--format",
    "x": "--x",
    "by": "--by",
    "log": "--log-axes",
    "width": "--width",
}
"""The flags that stand for arguments of the library, by the names that its errors give them."""


def flag_of(where: str) -> str:
    """The flag for an argument of the library; anything else as it is."""
    return ARGUMENTS.get(where, where) if isinstance(where, Argument) else where


RESULTS = Path("results")
"""Where results go unless told otherwise, and where they are looked for."""
