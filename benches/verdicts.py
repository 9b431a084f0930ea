"""Measures how often a wrong experiment is called valid and a right one is refused, over a matrix of configurations.

    python benches/verdicts.py                    makes what is missing of 40 experiments of each, and prints the tables
    python benches/verdicts.py NAME...            of these configurations or families only
    python benches/verdicts.py --experiments 10   fewer of each
    python benches/verdicts.py --write            puts the tables into docs/verdicts.md and docs/statistics.md
    python benches/verdicts.py --truths [NAME...] makes the long runs that tests/validity/truths.json has not

Experiments are kept in target/verdicts, and long runs in the file, by what they depend on; what was interrupted goes
on. All experiments take seven minutes of two CPUs, all long runs half an hour.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from pages import share, table, write  # noqa: E402
from validity import judged, kept  # noqa: E402
from validity.configurations import FAMILIES, Configuration, named  # noqa: E402
from validity.judged import Outcome, Truth  # noqa: E402


def by_configuration(outcomes: Sequence[Outcome], truths: Mapping[str, Mapping[str, Truth]]) -> str:
    """A table with a row for each configuration."""
    heads = ["configuration", "experiments", "long runs", "bias", "deviation", "valid", "refused as"]
    rows = [
        [
            each.configuration.name,
            settings(each.configuration),
            long_runs(truths.get(each.configuration.name)),
            bias(each),
            "" if math.isinf(each.bias.value) else share(each.deviation),
            f"{each.valid} of {each.experiments}",
            ", ".join(f"`{code}` {count}" for code, count in each.reasons.most_common()),
        ]
        for each in outcomes
    ]
    return table(heads, rows)


def settings(configuration: Configuration) -> str:
    """The flags of `wasp bench`, and the fields beside them."""
    parts = [f"`{configuration.given}`"] if configuration.given else []
    for path, value in configuration.more.items():
        parts += [f"`{_toml(group)}`" for group in value] if path == "clients" else [f"`{path} = {_toml(value)}`"]
    return "; ".join(parts) or "the defaults"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(each)}" for name, each in value.items()) + " }"
    return json.dumps(value)


def long_runs(truth: Mapping[str, Truth] | None) -> str:
    """The figures of all clients in long runs, and their standard error."""
    if truth is None:
        return ""
    of_all = truth[judged.ALL]
    assert of_all.mean is not None
    return f"{of_all.throughput:,.1f}/s, {of_all.mean:,.1f} ms (±{100 * of_all.error:.1f} %)"


def bias(each: Outcome) -> str:
    """The cell of a table that says how far the experiments are from the truth."""
    if math.isinf(each.bias.value):
        return "nothing ends" if each.configuration.is_stable else "never settles"
    off = ", p50 off" if each.is_off else ""
    return f"{each.bias.figure} {100 * each.bias.value:+.1f} ±{100 * each.bias.error:.1f} %{off}"


def by_family(outcomes: Sequence[Outcome]) -> str:
    """A table with a row for each family of configurations, and one for all."""
    heads = ["family", "configurations", "wrong", "of these valid", "most of 40"]
    heads += ["right", "of these refused", "most of 40"]
    rows = []
    for name, family in {**FAMILIES, "all": [each.configuration for each in outcomes]}.items():
        part = [each for each in outcomes if each.configuration in family]
        wrong, right = [each for each in part if each.is_wrong], [each for each in part if each.is_right]
        valid, refused = judged.pooled(part)
        cells = [
            *(len(wrong), share(valid) if wrong else "", max((each.valid for each in wrong), default="")),
            *(len(right), share(refused) if right else "", max((each.refused for each in right), default="")),
        ]
        if part:
            rows.append([name, str(len(part)), *map(str, cells)])
    return table(heads, rows)


BIASES = [0.0, 0.01, 0.02, 0.03, 0.05, 0.10, 0.20]


def by_bias(outcomes: Sequence[Outcome]) -> str:
    """A table of how many experiments are valid, by the bias."""
    stretches: dict[str, Callable[[float], bool]] = {
        f"{100 * low:g} to {100 * high:g} %": lambda bias, low=low, high=high: low <= bias < high  # type: ignore[misc]
        for low, high in pairwise(BIASES)
    }
    stretches[f"{100 * BIASES[-1]:g} % and more"] = lambda bias: BIASES[-1] <= bias < math.inf
    stretches["no figure is right"] = math.isinf
    rows = []
    for name, holds in stretches.items():
        part = [each for each in outcomes if holds(abs(each.bias.value))]
        made = sum(each.experiments for each in part)
        rows.append([name, str(len(part)), share(sum(each.valid for each in part) / made) if made else ""])
    return table(["bias", "configurations", "valid"], rows)


def parsed(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[Configuration]]:
    """What is asked for, and the configurations of it; ends the program where that makes no sense."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--experiments", type=_count, default=judged.EXPERIMENTS)
    parser.add_argument("--jobs", type=_count, default=kept.processes())
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true")
    what.add_argument("--truths", action="store_true")
    asked = parser.parse_args(arguments)
    if asked.write and asked.names:
        parser.error("--write: the pages have the whole matrix; leave out the names")
    if (asked.write or asked.truths) and asked.experiments != judged.EXPERIMENTS:
        parser.error("--experiments: neither the pages nor long runs have other numbers of them; leave it out")
    try:
        return asked, named(asked.names)
    except KeyError as error:
        return parser.error(f"there is no configuration or family {error}")


def _count(text: str) -> int:
    if not text.isdecimal() or not (number := int(text)):
        raise argparse.ArgumentTypeError(f"{text}: a number from 1 on would be valid")
    return number


def main(arguments: Sequence[str]) -> int:
    """Makes long runs, or experiments and the tables."""
    asked, wanted = parsed(arguments)
    if asked.truths:
        kept.make_truths(wanted, asked.jobs)
        return 0
    if foreign := kept.foreign(wanted):
        print(f"made by another engine, or of other settings (--truths): {', '.join(foreign)}", file=sys.stderr)
    truths = kept.truths()
    made = kept.experiments(wanted, asked.jobs, asked.experiments)
    outcomes = [judged.outcome(each, made[each.name], truths.get(each.name)) for each in wanted]
    families = {"verdicts by family": by_family(outcomes)}
    every = {"verdicts by bias": by_bias(outcomes), "verdicts": by_configuration(outcomes, truths)}
    print("\n\n".join([*every.values(), *families.values()]))
    for each in outcomes:
        if judged.falls_short(each):
            print(f"falls short: {each.configuration.name}: {bias(each)}, {each.valid} of {each.experiments} valid")
    if asked.write:
        write("verdicts.md", {**families, **every})
        write("statistics.md", families)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
