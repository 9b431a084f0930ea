"""The presets of the modelled server in the reference page: their values, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator

from waspbench.experiment.server_presets import PRESETS, Number, ServerPreset
from waspbench.pages.fields import table


def presets() -> Iterator[str]:
    """The blocks of the page: a table for each preset."""
    yield "Values of `preset`. No number was fitted to a figure with loss or with distance.\n"
    for name, preset in PRESETS.items():
        measured = "" if preset.source is None else f" ({preset.source})"
        yield f"`{name}`: {preset.server}{measured}.\n"
        yield table(("fields", "value", "origin"), _rows(preset))


def _rows(preset: ServerPreset) -> list[tuple[str, str, str]]:
    """The numbers of a preset; fields of one value and one origin share a row."""
    fields: dict[Number, list[str]] = {}
    for field, number in preset.values.items():
        fields.setdefault(number, []).append(f"`{field}`")
    return [(", ".join(names), f"`{_shown(number)}`", number.origin) for number, names in fields.items()]


def _shown(number: Number) -> str:
    return str(number.value).lower() if isinstance(number.value, bool) else str(number.value)
