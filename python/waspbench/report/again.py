"""How to make results again: the commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from waspbench.experiment.search import FINDS
from waspbench.report.content import Block, Section, Words, code
from waspbench.report.sources import ComparisonSource, Origin, SearchSource
from waspbench.report.toml import toml
from waspbench.results.chosen import split
from waspbench.results.regression import CAPACITY

_UNASKED = ("throughput", CAPACITY, *FINDS)
"""What is compared unless ``--metric`` says otherwise."""


UNREAD = "This version of waspbench cannot read the experiment file, so that nothing is said of checks and costs."

MOST_LINES = 40
"""Lines of an experiment file that the page shows unasked."""


def of_study(origin: Origin, name: str) -> Section:
    """The file and the commands that make again a bench or a sweep, which was called by a ``name``."""
    return _again([("", origin)], [_run(origin, _file(origin), "again"), *_chosen(name)])


def of_search(origin: Origin, name: str) -> Section:
    """The same of a search."""
    return _again([("", origin)], [_capacity(origin, _file(origin), "again"), *_chosen(name)])


def _chosen(name: str) -> list[str]:
    """The command that chooses the same points again, if not all were."""
    directory, chosen = split(name)
    return [shlex.join(["wasp", "report", f"again{name.removeprefix(directory)}"])] if chosen else []


def of_comparison(source: ComparisonSource) -> Section:
    """The files and the commands that make all sides again and compare them; sides in one directory are made once."""
    letters: dict[str, str] = {}
    for letter, side in source.lettered:
        letters.setdefault(side.origin.directory, letter.lower())
    made = {letters[side.origin.directory]: side for side in reversed(source.sides)}
    once = [(letter, made[letter]) for letter in letters.values()]
    commands = [
        (_capacity if isinstance(side, SearchSource) else _run)(side.origin, f"{letter}.toml", f"again-{letter}")
        for letter, side in once
    ]
    first = source.comparisons[0]
    names = [first.a, *(found.b for found in source.comparisons)]
    places = [side.origin.directory for side in source.sides]
    sides = [f"again-{letters[place]}{name.removeprefix(place)}" for name, place in zip(names, places, strict=True)]
    verb = "compare" if len(names) == 2 else "report"
    commands.append(shlex.join(["wasp", verb, *sides, *metric_flag(first.metric)]))
    return _again([(letter, side.origin) for letter, side in once], commands)


def resume(origin: Origin) -> str:
    """How runs that are missing are made."""
    return f"{shlex.join(['wasp', 'resume', origin.directory])} makes the rest"


def metric_flag(metric: str | None) -> list[str]:
    """What asks for the comparison of a figure; nothing for throughput and for what searches found."""
    return [] if metric is None or metric in _UNASKED else ["--metric", metric]


def _again(origins: Sequence[tuple[str, Origin]], commands: Sequence[str]) -> Section:
    """The section on results, each with its letter; a single one needs none."""
    files = [f"{letter}.toml" if letter else _file(origin) for letter, origin in origins]
    named = " and ".join([", ".join(files[:-1]), files[-1]] if len(files) > 1 else files)
    blocks: list[Block] = [
        Words(text=f"Save the experiment file{'s' if len(files) > 1 else ''} below as {named}, and run:")
    ]
    blocks.append(code("", "\n".join(commands) + "\n", "sh"))
    versions = {origin.versions.get("waspbench") for _, origin in origins} - {None}
    by = f" of waspbench {', '.join(sorted(map(str, versions)))}" if versions else ""
    if all(origin.mode == "sim" for _, origin in origins):
        said = "The same build of waspbench gives the same figures to the last digit, on any machine"
        blocks.append(Words(text=f"{said}. These results are{by or ' of a version that they do not tell'}."))
    else:
        said = "In a live run one seed gives the same requests and the same pattern of loss; times vary"
        blocks.append(Words(text=f"{said}. These results are{by or ' of a version that they do not tell'}."))
    for (_, origin), file in zip(origins, files, strict=True):
        blocks += _experiment(origin, file)
    return Section(name="again", title="How to make it again", blocks=blocks)


def _experiment(origin: Origin, file: str) -> Iterator[Block]:
    """The experiment file, and the same with every default."""
    if not origin.points:
        yield Words(text=UNREAD, tone="doubt")
    text = toml(origin.document)
    yield code(file, text, "toml", folded=text.count("\n") > MOST_LINES)
    if origin.plan is not None and origin.whole:
        yield code(f"{file} with every default, as the first point had it", toml(origin.whole), "toml", folded=True)


def _file(origin: Origin) -> str:
    return f"{origin.name}.toml"


def _placed(origin: Origin) -> list[str]:
    """The mode and the CPUs, as flags."""
    words = ["--mode", origin.mode]
    if origin.plan is not None:
        for flag, cpus in (("--server-cpus", origin.plan.server_cpus), ("--emulator-cpus", origin.plan.emulator_cpus)):
            words += [flag, cpus] if cpus else []
    return words


def _run(origin: Origin, file: str, output: str) -> str:
    asserts = [] if origin.plan is None else [word for text in origin.plan.thresholds for word in ("--assert", text)]
    return shlex.join(["wasp", "run", file, *_placed(origin), *asserts, "-o", output])


def _capacity(origin: Origin, file: str, output: str) -> str:
    search = {} if origin.plan is None else origin.plan.search
    find = str(search.get("find") or "throughput")
    words = ["wasp", "capacity", file, "--find", find]
    words += [word for text in search.get("objectives", ()) for word in ("--slo", str(text))]
    for name in ("low", "high", "at_least"):
        if search.get(name) is not None:
            unit = "/s" if find == "rate" else ""
            words += [f"--{name.replace('_', '-')}", f"{search[name]:.10g}{unit}"]
    if search.get("method") == "sweep":
        words.append("--sweep")
    else:
        for flag, name in (("--max-runs", "most"), ("--confirm", "confirm")):
            words += [flag, str(search[name])] if search.get(name) is not None else []
    return shlex.join([*words, *_placed(origin), "-o", output])
