"""Making and resuming studies for a person: progress on standard error, the result on standard output."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from waspbench.cli import status, table
from waspbench.cli.progress import ProgressLine, text_of
from waspbench.errors import Argument, InputError, RunFailedError
from waspbench.experiment import Mode
from waspbench.experiment.conditions import Condition, all_of
from waspbench.experiment.sweep import Point
from waspbench.experiment.sweep import text_of as point_text
from waspbench.live import choose_mode
from waspbench.results import Result, catalogue, default_directory
from waspbench.results.checks import Check, judge, junit, markdown, notes
from waspbench.results.columns import GROUP, POINTS, aligned, has_groups, left_of, point_heads, point_lines
from waspbench.results.reasons import longest
from waspbench.results.records import records_of
from waspbench.results.remarks import remarks
from waspbench.results.study import StudyResult
from waspbench.runner.campaign import StudyProgress
from waspbench.runner.study import Study, prepare
from waspbench.runner.timing import estimate
from waspbench.session import Progress

WIDTH = 80


@dataclass(frozen=True)
class Outputs:
    """What is to come out beside the results."""

    json: bool = False
    junit: Path | None = None
    markdown: Path | None = None


class StudyLine(ProgressLine):
    """Shows a study's progress: a line a second of the run that is made here, or one for each finished run."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._shown = -1

    def study(self, progress: StudyProgress) -> None:
        """Shows ``progress``."""
        if progress.sample is not None:
            what = None if progress.pilot is None else f"pilot {progress.pilot}"
            line = text_of(Progress(progress.done, progress.total, **progress.sample), what)
            left = "" if progress.left is None or progress.total < 2 else f"  {clock(progress.left)} left"
            self._show(line + left if len(line + left) < WIDTH else line)
        elif self._in_place or progress.done != self._shown:
            self._shown = progress.done
            self._show(line_of(progress))

    def _show(self, line: str) -> None:
        self._write(f"\r\x1b[K{line}" if self._in_place else f"{line}\n")


def line_of(progress: StudyProgress) -> str:
    """One line of at most 79 characters."""
    left = "" if progress.left is None else f", {clock(progress.left)} left"
    failed = f", {progress.failed} failed" if progress.failed else ""
    pilot = "" if progress.pilot is None else f", pilot {progress.pilot}"
    return f"{progress.done} of {progress.total} runs{pilot}{left}{failed}  {progress.at}".rstrip()[: WIDTH - 1]


def clock(seconds: float) -> str:
    """A length of time as people say it: 45 s, 3 min, 2 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def begin(
    document: Mapping[str, Any],
    *,
    output: Path | None,
    mode: Mode | None = None,
    thresholds: Sequence[str] = (),
    server_cpus: str | None = None,
    emulator_cpus: str | None = None,
    jobs: int | None = None,
    dry_run: bool = False,
    outputs: Outputs,
) -> int:
    """Makes a study and prints its result, or with ``dry_run`` what it would be; returns the exit status."""
    conditions = all_of({}, thresholds, Argument("thresholds"))
    directory = output or default_directory(str(document.get("name")))
    plan, found = prepare(
        document,
        directory,
        mode=mode,
        thresholds=thresholds,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
    )
    first = found[0].experiment
    print(f"{plan.mode}: {choose_mode(mode, first)[1]}", file=sys.stderr)
    if dry_run:
        print(dry(found, "live" if plan.mode == "live" else "sim", jobs), end="")
        return status.Status.DONE
    conditions = [*all_of(first.thresholds, (), "assert"), *conditions]
    return _made(Study.begin(plan, found, directory), conditions, jobs, outputs)


def go_on(directory: Path, *, jobs: int | None, outputs: Outputs) -> int:
    """Makes what is left of a study and prints its result."""
    study = Study.open(directory)
    conditions = all_of(study.points[0].experiment.thresholds, study.plan.thresholds, Argument("thresholds"))
    return _made(study, conditions, jobs, outputs)


def _made(study: Study, conditions: Sequence[Condition], jobs: int | None, outputs: Outputs) -> int:
    with StudyLine(sys.stderr) as line:
        result, interrupted = _followed(study, jobs, line.study)
    if result is None or (interrupted and not _measured(result)):
        rest = "" if result is None else f"; wasp resume {study.directory} goes on with its pilot runs"
        status.complain([f"interrupted before anything was measured{rest}"])
        return status.Status.INTERRUPTED
    register(study.directory)
    checks = judge(result, conditions)
    _write(outputs, result, checks)
    print(text(result, checks, outputs.json), end="")
    if interrupted:
        status.complain([f"interrupted; wasp resume {study.directory} makes the rest"])
        return status.Status.INTERRUPTED
    return outcome(result, checks)


def _followed(
    study: Study, jobs: int | None, shown: Callable[[StudyProgress], object]
) -> tuple[StudyResult | None, bool]:
    """The result, None if there is nothing to keep; and whether it was interrupted."""
    try:
        result = study.run(jobs=jobs, on_progress=shown)
    except KeyboardInterrupt:
        return (None if study.discard_if_empty() else study.summarise()), True
    except BaseException:
        study.discard_if_empty()
        raise
    if not _measured(result):
        raise RunFailedError(_first_failure(study))
    return result, False


def _measured(result: StudyResult) -> bool:
    return any(point.result is not None for point in result.points)


def register(directory: Path) -> None:
    """Puts results into the catalogue. That it cannot be written is said, and changes nothing else."""
    try:
        catalogue.register(directory)
    except (OSError, sqlite3.Error, InputError) as error:
        print(f"wasp: not in the catalogue: {error}", file=sys.stderr)


def _first_failure(study: Study) -> str:
    failures = [
        record.failure for point in study.points for record in records_of(study.place(point.index)) if record.failure
    ]
    study.discard_if_empty()
    return failures[0] if failures else "no run was finished"


def outcome(result: StudyResult, checks: Sequence[Check]) -> status.Status:
    """The exit status of a finished study."""
    if any(not check.passed for check in checks):
        return status.Status.CHECK_FAILED
    return status.Status.DONE if result.valid else status.Status.INVALID


def _write(outputs: Outputs, result: StudyResult, checks: Sequence[Check]) -> None:
    for flag, path, content in (
        ("--junit", outputs.junit, junit),
        ("--markdown", outputs.markdown, markdown),
    ):
        if path is None:
            continue
        try:
            path.write_text(content(result, checks), encoding="utf-8")
        except OSError as error:
            raise InputError.at(flag, f"cannot be written: {error.strerror}", str(path)) from None


def text(result: StudyResult, checks: Sequence[Check], json: bool) -> str:
    """What is printed: the one result of an experiment without a sweep, or a line for each point."""
    only = result.points[0].result if len(result.points) == 1 else None
    if json:
        shown: Result | StudyResult = result if only is None else only
        return (shown.model_copy(update={"checks": list(checks)}) if checks else shown).to_json() + "\n"
    lines = table.report(only.model_copy(update={"results": result.results})) if only else report(result)
    for point in result.points:
        if point.result is not None:
            lines += "".join(f"{_at(point.varied)}{remark}\n" for remark in remarks(point.result))
    return lines + "".join(f"{'passed' if check.passed else 'FAILED'}  {_line(check)}\n" for check in checks)


def _line(check: Check) -> str:
    at = f" at {point_text(check.varied)}" if check.varied else ""
    return f"{check.condition}{at}: {check.why}"


def report(result: StudyResult) -> str:
    """A table with a line for each point, and for each group of clients at it where there are several."""
    swept = list(dict.fromkeys(path for point in result.points for path in point.varied))
    names = _short(swept)
    by_group = has_groups(point.result for point in result.points)
    rows = [
        [*(_value(point.varied.get(path)) for path in swept), *line]
        for point in result.points
        for line in point_lines(point.result, by_group=by_group)
    ]
    lines = [f"{result.name}: {result.mode}, {len(result.points)} points, seed {result.seed}", ""]
    lines += aligned([*names.values(), *point_heads(by_group=by_group)], rows, [GROUP, *left_of(POINTS)])
    reasons = [
        f"{_at(point.varied)}{reason.message} [{reason.code}]"
        for point in result.points
        if point.result is not None
        for reason in point.result.invalid_reasons
    ]
    advice = longest(point.result.advice for point in result.points if point.result is not None)
    lines += (
        _listed("Not to be trusted:", reasons)
        + _listed("Advice:", [] if advice is None else [advice.text])
        + _listed("Notes:", notes(result))
    )
    if not result.complete:
        lines += ["", "Not complete: some points have not all their runs."]
    return "\n".join([*lines, "", f"results: {result.results}"]) + "\n"


_MOST_LISTED = 20


def _listed(head: str, texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    more = len(texts) - _MOST_LISTED
    lines = ["", head, *(f"- {text}" for text in texts[:_MOST_LISTED])]
    return [*lines, f"- and {more} more; see the manifests"] if more > 0 else lines


def _at(varied: Mapping[str, Any]) -> str:
    return f"{point_text(varied)}: " if varied else ""


def _short(paths: Sequence[str]) -> dict[str, str]:
    """The shortest ends of the paths that tell them apart."""
    short = {}
    for path in paths:
        steps = path.split(".")
        for length in range(1, len(steps) + 1):
            name = ".".join(steps[-length:])
            if sum(other == name or other.endswith("." + name) for other in paths) == 1:
                break
        short[path] = name
    return short


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(map(_value, value.values()))
    return "-" if value is None else value if isinstance(value, str) else str(value)


def dry(found: Sequence[Point], mode: Mode, jobs: int | None) -> str:
    """The points and the time that they will take."""
    measure = found[0].experiment.measure
    runs = f"{measure.runs} to {measure.until.max_runs}" if measure.until else str(measure.runs)
    lines = [f"{point.index:>5}  {point_text(point.settings)}".rstrip() for point in found]
    total = len(found) * measure.runs
    about = clock(estimate(found, mode, jobs))
    least = "at least " if measure.open_ended else ""
    return "\n".join([f"{len(found)} points, {runs} runs each:", *lines, f"{least}{total} runs, about {about}"]) + "\n"
