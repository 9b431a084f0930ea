"""``wasp compare`` and ``wasp normality``: what runs say of a difference, and of their own distribution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from waspbench.cli import status
from waspbench.cli.options import Json, JUnit, Markdown, Mode, Output, Percentiles, Quiet, Settings, Text
from waspbench.cli.outputs import Outputs
from waspbench.cli.study import document_of
from waspbench.errors import InputError
from waspbench.experiment.field_error import FieldError
from waspbench.experiment.metrics import (
    VALID,
    VALID_COMPARED,
    Known,
    Metric,
    asked_percentiles,
    check_known,
    percentiles_of,
)
from waspbench.experiment.metrics import metric as figure_of
from waspbench.stats.levels import ALPHA, NORMALITY_RUNS

if TYPE_CHECKING:
    from waspbench.experiment import Mode as ModeName
    from waspbench.results.study import StudyResult
    from waspbench.runner.study import Study


_BY_GROUP = (
    "phones.p95 is that of the group phones, request:login.p95 that of the requests called "
    "login, sessions.p95 that of whole sessions."
)
_COMPARED = f"Figure to compare: {VALID_COMPARED}. {_BY_GROUP}"
_JUDGED = f"Figure to judge: {VALID}. {_BY_GROUP}"


def compare(
    first: Annotated[str, Parameter(name="A", help="Results: DIR, or points of it: DIR@path=value,path=value.")],
    second: Annotated[str, Parameter(name="B", help="Results to compare with A.")],
    /,
    *,
    metric: Annotated[
        str,
        Parameter(
            metavar="NAME",
            show_default=True,
            help=_COMPARED,
        ),
    ] = "throughput",
    alpha: Annotated[
        float,
        Parameter(
            metavar="PROBABILITY",
            show_default=True,
            help="Significance level: the chance to report a difference at any point if there is none.",
        ),
    ] = ALPHA,
    fail_on: Annotated[
        Text,
        Parameter(
            metavar="slower:P",
            help="Largest slowdown of B against A, such as slower:5%. The command ends with status 1 if the 90 % "
            "confidence interval at a point shows a larger one, and with 5 if it does not decide, or if A or B has "
            "fewer than 5 runs.",
        ),
    ] = None,
    percentiles: Percentiles = None,
    json: Json = False,
    junit: JUnit = None,
    markdown: Markdown = None,
) -> int:
    """Say whether B is faster or slower than A, by how much, and how sure that is."""
    from waspbench.cli import science_text as words
    from waspbench.results.comparing import compare_results

    outputs = Outputs(json, junit, markdown)
    outputs.check()
    if junit is not None and fail_on is None:
        raise InputError.at("--junit", "has no checks to write without --fail-on", str(junit))
    asked = None if percentiles is None else asked_percentiles(percentiles)
    result = compare_results(first, second, metric, alpha, percentiles=asked, fail_on=fail_on)
    print(result.to_json() if json else words.comparison(result), end="\n" if json else "", flush=True)
    outputs.write(result)
    return status.outcome(result.checks, valid=result.valid)


def normality(
    source: Annotated[Path, Parameter(name="FILE|DIR", help="An experiment to run, or a directory of results.")],
    /,
    *,
    runs: Annotated[
        int,
        Parameter(
            metavar="N",
            show_default=True,
            validator=Number(gte=3, lte=1000),
            help="Number of runs to make of an experiment.",
        ),
    ] = NORMALITY_RUNS,
    metric: Annotated[str, Parameter(metavar="NAME", show_default=True, help=_JUDGED)] = "throughput",
    mode: Mode = None,
    settings: Settings = None,
    json: Json = False,
    quiet: Quiet = False,
    output: Output = None,
) -> int:
    """Test whether the runs are normally distributed, as the intervals assume."""
    asked = _figure(metric)
    directory = source
    if not source.is_dir():
        from waspbench.cli import studies
        from waspbench.experiment.load import parse
        from waspbench.experiment.model import known_in

        document = document_of(source, [*(settings or []), f"measure.runs={runs}"], mode)
        described = parse(document)
        _figure(metric, known_in(described))
        study = _begun(document, source, described.mode, output, quiet=quiet)
        found = studies.followed(study, quiet=quiet)
        if found is None:
            return status.Status.INTERRUPTED
        if study.stopped and not found.complete:
            return studies.interrupted(study)
        directory = study.directory
    from waspbench.results.study import load_study

    return _judged(load_study(directory, judged_percentiles=percentiles_of([asked])), directory, asked, json)


def _figure(text: str, known: Known | None = None) -> Metric:
    """The figure that ``--metric`` names; what it names must be ``known``, where that is given."""
    try:
        found = figure_of(text)
        if known is not None:
            check_known(found, known)
    except FieldError as error:
        raise InputError.at("--metric", str(error), text) from None
    return found


def _begun(
    document: dict[str, object], source: Path, mode: ModeName | None, output: Path | None, *, quiet: bool
) -> Study:
    """The runs of an experiment of one point."""
    from waspbench.cli import studies
    from waspbench.experiment.sweep import points
    from waspbench.runner.study import Study

    if len(points(document)) != 1:
        raise InputError.at(str(source), "has a sweep; normality is judged at one point: --set 'sweep={}'")
    return Study.begin(*studies.prepared(document, output, mode=mode, quiet=quiet))


def _judged(loaded: StudyResult, source: Path, metric: Metric, json: bool) -> int:
    from waspbench.cli import science_text as words
    from waspbench.results.normal import judge_normality
    from waspbench.stats.normality import ValuesError

    only = loaded.points[0].result if len(loaded.points) == 1 else None
    if only is None:
        raise InputError.at(str(source), "must be results of one point")
    try:
        result = judge_normality(only, metric)
    except ValuesError as error:
        raise InputError.at(str(source), f"{metric} of its runs: {error.message}") from None
    print(result.to_json() if json else words.normality(result), end="\n" if json else "")
    if not only.valid:
        return status.Status.INVALID
    return status.Status.DONE if result.normal else status.Status.CHECK_FAILED
