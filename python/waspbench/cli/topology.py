"""``wasp topology``: the network of an experiment."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from waspbench.cli.options import OUTPUT, FileArgument, Json, Settings
from waspbench.cli.status import Status
from waspbench.errors import Argument, InputError

Format = Annotated[
    Literal["table", "mermaid", "dot"],
    Parameter(
        group=OUTPUT, show_default=True, help="table, or a drawing: mermaid for Markdown, dot for Graphviz's dot."
    ),
]


def topology(file: FileArgument, /, *, settings: Settings = None, format: Format = "table", json: Json = False) -> int:
    """Print the network of an experiment: nodes, links, and the path of each group to the server and back."""
    from waspbench import topology as network
    from waspbench.experiment.load import apply, read
    from waspbench.experiment.sweep import points, text_of

    if json and format != "table":
        raise InputError.at(Argument("format"), "--json has a form of its own; leave one of them out", format)
    made = points(apply(read(file), settings or ()))
    found = network.resolved(made[0].experiment)
    if json:
        print(found.model_dump_json(by_alias=True, indent=2))
    elif format == "table":
        for number, (title, listing) in enumerate(network.tables(found)):
            print("\n".join([*([""] if number else []), title, "", *listing.terminal(indent=2)]))
        swept = (
            [f"this is the first of {len(made)} points of the sweep: {text_of(made[0].settings)}"] if made[1:] else []
        )
        for note in [*swept, *network.notes(found)]:
            print(f"\nNote: {note}")
    else:
        print({"mermaid": network.mermaid, "dot": network.dot}[format](found), end="")
    return Status.DONE
