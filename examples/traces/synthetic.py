"""Makes the rate traces of this directory: ``python examples/traces/synthetic.py``.

The rule is made up; nothing was recorded. The rate swings about a mean as a sine of one period, and is zero for half a
second in each period, as on a phone whose signal fades. A line stands for 1,504 bytes, as Mahimahi counts.
"""

import math
from pathlib import Path

PERIOD_MS = 10_000
SWING = 0.8
FADED_MS = range(8_000, 8_500)
OPPORTUNITY_BITS = 1_504 * 8
MEANS = {"lte.down": 6_000_000, "lte.up": 1_500_000}
"""Mean rate outside of the fade, in bits a second."""


def lines(mean: int) -> list[int]:
    """The milliseconds of one period at which the link may send, the last one included."""
    found: list[int] = []
    bits = 0.0
    for ms in range(1, PERIOD_MS + 1):
        if ms not in FADED_MS:
            bits += mean * (1 + SWING * math.sin(2 * math.pi * ms / PERIOD_MS)) / 1_000
        while bits >= OPPORTUNITY_BITS:
            bits -= OPPORTUNITY_BITS
            found.append(ms)
    return [*found, PERIOD_MS]


if __name__ == "__main__":
    for name, mean in MEANS.items():
        Path(__file__).with_name(name).write_text("".join(f"{ms}\n" for ms in lines(mean)))
