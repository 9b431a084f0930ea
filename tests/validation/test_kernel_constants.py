"""The constants of the measured kernel."""

from __future__ import annotations

import gzip
import os
import re
import struct
from pathlib import Path

from waspbench.validation.machine import Constants, kernel_ticks, overhead_in, segment_overhead


def test_ticks_are_those_of_the_kernels_configuration(tmp_path: Path) -> None:
    packed, plain = tmp_path / "config.gz", tmp_path / "config-6.1"
    packed.write_bytes(gzip.compress(b"CONFIG_HZ_100=y\nCONFIG_HZ=100\n"))
    plain.write_text("# CONFIG_HZ_250 is not set\nCONFIG_HZ=250\n")
    missing = tmp_path / "none"
    assert kernel_ticks((missing, packed, plain)) == 100
    assert kernel_ticks((missing, plain)) == 250
    assert kernel_ticks((missing,)) is None


def test_what_a_segment_takes_beside_its_payload_is_what_the_queue_has_beyond_it() -> None:
    def told(queued: int, fields: int = 9) -> bytes:
        return struct.pack(f"{fields}I", *(queued if number == 5 else 7 for number in range(fields)))

    assert overhead_in(told(100 + 256 + 576), 100) == 576
    assert overhead_in(told(100 + 256 + 1_024), 100) is None
    assert overhead_in(told(0), 100) is None
    assert overhead_in(told(932, 8), 100) is None


def test_this_kernel_says_it_where_it_is_new_enough() -> None:
    found = segment_overhead()
    release = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    assert (found is None) <= (release < (6, 3))


def test_what_the_kernel_does_not_say_is_left_to_the_preset() -> None:
    assert Constants(250, 576).tcp == {"timer_granularity": "4000us", "send_buffer_overhead": "576B"}
    assert Constants(None, None).tcp == {}
    assert str(Constants(None, 640)).startswith("an unknown number of ticks a second (HZ) and 640 bytes")
