"""What is printed of a calibration."""

from __future__ import annotations

import textwrap

from waspbench.colour import paint
from waspbench.results.calibration import MODEL, CalibrationResult

_WIDTH = 100


def text(result: CalibrationResult) -> str:
    """The costs, the points that they follow from, and what the runs cannot tell."""
    lines = [_head(result), ""]
    if result.costs:
        lines += [*result.costs_listing.terminal(), ""]
    lines += [*result.listing.terminal(), ""]
    if result.error is not None and result.worst is not None:
        error, worst = f"{100 * result.error:.1f} %", f"{100 * result.worst:.1f} %"
        lines += [f"error of the costs: {error} (standard deviation), at most {worst}", ""]
    if result.not_told:
        lines += ["What the runs cannot tell:", *(line for said in result.not_told for line in _wrapped(said)), ""]
    if not result.complete:
        lines += [f"{paint('Not complete:', 'bad')} runs are missing.", ""]
    elif not result.valid:
        lines += [f"{paint('NOT VALID:', 'bad')} {result.why}.", ""]
    if result.model and result.complete:
        lines.append(f"model: {result.results}/{MODEL}, for server.model.file")
    return "\n".join([*lines, f"results: {result.results}"]) + "\n"


def _head(result: CalibrationResult) -> str:
    own = result.server
    server = " ".join(str(own[name]) for name in ("name", "version") if own.get(name)) or own["kind"]
    cpus = "1 CPU" if own["cpus"] == 1 else f"{own['cpus']} CPUs"
    return f"{result.name}: {result.mode}, {server}, {cpus}, {len(result.points)} trials, seed {result.seed}"


def _wrapped(said: str) -> list[str]:
    return textwrap.wrap(said, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
