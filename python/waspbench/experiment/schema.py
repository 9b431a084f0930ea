"""The JSON Schema of the experiment file. ``python -m waspbench.experiment.schema`` prints it."""

from __future__ import annotations

import json
import sys

from waspbench.experiment.model import Experiment


def json_schema() -> str:
    """The schema as text, as it is kept in ``schemas/experiment.schema.json``."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Experiment.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(json_schema())
