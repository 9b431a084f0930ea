"""The tables of results: every column's name, type and meaning. The reference page, SQL and the reading of files
follow from them; a test holds them to what the engine makes.
"""

from __future__ import annotations

import polars as pl

CLIENT = ("client", "UInt32", "Index of the client in the run, from 0.")
GROUP = ("group", "UInt16", "Index of the group of clients, from 0.")
RUN = ("run", "UInt32", "Number of the run, from 0.")
_OLDER = "Null in results of older versions."

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
            ("file", "UInt32", "Index of the file, or of the named request, in the group's workload, from 0."),
            (
                "request_name",
                "String",
                "Name of the request; null where requests have no names, and in results of older versions.",
            ),
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
                "How the transaction ended: ok, http_error, wrong, malformed, refused, reset, timed_out, truncated, "
                "aborted, unfinished.",
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
                "kind",
                "String",
                "What the link joins: `access` a client and a node, `between` two nodes, `server` a node and the "
                f"server. {_OLDER}",
            ),
            (
                "from_node",
                "String",
                "Where the direction begins: a node, `server`, or the client as in `link`. The node of a star is "
                f"`router`. {_OLDER}",
            ),
            ("to_node", "String", f"Where the direction ends. {_OLDER}"),
            (
                "rate_bps",
                "UInt64",
                "Rate of the direction in bits a second, or the mean rate of its trace. Null without a rate, and in "
                "results of older versions.",
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
            (
                "carried_bytes",
                "UInt64",
                "Number of bytes that the link carried: of packets and copies that left the queue before the run "
                f"ended. {_OLDER}",
            ),
            ("lost", "UInt64", "Packets that the loss model dropped."),
            (
                "dropped",
                "UInt64",
                "Packets that were dropped for another reason, copies among them. The next three columns have each "
                "reason.",
            ),
            ("dropped_full", "UInt64", f"Packets that found no room in the queue. {_OLDER}"),
            (
                "dropped_early",
                "UInt64",
                f"Packets that the queue dropped although it was not full, to slow their senders. {_OLDER}",
            ),
            (
                "dropped_too_big",
                "UInt64",
                'Packets that were longer than the MTU of the link, and whose header said "do not fragment". ' + _OLDER,
            ),
            (
                "fragmented",
                "UInt64",
                "Packets that were longer than the MTU of the link. Fragments took their place, which are counted in "
                f"`packets`; the packets themselves are not. {_OLDER}",
            ),
            (
                "marked",
                "UInt64",
                f"Packets that the queue marked instead of dropping them (ECN, RFC 3168). {_OLDER}",
            ),
            (
                "cross_packets",
                "UInt64",
                "Packets of cross traffic among `packets`. This and the next four are null in results of older "
                "versions.",
            ),
            ("cross_bytes", "UInt64", "Bytes of cross traffic among `bytes`."),
            ("cross_lost", "UInt64", "Packets of cross traffic among `lost`."),
            ("cross_dropped", "UInt64", "Packets of cross traffic among `dropped`."),
            ("cross_dropped_early", "UInt64", "Packets of cross traffic among `dropped_early`."),
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
    "link_series": (
        "The table has a row for each second of each direction of each observed link, warm-up included. Links that "
        "clients share are observed, and the access links of groups with `observe`. The last second of a run may be a "
        "part of one. Results of older versions do not have this table.",
        (
            RUN,
            ("link", "String", "Name of the link, as in `links`."),
            ("direction", "String", "Direction, as in `links`."),
            ("second", "UInt32", "Number of the second, from 0."),
            ("packets", "UInt64", "Packets that arrived at the link in this second."),
            ("bytes", "UInt64", "Number of bytes of these packets, IP headers included."),
            ("carried_bytes", "UInt64", "Number of bytes of packets and copies that left the queue in this second."),
            ("lost", "UInt64", "Packets that the loss model dropped in this second."),
            ("dropped", "UInt64", "Packets that were dropped in this second for another reason, copies among them."),
            ("marked", "UInt64", "Packets that the queue marked in this second."),
            ("queue_bytes", "UInt64", "Number of bytes in the queue at the end of this second."),
            ("max_queue_bytes", "UInt64", "Largest number of bytes in the queue in this second."),
            ("mean_queue_bytes", "Float64", "Mean number of bytes in the queue in this second."),
        ),
    ),
    "link_waits": (
        "The table has a row for each bucket of a histogram of the times that packets waited in the queue of an "
        "observed link with a rate or a trace. It has the packets that left the queue in the measured interval, cross "
        "traffic among them. Empty buckets have no row. Results of older versions do not have this table.",
        (
            RUN,
            ("link", "String", "Name of the link, as in `links`."),
            ("direction", "String", "Direction, as in `links`."),
            ("lower_ns", "UInt64", "Lower edge of the bucket, which belongs to it. A packet that did not wait has 0."),
            ("upper_ns", "UInt64", "Upper edge of the bucket, which belongs to it: at most 1 % above the lower one."),
            ("count", "UInt64", "Number of packets in the bucket."),
        ),
    ),
    "histogram": (
        "The table has a row for each bucket of a histogram of response times, of transactions that ended in the "
        "measured interval, and of whole sessions. Empty buckets have no row.",
        (
            RUN,
            ("group", "UInt16", "Index of the group; null for all groups together, background groups left out."),
            (
                "request_name",
                "String",
                "Name of the request whose transactions are counted; null for all transactions of the group, and for "
                "whole sessions.",
            ),
            (
                "population",
                "String",
                "Transactions that are counted: the `ok` ones (`ok`), or all that ended, with the times until they "
                "ended (`all`). Results of format 1 have null, which means `ok`. Of whole sessions, which count with "
                "the sums of the response times of their steps, it is `ok sessions`, or `all sessions` with an hour "
                "for each that failed.",
            ),
            ("lower_ns", "UInt64", "Lower edge of the bucket, which belongs to it."),
            ("upper_ns", "UInt64", "Upper edge of the bucket, which belongs to it."),
            ("count", "UInt64", "Number of transactions, or of sessions, in the bucket."),
        ),
    ),
}

SINCE = {"link_series": 4, "link_waits": 4}
"""The format of results since which there is a table, if there were results without it."""


def completed(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """A table as it was read, with all its columns: one that results of an older format do not have is null."""
    absent = [(column, kind) for column, kind, _ in TABLES[table][1] if column not in frame.columns]
    return frame.with_columns(pl.lit(None, dtype=getattr(pl, kind)).alias(column) for column, kind in absent)
