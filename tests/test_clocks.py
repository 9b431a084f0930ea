"""The verdict of the gate's tests does not depend on real time."""

from __future__ import annotations

import pkgutil
import re
import threading
import time
from time import monotonic

import pytest

import clocks
from suite import ROOT, WITH_KERNEL

REFUSED = pytest.raises(pytest.fail.Exception, match=r"calls time\.\w+ in a test of the gate")
RUST = (
    r"\b(Instant::now|SystemTime|thread::sleep|sleep_ms|sleep_until|park_timeout\w*|recv_timeout|recv_deadline"
    r"|wait_timeout\w*|clock_gettime|clock_nanosleep|nanosleep)\b"
)
"""What sleeps or reads a clock in Rust."""
OTHERS = {"wasp-py", "wasp-benches", *WITH_KERNEL}
"""The crates without a test in the gate."""
CRATES = [crate for crate in ROOT.glob("crates/*") if f"wasp-{crate.name}" not in OTHERS]


def reads() -> float:
    """A helper of tests."""
    return time.perf_counter()


@pytest.mark.parametrize("call", [lambda: time.sleep(0), monotonic, reads, lambda: time.perf_counter_ns()])
def test_a_test_of_the_gate_neither_sleeps_nor_reads_a_clock(call: object) -> None:
    assert callable(call)
    with REFUSED:
        call()


@pytest.mark.full
def test_a_test_of_the_full_suite_may() -> None:
    time.sleep(0)
    assert monotonic() <= reads() + monotonic()


def test_what_the_product_calls_is_its_own() -> None:
    product = compile("time.monotonic()", "/elsewhere/product.py", "eval")
    assert eval(product, {"time": time, "__name__": "product"}) > 0
    threading.Event().wait(0)


def test_at_most_ten_names_are_allowed_and_each_is_there() -> None:
    assert len(clocks.ALLOWED) + len(clocks.IN_RUST) <= 10
    assert all(callable(pkgutil.resolve_name(name)) for name in clocks.ALLOWED)
    assert all((ROOT / file).exists() for file in clocks.IN_RUST)


def test_no_test_of_the_gate_in_rust_sleeps_or_reads_a_clock() -> None:
    files = [file for crate in CRATES for file in crate.glob("**/*.rs")]
    assert len(files) > 100
    found = {str(file.relative_to(ROOT)) for file in files if re.search(RUST, file.read_text())}
    assert found == set(clocks.IN_RUST)
