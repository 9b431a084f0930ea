"""What a person may have meant by an unknown word."""

from __future__ import annotations

import pytest

from waspbench.cli.app import COMMANDS
from waspbench.cli.flags import FLAGS, flag
from waspbench.experiment.clients import Clients
from waspbench.experiment.metrics import FIGURES
from waspbench.experiment.model import Experiment, Measure
from waspbench.suggestion import OTHER_WORDS, hint, meant, spelt_like

FIELDS = list(Clients.model_fields)
BENCH = [flag(name) for name in FLAGS]


@pytest.mark.parametrize(
    ("word", "valid", "ours"),
    [
        ("latency", FIELDS, "rtt"),
        ("users", FIELDS, "count"),
        ("bandwith", FIELDS, "bandwidth"),
        ("RTT", FIELDS, "rtt"),
        ("max-errors", list(Measure.model_fields), "max_errors"),
        ("repeats", list(Measure.model_fields), "runs"),
        ("thresholds", [field.alias or name for name, field in Experiment.model_fields.items()], "assert"),
        ("--users", BENCH, "--clients"),
        ("--user", BENCH, "--clients"),
        ("--vus", BENCH, "--clients"),
        ("--latency", BENCH, "--rtt"),
        ("--qps", BENCH, "--rate"),
        ("--cc", BENCH, "--congestion"),
        ("--size", BENCH, "--file-size"),
        ("ls", list(COMMANDS), "list"),
        ("diff", list(COMMANDS), "compare"),
        ("benhc", list(COMMANDS), "bench"),
        ("httpd", ["builtin", "nginx", "apache"], "apache"),
        ("1.2", ["1.0", "1.1"], None),
        ("xyzzy", FIELDS, None),
        ("", FIELDS, None),
    ],
)
def test_a_word_is_known_by_its_spelling_or_as_another_word(word: str, valid: list[str], ours: str | None) -> None:
    assert meant(word, valid) == ours
    assert hint(word, valid) == ("" if ours is None else f"did you mean {ours}? ")


@pytest.mark.parametrize("value", [5, None, ["rtt"]])
def test_what_is_no_text_is_not_meant_for_anything(value: object) -> None:
    assert hint(value, FIELDS) == ""


@pytest.mark.parametrize(
    ("word", "valid"),
    [("nagle", FIELDS), ("cap", FIELDS), ("files", FIELDS), ("--slo", BENCH), ("--port", BENCH), ("--link", BENCH)],
)
def test_what_is_only_a_little_alike_was_not_meant(word: str, valid: list[str]) -> None:
    assert meant(word, valid) is None


def test_names_that_people_gave_have_no_other_words() -> None:
    assert meant("diff", ["compare"]) == "compare"
    assert spelt_like("diff", ["compare"]) is None
    assert spelt_like("phone", ["phones", "homes"]) == "phones"


@pytest.mark.parametrize(
    ("word", "other", "apart"),
    [
        ("let", "lte", True),
        ("rrt", "rtt", True),
        ("phone", "phones", True),
        ("rate", "rte", True),
        ("abc", "cba", False),
    ],
)
def test_one_letter_may_be_wrong(word: str, other: str, apart: bool) -> None:
    assert (spelt_like(word, [other]) == other) is apart
    assert (spelt_like(other, [word]) == word) is apart


@pytest.mark.parametrize("valid", [FIELDS, BENCH, list(COMMANDS), list(FIGURES), list(Measure.model_fields)])
def test_a_word_that_is_valid_is_no_other_word_for_one_beside_it(valid: list[str]) -> None:
    plain = {word.lstrip("-").replace("_", "-") for word in valid}
    for ours in plain & OTHER_WORDS.keys():
        assert not plain & set(OTHER_WORDS[ours]), ours
