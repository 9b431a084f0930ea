"""``wasp calibrate``: what the work of a server costs, as a model for simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from waspbench.cli import flags, status
from waspbench.cli.options import (
    MACHINE,
    MEASURE,
    DryRun,
    EmulatorCpus,
    Jobs,
    Json,
    Output,
    Quiet,
    ServerCpus,
    Text,
)
from waspbench.cli.outputs import Outputs
from waspbench.errors import InputError, renamed

if TYPE_CHECKING:
    from waspbench.experiment import Mode
    from waspbench.runner.stages import Prepared

FLAGS = {name: flags.FLAGS[name] for name in ("server", "mpm", "command", "path", "congestion", "seed")}
"""The flags of ``wasp bench`` that say which server is measured."""

if TYPE_CHECKING:
    Flags = Any
else:
    Flags = flags.table("Flags", FLAGS)

NONE = Flags()

_TARGET = (
    "An experiment, of which name, seed and [server] count; or the URL of a server that already runs on this machine, "
    "such as http://127.0.0.1:8080/."
)
_SERVER_ONLY = (
    "has no effect on a calibration, which has clients and requests of its own; name, seed and the fields of server "
    "that a live run uses would be valid"
)


def calibrate(
    target: Annotated[Text, Parameter(name="FILE.toml|URL", help=_TARGET)] = None,
    /,
    *,
    given: Annotated[Flags, Parameter(name="*")] = NONE,
    settings: Annotated[
        list[str] | None,
        Parameter(
            name="--set",
            metavar="PATH=VALUE",
            group=MEASURE,
            help="Set a field of the server, such as server.congestion=bbr; may be repeated.",
        ),
    ] = None,
    runs: Annotated[
        int,
        Parameter(
            metavar="N",
            group=MEASURE,
            show_default=True,
            validator=Number(gte=1, lte=1000),
            help="Number of runs of each trial. More runs make the costs more certain.",
        ),
    ] = 1,
    quick: Annotated[
        bool, Parameter(group=MEASURE, help="Make fewer and shorter runs. The costs are less certain then.")
    ] = False,
    mode: Annotated[
        Text,
        Parameter(
            name=("--mode", "-m"),
            metavar="live|sim",
            group=MACHINE,
            help="Measure the real server (live), or the modelled one (sim), whose costs are known. [default: live]",
        ),
    ] = None,
    dry_run: DryRun = False,
    jobs: Jobs = None,
    server_cpus: ServerCpus = None,
    emulator_cpus: EmulatorCpus = None,
    json: Json = False,
    quiet: Quiet = False,
    output: Output = None,
) -> int:
    """Measure what the work of a server costs, and write a model of the server for simulations."""
    from waspbench.errors import check_choice

    values = asdict(given)
    by_flags = target is None or "://" in target
    described = values | {"url": target if by_flags else None}
    modes: dict[str, Mode] = {"live": "live", "sim": "sim"}
    chosen = "live" if mode is None else check_choice("--mode", mode, modes)
    _check_settings(settings or [], chosen)
    if by_flags:
        flags.check_effects(chosen, {"access_log": None, **described})
    with renamed(flags.flag_of_field(described, FLAGS) if by_flags else lambda where: where):
        document = _of_flags(described, settings or []) if by_flags else _of_file(str(target), values, settings or [])
        return _made(
            document,
            chosen,
            runs=runs,
            quick=quick,
            output=output,
            dry_run=dry_run,
            jobs=jobs,
            server_cpus=server_cpus,
            emulator_cpus=emulator_cpus,
            outputs=Outputs(json=json, quiet=quiet),
        )


def _of_flags(values: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """What flags say, as the content of an experiment file."""
    return flags.with_settings(flags.document("calibrate", values), values, settings)


def _of_file(file: str, values: Mapping[str, Any], settings: list[str]) -> dict[str, Any]:
    """The content of an experiment file, with what ``--set`` says."""
    from waspbench.cli.study import document_of

    if not file.endswith(".toml") and not Path(file).is_file():
        message = "must be an experiment file (FILE.toml), or a URL such as http://127.0.0.1:8080/"
        raise InputError.at("FILE.toml|URL", message, file)
    for name, value in values.items():
        if value is not None:
            message = f"describes a server without a file; the file says {flags.PATHS[name][0]}, and --set changes it"
            raise InputError.at(flags.flag(name), message, value)
    return document_of(Path(file), settings, None)


def _check_settings(settings: Sequence[str], mode: str) -> None:
    """Refuses settings that a calibration would not obey."""
    unused = {"at"} if mode == "sim" else {"at", "model", "tcp"}
    for setting in settings:
        table, _, field = setting.partition("=")[0].strip().partition(".")
        if table not in ("name", "seed", "server") or field.partition(".")[0] in unused:
            raise InputError.at("--set", _SERVER_ONLY, setting)


def _made(
    document: Mapping[str, Any],
    mode: str,
    *,
    runs: int,
    quick: bool,
    output: Path | None,
    dry_run: bool,
    jobs: int | None,
    server_cpus: str | None,
    emulator_cpus: str | None,
    outputs: Outputs,
) -> int:
    from waspbench.cli import studies
    from waspbench.results import default_directory
    from waspbench.runner.calibration import Calibration, prepare_calibration
    from waspbench.runner.pipeline import check_jobs

    outputs.check(dry_run=dry_run)
    directory = output or default_directory(str(document.get("name")))
    plan, stages = prepare_calibration(
        document,
        directory,
        mode="sim" if mode == "sim" else "live",
        runs=runs,
        quick=quick,
        server_cpus=server_cpus,
        emulator_cpus=emulator_cpus,
    )
    check_jobs(jobs, plan)
    if dry_run:
        print(_dry_run(stages, jobs), end="")
        return status.Status.DONE
    return studies.made(Calibration.begin(plan, directory), jobs, outputs)


def _dry_run(stages: Sequence[Prepared], jobs: int | None) -> str:
    """What ``--dry-run`` prints."""
    from waspbench.cli import dry_run_text
    from waspbench.runner.calibration import Calibration

    made = zip(Calibration.names, stages, strict=True)
    said = [f"{name}: {dry_run_text.experiment(found, plan.mode, jobs)}" for name, (plan, found) in made]
    return "".join(said) + "The pauses (think) of the second stage follow from what the server answers in the first.\n"
