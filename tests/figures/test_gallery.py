"""The gallery shows one of each figure, and no figure of the documentation is left over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gallery
from snippets import PAGES, snippets
from waspbench.figures.kinds import KINDS


def drawn() -> list[tuple[str, str]]:
    """The figure and the file of each `wasp plot` of the gallery."""
    commands = [words for snippet in snippets(gallery.PAGE) for words in snippet.of_wasp if words[0] == "plot"]
    return [(words[words.index("--figure") + 1], words[words.index("-o") + 1]) for words in commands]


def family(name: str) -> str:
    """What figures have in common that differ in what is along their axis."""
    return re.sub("-vs-(load|rtt|loss)$", "", name)


def test_the_gallery_has_one_of_each_figure() -> None:
    shown = {family(name) for name, _ in drawn()}
    assert {family(name) for name in KINDS} - shown == {"matrix", "normal-probability"}
    assert {"p99-matrix", "p99-normal-probability"} <= shown


def test_the_gallery_shows_what_its_commands_draw() -> None:
    shown = re.findall(r"^!\[.+\]\(figures/(.+)\)$", gallery.PAGE.read_text(), re.MULTILINE)
    assert shown == [file for _, file in drawn()]


def test_every_figure_of_the_documentation_is_shown() -> None:
    pages = "".join(page.read_text() for page in PAGES)
    shown = re.findall(r"\]\((?:docs/)?figures/(.+)\)", pages)
    assert sorted(shown) == sorted(file.name for file in gallery.FIGURES.iterdir())


@pytest.mark.full
def test_the_figures_are_those_that_the_commands_draw(tmp_path: Path) -> None:
    """The same to the byte, with the matplotlib of the lock file."""
    for made in gallery.draw(tmp_path):
        assert made.read_bytes() == (gallery.FIGURES / made.name).read_bytes(), "python benches/gallery.py"
