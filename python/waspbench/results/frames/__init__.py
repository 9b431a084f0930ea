"""Results as data frames (polars): a row for each run, point, load of a search, transaction and so on.

Every column is declared once, with its type and meaning. A figure has the name that conditions have for it, and its
unit at the end: ``p99_ms``, ``all.p99_ms``, ``goodput_bps``. Shares go from 0 to 1. Nothing is rounded, and what does
not exist is null.
"""
