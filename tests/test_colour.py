"""Where colour is used, and where it is not."""

from __future__ import annotations

import io
import sys

import pytest

from waspbench.colour import is_wanted, paint
from waspbench.tabular import Column, Listing, aligned


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that says nothing of colours."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("stream", "variables", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colour_is_for_terminals_unless_the_environment_says_otherwise(
    stream: io.StringIO, variables: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_wanted(stream) is wanted
    assert paint("NO", "bad", stream) == ("\x1b[1;31mNO\x1b[0m" if wanted else "NO")


def test_a_cell_that_alarms_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"valid": Column("valid", alarms=lambda row: row["valid"] == "NO"), "runs": Column("runs")}
    listing = Listing(columns, [{"valid": "yes", "runs": 3}, {"valid": "NO", "runs": 12}])
    plain = listing.terminal()
    monkeypatch.setenv("FORCE_COLOR", "1")
    painted = listing.terminal()
    assert painted[2] == "   \x1b[1;31mNO\x1b[0m    12"
    assert [line.replace("\x1b[1;31m", "").replace("\x1b[0m", "") for line in painted] == plain


def test_words_that_are_broken_keep_their_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["at", "not valid, " * 6 + "not valid"]]
    plain = aligned(["", ""], rows, [True, True], room=40)
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = aligned(["", ""], rows, [True, True], room=40, alarms=[[False, True]])
    assert len(lines) > 1
    assert all(line.endswith("\x1b[0m") for line in lines)
    assert [line.replace("\x1b[1;31m", "").replace("\x1b[0m", "").rstrip() for line in lines] == [
        line.rstrip() for line in plain
    ]


def test_what_is_printed_into_a_file_has_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    print(paint("NO", "bad"))
    assert capsys.readouterr().out == "NO\n"
    assert not sys.stdout.isatty()
