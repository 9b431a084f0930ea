"""The main job: what 3 % loss on the way does to a server's clients."""

from __future__ import annotations

from waspbench.cli import status, studies, table
from waspbench.experiment import Experiment, parse
from waspbench.live import choose_mode
from waspbench.results import Result, default_directory
from waspbench.runner.api import only
from waspbench.runner.study import Study, document_of, prepare

LOSSES = (("no loss", None), ("3 % loss", "3%"))


def experiment(loss: str | None) -> Experiment:
    """256 clients at 100 ms before the built-in server, with so much two-state loss."""
    clients = {"count": 256, "rtt": "100ms"} | ({"loss": loss} if loss else {})
    name = f"demo-loss-{loss.rstrip('%')}" if loss else "demo-no-loss"
    return parse({"name": name, "clients": [clients], "measure": {"warmup": "4s", "duration": "8s", "runs": 1}})


def demo() -> int:
    """Runs both experiments, prints the comparison, and returns the exit status."""
    mode, why = choose_mode(None, experiment(None))
    print(f"{mode}: {why}", flush=True)
    columns: list[tuple[str, Result]] = []
    stopped = False
    for name, loss in LOSSES:
        asked = experiment(loss)
        directory = default_directory(asked.name)
        study = Study.begin(*prepare(document_of(asked), directory, mode=mode), directory)
        found = studies.followed(study)
        if found is not None:
            columns.append((name, only(found)))
        stopped = found is None or study.stopped
        if stopped:
            break
    if not columns:
        return status.Status.INTERRUPTED
    print("\nThe built-in server, 256 clients at 100 ms, 1 KiB files\n")
    print(table.compare(columns))
    for name, result in columns:
        for reason in result.invalid_reasons:
            print(f"not valid, {name}: {reason.message} [{reason.code}]")
        if result.advice is not None:
            print(f"advice, {name}: {result.advice.text}")
        for note in result.notes:
            print(f"note, {name}: {note}")
        print(f"results, {name}: {result.results}")
    return status.Status.INTERRUPTED if stopped else status.of(*(result for _, result in columns))
