"""Speed against the yardsticks: `./run perf`.

live          requests a second of `wasp bench` and of wrk before the same nginx, in turns: paired ratios
wan           over 100 ms: cost of a transaction, exactness, the highest rate; bulk over 10 ms
scale         20,000 clients at once, and the memory of an idle connection
sim           packets that simulated bulk transfers deliver end to end a second on one core
instructions  what fixed simulations execute, against a baseline, which they may exceed by 3 %

Status 1 if a bar is missed, 3 if a part that is named cannot be measured or compared. What is missing or not to be
trusted is not judged.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import bars
import duel
import instructions
import simulation
import wan
import wrk
from repeats import REPEATS
from usage import figure, share
from waspbench.errors import WaspError
from waspbench.results.manifest import now, versions
from waspbench.testbed import CannotDoIt, TestbedError, machine, place

PARTS = ("live", "wan", "scale", "sim", "instructions")
QUICK = ("live", "wan", "instructions")
_OTHERS = 0.1
"""Part of the CPUs' time that other programs may take before a pair of runs without a word about it."""
_MISSED, _CANNOT, _FAILED, _INTERRUPTED = 1, 3, 4, 130  # exit status, as those of `wasp`


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures what is asked for, prints it, and returns the exit status."""
    asked = _arguments(arguments)
    report: dict[str, Any] = {"date": now(), "machine": machine.describe(), "versions": _versions()}
    status = 0
    for part in asked.parts or (QUICK if asked.quick else PARTS):
        try:
            report[part] = part_report(part, asked, report)
        except CannotDoIt as error:
            report[part] = {"skipped": str(error)}
            status = _CANNOT if asked.parts else status
        except (TestbedError, WaspError) as error:
            print(f"perf: {part}: {error}", file=sys.stderr)
            report[part] = {"failed": str(error)}
            status = _FAILED
        except KeyboardInterrupt:
            print(f"perf: {part}: interrupted", file=sys.stderr)
            report[part] = {"failed": "interrupted"}
            status = _INTERRUPTED
            break
    found = bars.bars(report)
    report["bars"] = [{**dataclasses.asdict(bar), "verdict": bar.verdict} for bar in found]
    print(json.dumps(report, indent=2) if asked.json else _readable(report, found))
    missed = any(bar.verdict == "missed" for bar in found)
    grew = any(count["too_many"] for count in report.get("instructions", {}).get("counts", []))
    unknown = asked.parts and report.get("instructions", {}).get("why")
    return status or (_MISSED if missed or grew else _CANNOT if unknown else 0)


def part_report(part: str, asked: argparse.Namespace, report: dict[str, Any]) -> Any:
    """Measures one part; ``report`` has those before it."""
    if part == "sim":
        return [simulation.bulk(flows) for flows in asked.flows]
    if part == "instructions":
        return _instructions(asked)
    if part == "live":
        return _live(asked)
    duel.require()
    far = wan.Wan(asked.placement, asked.seconds, asked.warmup, asked.repeats)
    if part == "scale":
        return far.scale()
    compared = report.get("live", {}).get("comparisons")
    return far.measure(wan.median_rate(compared[0]) if compared else None, _progress)


def _instructions(asked: argparse.Namespace) -> dict[str, Any]:
    unchanged = asked.if_changed and not asked.renew and instructions.unchanged()
    counts, why = ([], None) if unchanged else instructions.measure(renew=asked.renew)
    return {
        "baseline": str(instructions.baseline()),
        "unchanged": unchanged,
        "why": why,
        "counts": [each.as_dict() for each in counts],
    }


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run perf", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all unless named, as far as they can be"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one short run of each kind, and neither scale nor sim: no figures to keep"
    )
    parser.add_argument("--renew", action="store_true", help="make what instructions finds its baseline")
    parser.add_argument(
        "--if-changed", action="store_true", help="count instructions of other code than the baseline's"
    )
    parser.add_argument("--pairs", type=_positive, default=REPEATS, metavar="N", help=f"pairs of live runs [{REPEATS}]")
    parser.add_argument("--seconds", type=_positive, default=5, metavar="N", help="length of a live run [5]")
    parser.add_argument("--warmup", type=_positive, default=2, metavar="N", help="seconds before each [2]")
    parser.add_argument("--keep-alive-only", action="store_true", help="leave out one request a connection")
    parser.add_argument("--server-cpus", metavar="LIST", help="CPUs of nginx, such as 0")
    parser.add_argument("--emulator-cpus", metavar="LIST", help="CPU of the emulator and of wrk")
    parser.add_argument(
        "--flows", type=_positive, nargs="+", default=list(simulation.VIRTUAL_SECONDS), metavar="N", help="of sim"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args(arguments)
    asked.repeats = 1 if asked.quick else REPEATS
    if asked.quick:
        asked.pairs, asked.seconds, asked.warmup = 1, 2, 1
    for part in asked.parts:
        if part not in PARTS:
            parser.error(f"{part!r} is no part: {', '.join(PARTS)} would be valid")
    try:
        asked.placement = place(asked.server_cpus, asked.emulator_cpus)
    except TestbedError as error:
        parser.error(str(error))
    return asked


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _versions() -> dict[str, str | None]:
    return {**versions(), "wrk": wrk.version()}


def _live(asked: argparse.Namespace) -> dict[str, Any]:
    duel.require()
    contest = duel.Duel(asked.placement, asked.seconds, asked.warmup)
    workloads = [duel.KEEP_ALIVE] if asked.keep_alive_only else [duel.KEEP_ALIVE, duel.ONE_PER_CONNECTION]
    server = contest.spec(workloads[0]).server.describe()
    compared = [contest.compare(workload, asked.pairs, _progress) for workload in workloads]
    return {
        "placement": dataclasses.asdict(contest.placement),
        "server": server,
        "clients": duel.CLIENTS,
        "file_size": duel.FILE_SIZE,
        "seconds": asked.seconds,
        "comparisons": [comparison_report(comparison) for comparison in compared],
    }


def _progress(text: str) -> None:
    print(f"perf: {text}", file=sys.stderr, flush=True)


def comparison_report(comparison: duel.Comparison) -> dict[str, Any]:
    """The ratio of both programs and its spread."""
    middle, least, greatest = comparison.ratio
    return {
        "workload": comparison.workload.name,
        "goal": comparison.workload.goal,
        "ratio": {"median": middle, "min": least, "max": greatest},
        "pairs": [
            {"ratio": pair.ratio, "counts": pair.counts, **dataclasses.asdict(pair)} for pair in comparison.pairs
        ],
    }


def _readable(report: dict[str, Any], found: Sequence[bars.Bar]) -> str:
    host, software = report["machine"], report["versions"]
    virtual = ", virtual" if host["virtual"] else ""
    lines = [
        f"{report['date']}  {host['cpu']}, {host['cpus']} CPUs{virtual}",
        f"Linux {host['kernel']}, {host['distribution']}",
        "waspbench {waspbench}, wrk {wrk}".format(**software),
    ]
    if "live" in report:
        lines += ["", *_unless_skipped("live", report["live"], _readable_live)]
    if "wan" in report:
        lines += ["", *_unless_skipped("wan", report["wan"], wan.readable)]
    if "scale" in report:
        lines += ["", *_unless_skipped("scale", report["scale"], wan.readable_scale)]
    if "sim" in report:
        lines += ["", *_unless_skipped("sim", report["sim"], _readable_sim)]
    if "instructions" in report:
        lines += ["", *_unless_skipped("instructions", report["instructions"], _readable_instructions)]
    if found:
        lines += ["", "bars:", *map(str, found)]
    return "\n".join(lines)


def _unless_skipped(part: str, found: Any, readable: Callable[[Any], list[str]]) -> list[str]:
    for why in ("skipped", "failed"):
        if why in found:
            return [f"{part}: {why}: {found[why]}"]
    return readable(found)


def _readable_instructions(found: dict[str, Any]) -> list[str]:
    allowed = f"{100 * instructions.TOLERANCE:.0f} %"
    lines = [
        f"instructions: fixed simulations, in user space (at most {allowed} more than the baseline)",
        f"  baseline: {found['baseline']}",
    ]
    if found["unchanged"]:
        lines.append("  not counted: the code is the baseline's")
    for count in found["counts"]:
        against = "no baseline" if count["growth"] is None else f"{100 * count['growth']:+.2f} %"
        lines.append(f"  {count['name']:8} {count['instructions']:>15,}  {against}")
        if count["too_many"]:
            lines.append(f"    TOO MANY: {count['name']}: make it cheaper, or accept it: {instructions.RENEW}")
    return lines + ([f"  {found['why']}"] if found["why"] else [])


def _readable_live(found: dict[str, Any]) -> list[str]:
    lines = [
        "live: {clients} clients, {file_size}, RTT 0, {server[name]} {server[version]}, runs of {seconds} s".format(
            **found
        )
    ]
    lines += [f"  note: {label}" for label in found["placement"]["labels"]]
    for comparison in found["comparisons"]:
        ratio = comparison["ratio"]
        lines.append(
            f"  {comparison['workload']}: WASP / wrk = {ratio['median']:.2f} (median of "
            f"{sum(pair['counts'] for pair in comparison['pairs'])} pairs that count, {ratio['min']:.2f} to "
            f"{ratio['max']:.2f}; goal {comparison['goal']})"
        )
        lines.append(
            f"    {'':4} {'requests/s':>10} {'server busy':>11} {'us/request':>10} {'generator busy':>14} "
            f"{'us/request':>10} {'steal':>6} {'lag p99 us':>10}"
        )
        lines += [_side(name, pair[name]) for pair in comparison["pairs"] for name in ("wasp", "wrk")]
        lines += _complaints(comparison["pairs"])
    return lines


def _complaints(pairs: list[dict[str, Any]]) -> list[str]:
    """Why some of the pairs do not count, and what else was going on."""
    found = [
        f"    pair {number} does not count: {name}: {text}"
        for number, pair in enumerate(pairs, 1)
        for name in ("wasp", "wrk")
        for text in pair[name]["complaints"]
    ]
    disturbed = [pair["others_busy"] for pair in pairs if pair["others_busy"] > _OTHERS]
    if disturbed:
        found.append(
            f"    before {len(disturbed)} of {len(pairs)} pairs other programs kept the CPUs up to "
            f"{100 * max(disturbed):.0f} % busy: repeat this on a quiet machine"
        )
    return found


def _side(name: str, side: dict[str, Any]) -> str:
    lag = "-" if side["lag_p99_us"] is None else f"{side['lag_p99_us']:.0f}"
    return (
        f"    {name:4} {side['requests_per_s']:>10,.0f} {share(side['server_busy']):>11} "
        f"{figure(side['server_us_per_request'], 2):>10} {share(side['generator_busy']):>14} "
        f"{figure(side['generator_us_per_request'], 2):>10} {share(side['steal']):>6} {lag:>10}"
    )


def _readable_sim(found: Any) -> list[str]:
    lines = [
        f"sim: packets delivered end to end over two links, one core (goal {simulation.GOAL / 1e6:.1f} million/s, "
        f"at least {simulation.LEAST / 1e6:.1f})",
        f"  {'flows':>6} {'virtual s':>10} {'million/s':>10} {'peak MiB':>9} {'calibration s':>14}",
    ]
    for run in found:
        peak = "-" if run["peak_memory_kib"] is None else f"{run['peak_memory_kib'] / 1024:.0f}"
        lines.append(
            f"  {run['flows']:>6} {run['virtual_s']:>10} {run['delivered_per_s'] / 1e6:>10.3f} {peak:>9} "
            f"{run['calibration_s']:>14.3f}"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
