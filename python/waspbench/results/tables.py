"""The tables of results: every column's name, type and meaning. The reference page, SQL and the reading of files
follow from them; a test holds them to what the engine makes.
"""

from __future__ import annotations

import polars as pl

CLIENT = ("client", "UInt32", "Index of the client in the run, from 0.")
GROUP = ("group", "UInt16", "Index of the group of clients, from 0.")
RUN = ("run", "UInt32", "Number of the run, from 0.")

TABLES: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "transactions": (
        "The table has a row for each transaction of the whole run, in the order in which they ended. Times are in "
        "nanoseconds since the start of the run; null if the transaction did not get so far.",
        (
            RUN,
            CLIENT,
            GROUP,
            ("connection", "UInt32", "Number of the connection among those of the client, from 0."),
            ("request", "UInt32", "Number of the request among those of the client, from 0."),
            ("file", "UInt32", "Index of the file in the set of the workload, from 0."),
            (
                "intended_ns",
                "Int64",
                "Time of the arrival in an open loop, from which response time counts. Null in a closed loop.",
            ),
            (
                "start_ns",
                "Int64",
                "Start: the call of `connect()` for the first request of a connection, else the time at which the "
                "client wanted to send.",
            ),
            ("connected_ns", "Int64", "Time at which the connection was established; null if it was open already."),
            ("sent_ns", "Int64", "Time at which the client handed the request to TCP."),
            (
                "first_byte_ns",
                "Int64",
                "Time at which the client could read the first byte of the response; null if it read none.",
            ),
            (
                "last_byte_ns",
                "Int64",
                "Time at which the client read the last byte; null unless the response was complete.",
            ),
            ("end_ns", "Int64", "Time at which the transaction ended, whatever its outcome."),
            ("status", "UInt16", "Status code of the response; 0 without a response."),
            ("bytes", "UInt64", "Number of bytes of the body of a complete response."),
            (
                "outcome",
                "String",
                "How the transaction ended: ok, http_error, malformed, refused, reset, timed_out, truncated, aborted, "
                "unfinished.",
            ),
            (
                "attempts",
                "UInt8",
                "Number of attempts: 2 if the client repeated the request because the server had closed a kept "
                "connection.",
            ),
            ("measured", "Boolean", "Whether the transaction ended in the measured interval."),
        ),
    ),
    "connections": (
        "The table has a row for each connection of the whole run. Packets are those at the access link, including "
        "packets that arrived after the connection had ended.",
        (
            RUN,
            CLIENT,
            GROUP,
            ("connection", "UInt32", "Number of the connection among those of the client, from 0."),
            ("opened_ns", "Int64", "Time at which the client called `connect()`."),
            ("closed_ns", "Int64", "Time at which the connection had ended in TCP; null if the run ended first."),
            ("up_packets", "UInt64", "Packets from the client."),
            ("up_lost", "UInt64", "Packets of these that the loss model dropped."),
            ("down_packets", "UInt64", "Packets to the client. Fragments have no ports and are not counted."),
            ("down_lost", "UInt64", "Packets of these that the loss model dropped."),
            ("retransmitted", "UInt32", "Number of segments that the client sent again."),
        ),
    ),
    "series": (
        "The table has a row for each second of the run, warm-up included. Transactions of background groups count in "
        "`in_flight` only.",
        (
            RUN,
            ("second", "UInt32", "Number of the second, from 0."),
            ("ok", "UInt32", "Number of `ok` transactions that ended in this second."),
            ("errors", "UInt32", "Number of other transactions that ended in this second."),
            ("bytes", "UInt64", "Number of bytes of the bodies of these `ok` transactions."),
            ("in_flight", "UInt32", "Number of transactions in progress at the end of this second, in all groups."),
            ("up_packets", "UInt64", "Packets from the clients that arrived at an access link."),
            ("up_lost", "UInt64", "Packets of these that the loss model dropped there."),
            ("down_packets", "UInt64", "Packets to the clients that arrived at an access link."),
            ("down_lost", "UInt64", "Packets of these that the loss model dropped there."),
            (
                "server_busy",
                "Float64",
                "Busy share of the server's CPUs, from 0 to 1; in simulation, of the model's CPUs.",
            ),
            ("lag_max_ns", "UInt64", "Largest lag of a packet in this second; null in simulation."),
        ),
    ),
    "links": (
        "The table has a row for each direction of each link, for the whole run.",
        (
            RUN,
            (
                "link",
                "String",
                "Name of the link: `shared`, or the name of the group, a slash, and the index of the client in the "
                "run. In a backbone or a graph the link before the server is `server`, and links between nodes have "
                "their own names.",
            ),
            (
                "direction",
                "String",
                "`up` is the direction to the server, `down` the direction to the client. Links between nodes have the "
                "directions `forward` and `backward` instead.",
            ),
            (
                "packets",
                "UInt64",
                "Packets that arrived at the link. For an access link they are those of its client in `connections`, "
                "`strays` and `cross_packets`. Copies that the link made are not among them.",
            ),
            (
                "strays",
                "UInt64",
                "Packets that belong to no connection of the run and are no cross traffic: those of an earlier run, or "
                "not TCP, or fragments. "
                "Null for links that clients share.",
            ),
            ("bytes", "UInt64", "Number of bytes of these packets, IP headers included."),
            ("lost", "UInt64", "Packets that the loss model dropped."),
            ("dropped", "UInt64", "Packets that were dropped for another reason, copies among them."),
            (
                "dropped_early",
                "UInt64",
                "Those of them that the queue dropped although it was not full, to slow their senders. Null in results "
                "of older versions.",
            ),
            (
                "cross_packets",
                "UInt64",
                "Packets of cross traffic among `packets`. This and the next three are null in results of older "
                "versions.",
            ),
            ("cross_bytes", "UInt64", "Bytes of cross traffic among `bytes`."),
            ("cross_lost", "UInt64", "Packets of cross traffic among `lost`."),
            ("cross_dropped", "UInt64", "Packets of cross traffic among `dropped`."),
            ("corrupted", "UInt64", "Packets in which the link flipped a bit. Null in results of older versions."),
            ("duplicated", "UInt64", "Copies that the link made of packets. Null in results of older versions."),
            (
                "held",
                "UInt64",
                "Packets that `reorder` held back so that later packets overtake them. Null in results of older "
                "versions.",
            ),
            (
                "reordered",
                "UInt64",
                "Packets that were held back, and that at least one later packet overtook. Packets that overtake each "
                "other by jitter are not counted. Null in results of older versions.",
            ),
            ("max_queue_bytes", "UInt64", "Largest number of bytes in the queue."),
            (
                "mean_queue_bytes",
                "Float64",
                "Mean number of bytes in the queue over the run, without the packet in transmission.",
            ),
        ),
    ),
    "histogram": (
        "The table has a row for each bucket of a histogram of response times, of transactions that ended in the "
        "measured interval. Empty buckets have no row.",
        (
            RUN,
            ("group", "UInt16", "Index of the group; null for all groups together, background groups left out."),
            (
                "population",
                "String",
                "Transactions that are counted: the `ok` ones (`ok`), or all that ended, with the times until they "
                "ended (`all`). Results of format 1 have null, which means `ok`.",
            ),
            ("lower_ns", "UInt64", "Lower edge of the bucket, which belongs to it."),
            ("upper_ns", "UInt64", "Upper edge of the bucket, which belongs to it."),
            ("count", "UInt64", "Number of transactions in the bucket."),
        ),
    ),
}


def completed(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """A table as it was read, with all its columns: one that results of an older format do not have is null."""
    absent = [(column, kind) for column, kind, _ in TABLES[table][1] if column not in frame.columns]
    return frame.with_columns(pl.lit(None, dtype=getattr(pl, kind)).alias(column) for column, kind in absent)
