"""Levels and numbers that statistics take unless told otherwise; nothing is imported here, for who only shows them."""

LEVEL = 0.90
"""Confidence of the intervals, two-sided, as in the WASP papers."""

ALPHA = 0.05
"""Chance to call a difference where there is none, over all comparisons together."""

NORMALITY_RUNS = 36
"""Runs that the WASP paper made of its one typical point (paper 000, section 3.5)."""
