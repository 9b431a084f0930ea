"""`./run mutants` adds up what cargo-mutants found, and its page names mutants that exist."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest

import mutants
from mutants import CAUGHT, MISSED, ROOT, UNVIABLE, Survivor

FILE = "crates/tcp/src/rto.rs"
LINES = {FILE: ["fn f() {", "    a | b > 0", "}"]}
BITS = Survivor("rto.rs", "a | b > 0", "replace | with ^ in f")


def outcome(summary: str, name: str = f"{FILE}:2:7: replace | with ^ in f") -> dict[str, object]:
    return {"scenario": {"Mutant": {"name": name, "file": FILE}}, "summary": summary}


def test_a_survivor_is_named_as_the_page_names_it() -> None:
    found = mutants.verdict([{"scenario": "Baseline", "summary": "Success"}, outcome(MISSED)], LINES)
    assert found.survivors == Counter([BITS])
    assert str(BITS) == r"| `rto.rs` | `a \| b > 0` | `replace \| with ^ in f` |"
    assert mutants.explained(f"| file | line | mutation |\n| --- | --- | --- |\n{BITS}\n{BITS}\n") == Counter({BITS: 2})


def test_the_verdict_is_about_what_has_no_reason() -> None:
    one_in_twenty = [outcome(CAUGHT)] * 19 + [outcome(UNVIABLE)] * 5 + [outcome(MISSED)]
    found = mutants.verdict(one_in_twenty, LINES)
    assert found.judged == 20
    assert found.passes(Counter())
    two = mutants.verdict([*one_in_twenty, outcome(MISSED)], LINES)
    assert not two.passes(Counter())
    assert two.passes(Counter([BITS])), "a mutation that is possible twice in a line needs two rows, or counts"
    assert list(found.tell(Counter())) == [
        "20 mutants: 19 noticed, 1 survive",
        f"UNEXPLAINED {BITS}",
        "PASSED: 1 of 20 survive without a reason, 5.0% (at most 5%)",
    ]
    assert f"DOES NOT SURVIVE {BITS}" in list(mutants.verdict([outcome(CAUGHT)], LINES).tell(Counter([BITS])))


def test_the_page_names_lines_that_exist() -> None:
    named = mutants.explained(mutants.PAGE.read_text())
    assert named
    for one in named:
        source = (ROOT / "crates" / "tcp" / "src" / one.file).read_text()
        assert one.line in [line.strip() for line in source.splitlines()], str(one)


def test_verdicts_depend_on_the_judges_and_all_that_they_are_built_from() -> None:
    judges = {"tcp", "testkit"}

    def needs(crate: str) -> set[str]:
        manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
        # What the tests of others are built from decides nothing.
        for_tests = manifest.get("dev-dependencies", ()) if crate in judges else ()
        named = [*manifest.get("dependencies", ()), *for_tests]
        return {name.removeprefix("wasp-") for name in named if name.startswith("wasp-")}

    found: set[str] = set()
    left = judges
    while left:
        found |= left
        left = set().union(*map(needs, left)) - found
    assert sorted(found) == sorted(mutants.CRATES)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("24", "error: shard 24: valid are 0 to 23"),
        ("-1", "error: shard -1: valid are 0 to 23"),
        ("x", "invalid int value: 'x'"),
        ("--jobs 0", "error: --jobs 0: at least 1"),
    ],
)
def test_a_wrong_shard_is_an_error(wrong: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        mutants.main(wrong.split())
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
