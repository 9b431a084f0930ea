"""``wasp bench``: a measurement with flags instead of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from waspbench.cli import flags
from waspbench.cli.options import (
    EmulatorCpus,
    Json,
    JUnit,
    Markdown,
    Output,
    Percentiles,
    Quiet,
    ServerCpus,
    Settings,
    Text,
    Thresholds,
)
from waspbench.cli.outputs import Outputs
from waspbench.cli.study import set_percentiles
from waspbench.errors import renamed

_URL = "URL to ask for, of a server that already runs on this machine, such as http://127.0.0.1:8080/."


def bench(
    url: Annotated[Text, Parameter(name="URL", help=_URL)] = None,
    /,
    *,
    given: Annotated[flags.Flags, Parameter(name="*")] = flags.NONE,
    settings: Settings = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    thresholds: Thresholds = None,
    percentiles: Percentiles = None,
    json: Json = False,
    junit: JUnit = None,
    markdown: Markdown = None,
    quiet: Quiet = False,
    output: Output = None,
) -> int:
    """Measure a server, with flags instead of a file."""
    values = {"url": url, **asdict(given)}
    with renamed(flags.flag_of_field(values)):
        document = flags.with_settings(flags.document("bench", values), values, settings or [])
        set_percentiles(document, percentiles)
        outputs = Outputs(json, junit, markdown, quiet)
        return _measured(document, values, thresholds or [], server_cpus, emulator_cpus, output, outputs)


def _measured(
    document: Mapping[str, Any],
    values: Mapping[str, Any],
    thresholds: Sequence[str],
    server_cpus: str | None,
    emulator_cpus: str | None,
    output: Path | None,
    outputs: Outputs,
) -> int:
    """Makes the measurement in ``document`` that flags describe; ``values`` is what was given for each, or None."""
    from waspbench.experiment.load import parse

    described = parse(document)
    from waspbench.cli import studies
    from waspbench.live import choose_mode

    flags.check_effects(choose_mode(None, described)[0], values)
    return studies.begin(
        document,
        output=output,
        mode=described.mode,
        thresholds=thresholds,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
        outputs=outputs,
    )
