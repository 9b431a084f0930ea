"""The tables of results: every column's name, type and meaning. The reference page, SQL and the reading of files
follow from them; a test holds them to what the engine makes.
"""

from __future__ import annotations

import polars as pl

CLIENT = ("client", "UInt32", "Index of the client in the run, from 0.")
GROUP = ("group", "UInt16", "Index of its group.")
RUN = ("run", "UInt32", "Number of the run, from 0.")

TABLES: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "transactions": (
        "One row a transaction, of the whole run, in the order of their end. Times are nanoseconds since the start of "
        "the run, null where not reached.",
        (
            RUN,
            CLIENT,
            GROUP,
            ("connection", "UInt32", "Ordinal of the connection among the client's, from 0."),
            ("request", "UInt32", "Ordinal of the request among the client's, from 0."),
            ("file", "UInt32", "Index of the file in the workload's set, from 0."),
            (
                "intended_ns",
                "Int64",
                "When it was to start, in an open loop: response time counts from here. Null in a closed loop.",
            ),
            (
                "start_ns",
                "Int64",
                "`connect()` for the first request of a connection, else when the client wanted to send.",
            ),
            ("connected_ns", "Int64", "The connection was established; null if it was open already."),
            ("sent_ns", "Int64", "The request was handed to TCP."),
            ("first_byte_ns", "Int64", "The first byte of the response was there to be read; null if none was read."),
            ("last_byte_ns", "Int64", "The last byte was read; null unless the response was whole."),
            ("end_ns", "Int64", "The transaction ended, whatever its outcome."),
            ("status", "UInt16", "Status of the response, 0 without one."),
            ("bytes", "UInt64", "Bytes of the body of a whole response."),
            (
                "outcome",
                "String",
                "ok, http_error, malformed, refused, reset, timed_out, truncated, aborted, unfinished.",
            ),
            ("attempts", "UInt8", "2 if the request was repeated because a kept connection had been closed."),
            ("measured", "Boolean", "Whether it ended in the measured interval."),
        ),
    ),
    "connections": (
        "One row a connection, of the whole run, with what the emulator did to its packets on the access link, those "
        "included that came when nothing was left of it.",
        (
            RUN,
            CLIENT,
            GROUP,
            ("connection", "UInt32", "Ordinal among the client's connections, from 0."),
            ("opened_ns", "Int64", "`connect()`."),
            ("closed_ns", "Int64", "Nothing was left of it; null if the run ended first."),
            ("up_packets", "UInt64", "Packets from the client."),
            ("up_lost", "UInt64", "Those that the loss model took."),
            ("down_packets", "UInt64", "Packets to the client."),
            ("down_lost", "UInt64", "Those that the loss model took."),
            ("retransmitted", "UInt32", "Segments that the client sent again."),
        ),
    ),
    "series": (
        "One row a second of the run, warm-up included.",
        (
            RUN,
            ("second", "UInt32", "From 0."),
            ("ok", "UInt32", "`ok` transactions that ended in it, those of background groups left out."),
            ("errors", "UInt32", "Other transactions that ended in it, likewise."),
            ("bytes", "UInt64", "Body bytes of the `ok` ones."),
            ("in_flight", "UInt32", "Transactions in progress at its end, those of background groups included."),
            ("up_packets", "UInt64", "Packets from the clients that came to an access link."),
            ("up_lost", "UInt64", "Those of them that the loss model took there."),
            ("down_packets", "UInt64", "Packets to the clients that came to an access link."),
            ("down_lost", "UInt64", "Those of them that the loss model took there."),
            ("server_busy", "Float64", "Busy part of the server's CPUs, from 0 to 1; in simulation the model's."),
            ("lag_max_ns", "UInt64", "The latest that a packet left the emulator; null in simulation."),
        ),
    ),
    "links": (
        "One row a link and direction, of the whole run.",
        (
            RUN,
            ("link", "String", "`shared`, or the group's name, a slash, and the client's index in the run."),
            ("direction", "String", "`up` towards the server, `down` towards the client."),
            (
                "packets",
                "UInt64",
                "Packets that came to its entrance; of an access link: its client's in `connections`, and `strays`.",
            ),
            (
                "strays",
                "UInt64",
                "Packets that are of no connection of the run: of an earlier one's, or no TCP. Null for `shared`.",
            ),
            ("bytes", "UInt64", "Their bytes, IP headers included."),
            ("lost", "UInt64", "Packets that the loss model took."),
            ("dropped", "UInt64", "Packets dropped for another reason."),
            ("max_queue_bytes", "UInt64", "Most bytes that waited."),
            ("mean_queue_bytes", "Float64", "Bytes that waited, on average over the run."),
        ),
    ),
    "histogram": (
        "Response times of the transactions that ended in the measured interval; empty buckets are absent.",
        (
            RUN,
            ("group", "UInt16", "Index of the group; null for all groups together that are no background."),
            (
                "population",
                "String",
                "`ok`: of the `ok` transactions; `all`: of all that ended, until they ended. Null, which means `ok`, "
                "in results of format 1.",
            ),
            ("lower_ns", "UInt64", "Lower edge of the bucket, included."),
            ("upper_ns", "UInt64", "Upper edge, included."),
            ("count", "UInt64", "Transactions in it."),
        ),
    ),
}


def completed(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """A table as it was read, with all its columns: one that results of an older format do not have is null."""
    absent = [(column, kind) for column, kind, _ in TABLES[table][1] if column not in frame.columns]
    return frame.with_columns(pl.lit(None, dtype=getattr(pl, kind)).alias(column) for column, kind in absent)
