"""What the runs of one experiment (or of one point of a sweep) come to: the result, and the manifest beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from waspbench.experiment import Experiment, settings_used
from waspbench.experiment.inputs import described
from waspbench.experiment.metrics import percentiles
from waspbench.experiment.resolve import about_modelled
from waspbench.experiment.uses import as_document
from waspbench.results import Manifest, Reason, Result, RunSummary, combine
from waspbench.results.lengths import FoundLengths
from waspbench.stats import Populations
from waspbench.workload.serving import site_of


def result_of(
    experiment: Experiment,
    scenario: dict[str, Any],
    runs: Sequence[RunSummary],
    populations: Iterable[Populations],
    *,
    testbed: Mapping[str, Any],
    missing: Reason | None,
    interrupted: bool,
    directory: str | None,
    lengths: FoundLengths | None = None,
    judged_percentiles: Iterable[str] = (),
    models: Mapping[str, str],
) -> Result:
    """The result of ``runs`` (at least one).

    Args:
        experiment: what was run.
        scenario: what the engine was told for the first run.
        runs: their summaries.
        populations: their response times in nanoseconds.
        testbed: what the testbed says of itself; empty in simulation.
        missing: why runs are missing, if any are.
        interrupted: whether it ended before all its runs had been made.
        directory: where the results are.
        lengths: how lengths were found that the experiment leaves open, if it does.
        judged_percentiles: names of percentiles that conditions are about.
        models: texts of model files by their paths.
    """
    if scenario["mode"] == "sim":
        about = about_modelled(experiment, scenario["server"], models)
    else:
        about = testbed.get("server", {})
    scenario = described(scenario)
    return combine(
        runs,
        populations,
        missing=missing,
        percentiles=percentiles(experiment.measure.percentiles),
        judged_percentiles=judged_percentiles,
        name=experiment.name,
        mode=scenario["mode"],
        seed=experiment.seed,
        interrupted=interrupted,
        server={"kind": experiment.server.kind, **about},
        clients=scenario["clients"],
        scenario=scenario,
        site=site_of(experiment, scenario["mode"]),
        results=directory,
        lengths=lengths,
    )


def manifest_of(
    experiment: Experiment,
    result: Result,
    *,
    created: str,
    testbed: Mapping[str, Any],
    tables: Sequence[str],
    host: dict[str, Any],
    made_with: dict[str, str],
    varied: dict[str, Any],
) -> Manifest:
    """The manifest of ``result``: ``host`` is the machine, ``made_with`` the versions of what it was made with."""
    rest = {name: value for name, value in testbed.items() if name not in ("server", "machine")}
    return Manifest(
        created=created,
        name=result.name,
        mode=result.mode,
        seed=result.seed,
        experiment=as_document(experiment),
        settings=settings_used("live" if result.mode == "live" else "sim", experiment.server),
        scenario=result.scenario,
        server=result.server,
        testbed=rest,
        machine=testbed.get("machine") or host,
        versions=made_with,
        valid=result.valid,
        invalid_reasons=result.invalid_reasons,
        interrupted=result.interrupted,
        varied=varied,
        site=result.site,
        lengths=result.lengths,
        runs=result.runs,
        tables=sorted(tables),
    )
