"""Tables of measured figures come into pages."""

from __future__ import annotations

import pytest

import pages

PAGE = "Before.\n<!-- measured: one -->\nold\n<!-- end -->\nBetween \\1.\n<!-- measured: two -->\n<!-- end -->\n"


def test_a_table_stands_between_its_marks() -> None:
    table = pages.table(["a", "b"], [["1", "2 \\g<0> %"]])
    assert table == "| a | b |\n| --- | --- |\n| 1 | 2 \\g<0> % |"
    once = pages.with_tables(PAGE, {"two": table})
    assert once == PAGE.replace("two -->\n", f"two -->\n{table}\n")
    assert pages.with_tables(once, {"two": table}) == once
    assert "old" not in pages.with_tables(PAGE, {"one": "new"})


@pytest.mark.parametrize("page", ["", "<!-- measured: one -->\nwithout an end"])
def test_a_page_without_a_place_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="no marks for the table one"):
        pages.with_tables(page, {"one": "new"})
