"""The tables of the matrix have every configuration once, and what is asked for makes sense."""

from __future__ import annotations

from collections import Counter

import pytest

import verdicts
from validity import kept
from validity.configurations import CONFIGURATIONS, FAMILIES, NEVER, Configuration, named
from validity.judged import NONE_IS_RIGHT, Bias, Outcome


def outcome(configuration: Configuration, bias: float, valid: int) -> Outcome:
    of = NONE_IS_RIGHT if bias == NEVER else Bias("few: mean", bias, 0.003, 0.01)
    return Outcome(configuration, of, is_off=False, deviation=0.01, experiments=40, valid=valid, reasons=Counter())


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


BIASES = [0.0, -0.009, 0.01, -0.07, 0.2, 5.0, NEVER]
OUTCOMES = [outcome(each, bias, 10) for each, bias in zip(CONFIGURATIONS, BIASES, strict=False)]


def test_every_configuration_has_a_bias() -> None:
    told = {bias: (int(count), valid) for bias, count, valid in rows(verdicts.by_bias(OUTCOMES))}
    assert sum(count for count, _ in told.values()) == len(OUTCOMES)
    assert told["0 to 1 %"] == (2, "25.0 %")
    assert told["2 to 3 %"] == (0, "")
    assert told["20 % and more"] == (2, "25.0 %")
    assert told["no figure is right"] == (1, "25.0 %")


def test_every_configuration_has_a_family() -> None:
    told = {row[0]: row[1:] for row in rows(verdicts.by_family([outcome(each, 0.0, 39) for each in CONFIGURATIONS]))}
    assert {name: int(row[0]) for name, row in told.items()} == {
        **{name: len(family) for name, family in FAMILIES.items()},
        "all": len(CONFIGURATIONS),
    }
    assert told["groups"] == ["5", "0", "", "", "5", "2.5 %", "1"]
    wrong = rows(verdicts.by_family([outcome(each, 0.06, 2) for each in FAMILIES["groups"]]))
    assert wrong == [[name, "5", "5", "5.0 %", "2", "0", "", ""] for name in ("groups", "all")]


def test_a_row_says_what_was_made_and_what_came_of_it() -> None:
    [few] = named(["many-and-few"])
    table = verdicts.by_configuration([outcome(few, 0.3, 22)], kept.truths())
    [[name, settings, truth, bias, deviation, valid, reasons]] = rows(table)
    assert (name, valid, reasons, deviation) == ("many-and-few", "22 of 40", "", "1.0 %")
    assert settings.endswith('`{ name = "few", count = 4, rtt = "300ms", loss = "3%" }`')
    assert settings.startswith('`--file-size 20KB`; `{ name = "many"')
    assert truth == "1,283.4/s, 53.0 ms (±0.0 %)"
    assert bias == "few: mean +30.0 ±0.3 %"


def test_where_no_figure_is_right_a_row_says_why() -> None:
    [never, above] = named(["half-never", "above-1040"])
    assert verdicts.bias(outcome(never, NEVER, 0)) == "nothing ends"
    assert verdicts.bias(outcome(above, NEVER, 0)) == "never settles"
    assert verdicts.settings(above).endswith('; `server.model.per_request = "1ms"`')
    assert verdicts.settings(named(["default"])[0]) == "the defaults"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no configuration or family 'nowhere'"),
        (["--experiments", "0"], "a number from 1 on would be valid"),
        (["--jobs", "-1"], "a number from 1 on would be valid"),
        (["--write", "default"], "leave out the names"),
        (["--write", "--truths"], "not allowed with"),
        (["--truths", "--experiments", "3"], "leave it out"),
    ],
)
def test_what_makes_no_sense_is_said(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        verdicts.parsed(arguments)
    assert said in capsys.readouterr().err


def test_what_is_asked_for_is_found() -> None:
    asked, wanted = verdicts.parsed(["groups", "--experiments", "3"])
    assert (asked.experiments, wanted) == (3, FAMILIES["groups"])
    assert verdicts.parsed([])[1] == CONFIGURATIONS
