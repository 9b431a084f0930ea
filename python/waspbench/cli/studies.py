"""Making and resuming studies for a person: progress on standard error, the result on standard output."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from waspbench.cli import calibration_text, dry_run_text, science_text, status, table, twin_text
from waspbench.cli.drawing import side_by_side
from waspbench.cli.outputs import Outputs
from waspbench.cli.progress import ProgressLine
from waspbench.colour import paint
from waspbench.errors import InputError, WaspError
from waspbench.experiment import Mode
from waspbench.experiment.sweep import Point
from waspbench.experiment.sweep import text_of as point_text
from waspbench.live import choose_mode
from waspbench.results import Result, catalogue, default_directory, observed, server_work
from waspbench.results.brief import notes
from waspbench.results.calibration import CalibrationResult
from waspbench.results.capacity import CapacityResult
from waspbench.results.lines import told_of_sessions
from waspbench.results.reasons import longest
from waspbench.results.remarks import remarks
from waspbench.results.study import StudyPlan, StudyPoint, StudyResult, is_study
from waspbench.results.twins import TwinResult
from waspbench.runner.pipeline import Pipeline, check_jobs
from waspbench.runner.searches import LENGTHS
from waspbench.runner.stages import Stages
from waspbench.runner.study import Study, prepare

R = TypeVar("R")


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
) -> status.Status:
    """Makes a study and prints its result, or with ``dry_run`` what it would be; returns the exit status."""
    outputs.check(dry_run=dry_run)
    plan, found, directory = prepared(
        document,
        output,
        mode=mode,
        jobs=jobs,
        thresholds=thresholds,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
        quiet=outputs.quiet,
    )
    if dry_run:
        print(dry_run_text.experiment(found, "live" if plan.mode == "live" else "sim", jobs), end="")
        return status.Status.DONE
    return made(Study.begin(plan, found, directory), jobs, outputs)


def prepared(
    document: Mapping[str, Any],
    output: Path | None,
    how: Callable[..., tuple[StudyPlan, list[Point]]] = prepare,
    *,
    mode: Mode | None = None,
    jobs: int | None = None,
    quiet: bool = False,
    **more: Any,
) -> tuple[StudyPlan, list[Point], Path]:
    """What `Pipeline.begin` takes: what ``how`` makes of an experiment, and where its results go. Unless ``quiet``, the
    mode and why it was chosen go to standard error.
    """
    directory = output or default_directory(str(document.get("name")))
    plan, found = how(document, directory, mode=mode, **more)
    check_jobs(jobs, plan)
    if not quiet:
        print(f"{plan.mode}: {choose_mode(mode, found[0].experiment)[1]}", file=sys.stderr)
    if plan.mode == "sim" and "server.kind" in found[0].settings and not quiet:
        print("note: one modelled server takes the place of all of server.kind in a simulation", file=sys.stderr)
    return plan, found, directory


Shown = StudyResult | CapacityResult | CalibrationResult | TwinResult
"""What is printed."""


def made(study: Pipeline[Shown] | Stages[Shown], jobs: int | None, outputs: Outputs) -> status.Status:
    """Makes what is left of experiments of any kind and prints their result; returns the exit status."""
    if isinstance(study, Stages):
        _refuse_checks(outputs, study.plan.kind)
    result = followed(study, jobs, quiet=outputs.quiet)
    if result is None:
        return status.Status.INTERRUPTED
    print(text(result, outputs.json), end="", flush=True)
    if not isinstance(result, CalibrationResult | TwinResult):
        outputs.write(result)
    return ended(study, result)


def _refuse_checks(outputs: Outputs, kind: str) -> None:
    """Refuses files that are about checks."""
    for flag, path in (("--junit", outputs.junit), ("--markdown", outputs.markdown)):
        if path is not None:
            raise InputError.at(flag, f"is for checks, and a {kind} has none; leave it out", str(path))


def followed(study: Pipeline[R] | Stages[R], jobs: int | None = None, *, quiet: bool = False) -> R | None:
    """Makes what is left, shows how far it is unless ``quiet``, and puts the results into the catalogue; None if it was
    interrupted before anything was measured.
    """
    try:
        with ProgressLine(sys.stderr, quiet=quiet) as line:
            result = study.run(jobs=jobs, on_progress=line)
    except KeyboardInterrupt:
        has_pilots = any(study.directory.rglob(LENGTHS))
        rest = "goes on with its pilot runs" if has_pilots else "makes its runs"
        how = f"; wasp resume {study.directory} {rest}" if is_study(study.directory) else ""
        status.complain([f"interrupted before anything was measured{how}"])
        return None
    except WaspError:
        if is_study(study.directory) and not study.empty:
            register(study.directory)
        raise
    register(study.directory)
    return result


def ended(study: Pipeline[Any] | Stages[Any], result: Shown) -> status.Status:
    """The exit status of what was printed; says how to go on where runs are missing."""
    if study.stopped and not result.complete:
        return interrupted(study)
    if isinstance(result, TwinResult):
        return twin_text.status(result)
    checks = [] if isinstance(result, CalibrationResult) else result.checks
    return status.outcome(checks, valid=result.valid)


def interrupted(study: Pipeline[Any] | Stages[Any]) -> status.Status:
    """Says how to go on with what was interrupted; the exit status."""
    status.complain([f"interrupted; wasp resume {study.directory} makes the rest"])
    return status.Status.INTERRUPTED


def register(directory: Path) -> None:
    """Puts results into the catalogue. That it cannot be written is said, and changes nothing else."""
    try:
        catalogue.register(directory)
    except (OSError, sqlite3.Error, InputError) as error:
        print(f"wasp: not in the catalogue: {error}", file=sys.stderr)


def text(result: Shown, json: bool) -> str:
    """What is printed: the one result of an experiment without a sweep, a line for each point, each capacity, the costs
    of a server, or both sides of a twin.
    """
    if isinstance(result, TwinResult):
        return result.to_json() + "\n" if json else twin_text.text(result)
    if isinstance(result, CalibrationResult):
        return result.to_json() + "\n" if json else calibration_text.text(result)
    if isinstance(result, CapacityResult):
        return result.to_json() + "\n" if json else science_text.capacity(result) + _checks(result)
    only = result.points[0].result if len(result.points) == 1 else None
    if json:
        shown: Result | StudyResult = result if only is None else only.model_copy(update={"checks": result.checks})
        return shown.to_json() + "\n"
    found = [observed.listing(result), server_work.listing(result)]
    below = [line for listing in found if listing is not None for line in ("", *listing.terminal())]
    lines = table.report(only.model_copy(update={"results": result.results}), below) if only else report(result, below)
    for point in result.points:
        if point.result is not None:
            lines += "".join(f"{_at(point.varied)}{remark}\n" for remark in remarks(point.result))
    return lines + _checks(result)


def _checks(result: StudyResult | CapacityResult) -> str:
    return "".join(f"{science_text.check(check)}\n" for check in result.checks)


def report(result: StudyResult, below: Sequence[str] = ()) -> str:
    """A table with a line for each point, and for each group of clients at it where there are several. ``below`` are
    the lines of the tables of observed links and of the server's work.
    """
    lines = [f"{result.name}: {result.mode}, {len(result.points)} points, seed {result.seed}", ""]
    lines += [*result.listing.terminal(), *_by_request(result), *below, *side_by_side(result)]
    reasons = [f"{_at(point.varied)}{text}" for point in result.points for text in against(point)]
    advice = longest(point.result.advice for point in result.points if point.result is not None)
    lines += (
        _listed(paint("Not to be trusted:", "bad"), reasons)
        + _listed("Advice:", [] if advice is None else [advice.text])
        + _listed("Notes:", notes(result))
    )
    if not result.complete:
        lines += ["", f"{paint('Not complete:', 'bad')} some points have not all their runs."]
    return "\n".join([*lines, "", f"results: {result.results}"]) + "\n"


def _by_request(result: StudyResult) -> list[str]:
    """A line for each named request at each point, and for whole sessions, and what these did."""
    listing = result.listing_by_request
    if not listing.rows:
        return []
    made = [(point.varied, point.result) for point in result.points if point.result is not None]
    told = [f"{_at(varied)}{text}" for varied, own in made for text in told_of_sessions(own)]
    return ["", *listing.terminal(), *_listed("Sessions:", told)]


def against(point: StudyPoint) -> list[str]:
    """What speaks against a point."""
    if point.result is None:
        return [f"no run came to its end: {point.failure}"] if point.failure else []
    return [f"{reason.message} [{reason.code}]" for reason in point.result.invalid_reasons]


_MOST_LISTED = 20


def _listed(head: str, texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    more = len(texts) - _MOST_LISTED
    lines = ["", head, *(f"- {text}" for text in texts[:_MOST_LISTED])]
    return [*lines, f"- and {more} more; see the manifests"] if more > 0 else lines


def _at(varied: Mapping[str, Any]) -> str:
    return f"{point_text(varied)}: " if varied else ""
