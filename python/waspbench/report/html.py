"""A report as one HTML file that asks nothing of any network: style, figures and what draws them are inside."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from waspbench.extras import needed
from waspbench.figures.plotly.values import DARK
from waspbench.report.again import metric_flag
from waspbench.report.content import Drawn, Report
from waspbench.report.markdown import left_out_text
from waspbench.report.plots import Plots, digest, in_page, plots_of

KEPT = ("valid", "result")
"""Heads of columns that stay in sight while a table is scrolled: whether a line is valid, or a check passed."""

BUDGET = 12_000_000
"""Most bytes of a page. Figures that would make it larger are left out, from the last, and the page says which."""

TEMPLATES = Path(__file__).with_name("templates")


def to_html(report: Report) -> str:
    """The page of a report.

    Raises:
        MissingLibraryError: jinja2, or for figures plotly, is not installed.
    """
    template = _template()
    figures = [block.figure for section in report.sections for block in section.blocks if isinstance(block, Drawn)]
    scripts = [str(needed("plotly.offline", "report").get_plotlyjs()), _script()] if figures else []
    plots = [plots_of(number, figure) for number, figure in enumerate(figures, start=1)]
    page = _page(template, report, plots, scripts)
    while plots and len(page.encode()) > BUDGET:
        plots.pop()
        page = _page(template, report, plots, scripts if plots else [])
    return page


def _page(template: Any, report: Report, plots: Sequence[Plots], scripts: Sequence[str]) -> str:
    """The page with the first figures of the report, as many as there are ``plots``."""
    rest: Iterator[Plots | None] = chain(plots, repeat(None))
    sections = [
        (section, [(block, next(rest) if isinstance(block, Drawn) else None) for block in section.blocks])
        for section in report.sections
    ]
    page = template.render(
        report=report,
        sections=sections,
        plots=plots,
        dark=in_page(DARK),
        scripts=scripts,
        policy=_policy(scripts),
        budget=f"{BUDGET / 1e6:g} MB",
        command=shlex.join(["wasp", "report", *report.directories, *metric_flag(report.metric)]),
    )
    return str(page)


def _policy(scripts: Sequence[str]) -> str:
    """What the page forbids the browser: every request, and every script but these."""
    drawing = ["script-src " + " ".join(map(digest, scripts)), "img-src data: blob:"] if scripts else []
    rules = ["default-src 'none'", *drawing, "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'"]
    return "; ".join(rules)


def _template() -> Any:
    jinja = needed("jinja2", "report")
    environment = jinja.Environment(
        loader=jinja.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
    )
    environment.globals |= {"left_out_text": left_out_text, "kept": KEPT}
    return environment.get_template("report.html")


def _script() -> str:
    return (TEMPLATES / "report.js").read_text(encoding="utf-8")
