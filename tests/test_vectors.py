"""The vectors of loss recovery are the reference's; crates/tcp holds the endpoint to them."""

import subprocess
import sys
from pathlib import Path

VECTORS = Path(__file__).parent / "vectors"


def test_the_vectors_are_the_references() -> None:
    said = subprocess.run([sys.executable, VECTORS / "reference.py"], capture_output=True, text=True, check=True)
    assert said.stdout == (VECTORS / "recovery.csv").read_text()
    assert said.stdout.count("\n") > 800
