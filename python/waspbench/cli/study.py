"""``wasp run`` and ``wasp resume``: experiments that a file describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from waspbench.cli.options import (
    DryRun,
    EmulatorCpus,
    FileArgument,
    Jobs,
    Json,
    JUnit,
    Markdown,
    Mode,
    Output,
    Percentiles,
    Quiet,
    ServerCpus,
    Settings,
    Thresholds,
)
from waspbench.cli.outputs import Outputs


def run(
    file: FileArgument,
    /,
    *,
    mode: Mode = None,
    settings: Settings = None,
    thresholds: Thresholds = None,
    percentiles: Percentiles = None,
    dry_run: DryRun = False,
    jobs: Jobs = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    json: Json = False,
    junit: JUnit = None,
    markdown: Markdown = None,
    quiet: Quiet = False,
    output: Output = None,
) -> int:
    """Run the experiment of a file: every point of its sweep, and its checks."""
    from waspbench.experiment.load import parse

    document = document_of(file, settings, mode, percentiles)
    asked = parse(document).mode
    from waspbench.cli import studies

    return studies.begin(
        document,
        output=output,
        mode=asked,
        thresholds=thresholds or [],
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
        jobs=jobs,
        dry_run=dry_run,
        outputs=Outputs(json, junit, markdown, quiet),
    )


def resume(
    directory: Annotated[Path, Parameter(name="DIR", help="Results that are not complete.")],
    /,
    *,
    jobs: Jobs = None,
    json: Json = False,
    junit: JUnit = None,
    markdown: Markdown = None,
    quiet: Quiet = False,
) -> int:
    """Go on with an interrupted experiment: make the runs that its results lack."""
    from waspbench.cli import studies
    from waspbench.runner.api import opened

    outputs = Outputs(json, junit, markdown, quiet)
    outputs.check()
    return studies.made(opened(directory), jobs, outputs)


def document_of(
    file: Path, settings: list[str] | None, mode: str | None, percentiles: str | None = None
) -> dict[str, Any]:
    """The content of an experiment file, with what the flags set."""
    from waspbench.experiment.load import apply, read, value_of

    document = apply(read(file), settings or [])
    set_percentiles(document, percentiles)
    if mode is not None:
        document["mode"] = value_of(mode)
    return document


def set_percentiles(document: dict[str, Any], text: str | None) -> None:
    """Sets what ``--percentiles`` asks for in the content of an experiment file, if it was given."""
    if text is not None:
        from waspbench.experiment.load import set_path
        from waspbench.experiment.metrics import asked_percentiles

        set_path(document, "measure.percentiles", [float(name[1:]) for name in asked_percentiles(text)])
