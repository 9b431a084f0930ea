//! What a run left behind, converted for Python.

use crate::error::engine_error;
use crate::table::{ArrowTable, Column};
use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Float64Array, Int64Array, PrimitiveArray, StringArray,
    UInt16Array, UInt32Array, UInt64Array,
};
use hdrhistogram::{Counter, Histogram};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};
use wasp_app::Outcome;
use wasp_engine::{
    ConnectionRow, Gauges, GroupLedger, Ledger, LinkRow, LinkSecond, NamedLedger, ObservedLink, Rows,
    RunOutput, Second, Strata, Summary, TimedTally, TransactionRow,
};

/// The figures and the records of a run.
#[pyclass(frozen, module = "waspbench._core")]
pub(crate) struct RunResult {
    summary: Summary,
    records: Mutex<Option<(Ledger, LinkRecords)>>,
}

/// What is on record of links.
struct LinkRecords {
    rows: Vec<LinkRow>,
    observed: Vec<ObservedLink>,
}

impl RunResult {
    pub(crate) fn new(output: RunOutput) -> Self {
        let RunOutput { summary, ledger, links: rows, observed, .. } = output;
        Self { summary, records: Mutex::new(Some((ledger, LinkRecords { rows, observed }))) }
    }
}

#[pymethods]
impl RunResult {
    /// The figures as one JSON object.
    fn summary(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(engine_error)
    }

    /// The records by the name of their table; once, because they are handed over and not copied.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (ledger, links) = records.ok_or_else(|| engine_error(TAKEN))?;
        let histogram = histogram_table(&ledger)?;
        let Ledger { transactions, connections, seconds, groups, .. } = ledger;
        let tables = PyDict::new(py);
        tables.set_item("transactions", transaction_table(transactions, &groups)?)?;
        tables.set_item("connections", connection_table(connections)?)?;
        tables.set_item("series", series_table(&seconds)?)?;
        tables.set_item("links", link_table(&links.rows)?)?;
        tables.set_item("link_series", link_series_table(&links.observed)?)?;
        tables.set_item("link_waits", link_wait_table(&links.observed)?)?;
        tables.set_item("histogram", histogram)?;
        Ok(tables)
    }
}

const TAKEN: &str = "the run's tables were taken before";

/// How the engine writes an instant that was not reached.
const NEVER: i64 = i64::MIN;

fn array<A: arrow_array::Array + 'static>(array: A) -> ArrayRef {
    Arc::new(array)
}

fn numbers<T: ArrowPrimitiveType>(values: impl Iterator<Item = T::Native>) -> ArrayRef {
    array(PrimitiveArray::<T>::from_iter_values(values))
}

/// Instants, null where they were not reached.
fn instants(nanos: impl Iterator<Item = i64>) -> ArrayRef {
    array(nanos.map(|nanos| (nanos != NEVER).then_some(nanos)).collect::<Int64Array>())
}

fn outcomes(places: impl Iterator<Item = u8>) -> ArrayRef {
    array(StringArray::from_iter_values(places.map(|place| Outcome::ALL[usize::from(place)].name())))
}

fn transaction_table(transactions: Strata, groups: &[GroupLedger]) -> PyResult<ArrowTable> {
    let name = |row: &TransactionRow| {
        let named = groups.get(usize::from(row.group))?.named.get(row.file as usize)?;
        Some(Arc::clone(&named.name))
    };
    let columns = |rows: Vec<TransactionRow>| -> Vec<Column> {
        vec![
            ("client", numbers::<UInt32Type>(rows.iter().map(|row| row.client))),
            ("group", numbers::<UInt16Type>(rows.iter().map(|row| row.group))),
            ("connection", numbers::<UInt32Type>(rows.iter().map(|row| row.connection))),
            ("request", numbers::<UInt32Type>(rows.iter().map(|row| row.request))),
            ("file", numbers::<UInt32Type>(rows.iter().map(|row| row.file))),
            ("request_name", array(rows.iter().map(name).collect::<StringArray>())),
            ("intended_ns", instants(rows.iter().map(|row| row.intended_ns))),
            ("start_ns", instants(rows.iter().map(|row| row.start_ns))),
            ("connected_ns", instants(rows.iter().map(|row| row.connected_ns))),
            ("sent_ns", instants(rows.iter().map(|row| row.sent_ns))),
            ("first_byte_ns", instants(rows.iter().map(|row| row.first_byte_ns))),
            ("last_byte_ns", instants(rows.iter().map(|row| row.last_byte_ns))),
            ("end_ns", instants(rows.iter().map(|row| row.end_ns))),
            ("status", numbers::<UInt16Type>(rows.iter().map(|row| row.status))),
            ("bytes", numbers::<UInt64Type>(rows.iter().map(|row| row.bytes))),
            ("outcome", outcomes(rows.iter().map(|row| row.outcome))),
            ("attempts", numbers::<UInt8Type>(rows.iter().map(|row| row.attempts))),
            ("measured", array(rows.iter().map(|row| Some(row.measured)).collect::<BooleanArray>())),
        ]
    };
    ArrowTable::new(transactions.into_chunks().map(columns), columns(Vec::new()))
}

fn connection_table(connections: Rows<ConnectionRow>) -> PyResult<ArrowTable> {
    let columns = |rows: Vec<ConnectionRow>| -> Vec<Column> {
        vec![
            ("client", numbers::<UInt32Type>(rows.iter().map(|row| row.client))),
            ("group", numbers::<UInt16Type>(rows.iter().map(|row| row.group))),
            ("connection", numbers::<UInt32Type>(rows.iter().map(|row| row.connection))),
            ("opened_ns", instants(rows.iter().map(|row| row.opened_ns))),
            ("closed_ns", instants(rows.iter().map(|row| row.closed_ns))),
            ("up_packets", numbers::<UInt64Type>(rows.iter().map(|row| row.up_packets))),
            ("up_lost", numbers::<UInt64Type>(rows.iter().map(|row| row.up_lost))),
            ("down_packets", numbers::<UInt64Type>(rows.iter().map(|row| row.down_packets))),
            ("down_lost", numbers::<UInt64Type>(rows.iter().map(|row| row.down_lost))),
            ("retransmitted", numbers::<UInt32Type>(rows.iter().map(|row| row.retransmitted))),
        ]
    };
    ArrowTable::new(connections.into_chunks().into_iter().map(columns), columns(Vec::new()))
}

fn series_table(seconds: &[Second]) -> PyResult<ArrowTable> {
    let of = |value: fn(&Second) -> u32| array(seconds.iter().map(value).collect::<UInt32Array>());
    let gauge = |value: fn(&Gauges) -> u64| {
        array(seconds.iter().map(|second| second.gauges.as_ref().map(value)).collect::<UInt64Array>())
    };
    ArrowTable::single(vec![
        ("second", array((0..seconds.len() as u32).collect::<UInt32Array>())),
        ("ok", of(|second| second.ok)),
        ("errors", of(|second| second.errors)),
        ("bytes", array(seconds.iter().map(|second| second.bytes).collect::<UInt64Array>())),
        ("in_flight", of(|second| second.in_flight)),
        ("up_packets", gauge(|gauges| gauges.up.packets)),
        ("up_lost", gauge(|gauges| gauges.up.lost)),
        ("down_packets", gauge(|gauges| gauges.down.packets)),
        ("down_lost", gauge(|gauges| gauges.down.lost)),
        (
            "server_busy",
            array(seconds.iter().map(|second| second.gauges?.server_busy).collect::<Float64Array>()),
        ),
        (
            "lag_max_ns",
            array(seconds.iter().map(|second| second.gauges?.lag_max_ns).collect::<UInt64Array>()),
        ),
    ])
}

fn link_table(links: &[LinkRow]) -> PyResult<ArrowTable> {
    let of = |value: fn(&LinkRow) -> u64| array(links.iter().map(value).collect::<UInt64Array>());
    let text = |value: fn(&LinkRow) -> &str| array(StringArray::from_iter_values(links.iter().map(value)));
    ArrowTable::single(vec![
        ("link", text(|link| &link.link)),
        ("direction", text(|link| link.direction)),
        ("kind", text(|link| link.kind.name())),
        ("from_node", text(|link| &link.from_node)),
        ("to_node", text(|link| &link.to_node)),
        ("rate_bps", array(links.iter().map(|link| link.rate_bps).collect::<UInt64Array>())),
        ("packets", of(|link| link.packets)),
        ("strays", array(links.iter().map(|link| link.strays).collect::<UInt64Array>())),
        ("bytes", of(|link| link.bytes)),
        ("carried_bytes", of(|link| link.carried_bytes)),
        ("lost", of(|link| link.lost)),
        ("dropped", of(|link| link.dropped)),
        ("dropped_full", of(|link| link.dropped_full)),
        ("dropped_early", of(|link| link.dropped_early)),
        ("dropped_too_big", of(|link| link.dropped_too_big)),
        ("fragmented", of(|link| link.fragmented)),
        ("marked", of(|link| link.marked)),
        ("cross_packets", of(|link| link.cross_packets)),
        ("cross_bytes", of(|link| link.cross_bytes)),
        ("cross_lost", of(|link| link.cross_lost)),
        ("cross_dropped", of(|link| link.cross_dropped)),
        ("cross_dropped_early", of(|link| link.cross_dropped_early)),
        ("corrupted", of(|link| link.corrupted)),
        ("duplicated", of(|link| link.duplicated)),
        ("held", of(|link| link.held)),
        ("reordered", of(|link| link.reordered)),
        ("max_queue_bytes", of(|link| link.max_queue_bytes)),
        ("mean_queue_bytes", array(links.iter().map(|link| link.mean_queue_bytes).collect::<Float64Array>())),
    ])
}

/// A row for each second of each link, those of a link one after the other.
fn link_series_table(links: &[ObservedLink]) -> PyResult<ArrowTable> {
    let rows = || links.iter().flat_map(|link| link.seconds.iter().zip(0_u32..).map(move |row| (link, row)));
    let of = |value: fn(&LinkSecond) -> u64| {
        array(rows().map(|(_, (second, _))| value(second)).collect::<UInt64Array>())
    };
    ArrowTable::single(vec![
        ("link", array(StringArray::from_iter_values(rows().map(|(link, _)| &link.link)))),
        ("direction", array(StringArray::from_iter_values(rows().map(|(link, _)| link.direction)))),
        ("second", array(rows().map(|(_, (_, number))| number).collect::<UInt32Array>())),
        ("packets", of(|row| row.packets)),
        ("bytes", of(|row| row.bytes)),
        ("carried_bytes", of(|row| row.carried_bytes)),
        ("lost", of(|row| row.lost)),
        ("dropped", of(|row| row.dropped)),
        ("marked", of(|row| row.marked)),
        ("queue_bytes", of(|row| row.queue_bytes)),
        ("max_queue_bytes", of(|row| row.max_queue_bytes)),
        (
            "mean_queue_bytes",
            array(rows().map(|(_, (row, _))| row.mean_queue_bytes).collect::<Float64Array>()),
        ),
    ])
}

/// A row for each bucket of the waiting times at each link.
fn link_wait_table(links: &[ObservedLink]) -> PyResult<ArrowTable> {
    let of_link = |link: &ObservedLink| link.waits.iter().flat_map(edges).collect::<Vec<_>>();
    let rows: Vec<_> =
        links.iter().flat_map(|link| of_link(link).into_iter().map(move |bucket| (link, bucket))).collect();
    let of = |value: fn(&Edges) -> u64| {
        array(rows.iter().map(|(_, bucket)| value(bucket)).collect::<UInt64Array>())
    };
    ArrowTable::single(vec![
        ("link", array(StringArray::from_iter_values(rows.iter().map(|(link, _)| &link.link)))),
        ("direction", array(StringArray::from_iter_values(rows.iter().map(|(link, _)| link.direction)))),
        ("lower_ns", of(|bucket| bucket.0)),
        ("upper_ns", of(|bucket| bucket.1)),
        ("count", of(|bucket| bucket.2)),
    ])
}

/// The transactions, or sessions, whose response times a histogram has.
#[derive(Clone, Copy)]
struct Counted<'a> {
    /// The group; none for the whole run.
    group: Option<u16>,
    /// The named request; none for all requests.
    request: Option<&'a str>,
    /// Whether they are those that were `ok`, or all that ended; and whether they are whole sessions.
    population: &'static str,
}

/// A bucket of response times: its least and greatest value, and how many it holds.
struct Bucket<'a> {
    counted: Counted<'a>,
    edges: Edges,
}

/// The buckets that hold something, of the whole run and of each group, and in both of each named request and of whole sessions.
fn histogram_table(ledger: &Ledger) -> PyResult<ArrowTable> {
    let mut rows: Vec<Bucket<'_>> = Vec::new();
    let (ok, all) = (&ledger.response_times, &ledger.all_times());
    rows.extend(buckets(None, ok, all));
    for (index, group) in (0..).zip(&ledger.groups) {
        match &group.times {
            // The times of the only group are those of the run.
            None => rows.extend(buckets(Some(index), ok, all)),
            Some(times) => rows.extend(buckets(Some(index), &times.ok, &times.all())),
        }
    }
    let together = ledger.named();
    rows.extend(named_buckets(None, &together));
    for (index, group) in (0..).zip(&ledger.groups) {
        rows.extend(named_buckets(Some(index), &group.named));
    }
    let sessions = ledger.sessions();
    rows.extend(sessions.iter().flat_map(|found| buckets_timed(None, None, &found.timed)));
    for (index, group) in (0..).zip(&ledger.groups) {
        rows.extend(group.sessions.iter().flat_map(|found| buckets_timed(Some(index), None, &found.timed)));
    }
    let of =
        |value: fn(&Edges) -> u64| array(rows.iter().map(|row| value(&row.edges)).collect::<UInt64Array>());
    let populations = rows.iter().map(|row| row.counted.population);
    ArrowTable::single(vec![
        ("group", array(rows.iter().map(|row| row.counted.group).collect::<UInt16Array>())),
        ("request_name", array(rows.iter().map(|row| row.counted.request).collect::<StringArray>())),
        ("population", array(StringArray::from_iter_values(populations))),
        ("lower_ns", of(|edges| edges.0)),
        ("upper_ns", of(|edges| edges.1)),
        ("count", of(|edges| edges.2)),
    ])
}

/// The buckets of these named requests, of a group or of all of them.
fn named_buckets(group: Option<u16>, named: &[NamedLedger]) -> Vec<Bucket<'_>> {
    named.iter().flat_map(|NamedLedger { name, timed, .. }| buckets_timed(group, Some(name), timed)).collect()
}

/// The buckets of the transactions of a named request; of whole sessions if it is none.
fn buckets_timed<'a>(group: Option<u16>, request: Option<&'a str>, timed: &TimedTally) -> Vec<Bucket<'a>> {
    let populations = if request.is_some() { OF_TRANSACTIONS } else { OF_SESSIONS };
    let Some(times) = timed.times() else { return Vec::new() };
    buckets_of(populations, (group, request), &times.ok, &times.all())
}

/// What is counted: the `ok` ones, and all that ended.
type Populations = [&'static str; 2];

const OF_TRANSACTIONS: Populations = ["ok", "all"];
const OF_SESSIONS: Populations = ["ok sessions", "all sessions"];

/// The buckets of the `ok` transactions, and of all that ended.
fn buckets<C: Counter>(group: Option<u16>, ok: &Histogram<C>, all: &Histogram<C>) -> Vec<Bucket<'static>> {
    buckets_of(OF_TRANSACTIONS, (group, None), ok, all)
}

fn buckets_of<'a, C: Counter>(
    populations: Populations,
    (group, request): (Option<u16>, Option<&'a str>),
    ok: &Histogram<C>,
    all: &Histogram<C>,
) -> Vec<Bucket<'a>> {
    let of = |population, histogram| {
        let counted = Counted { group, request, population };
        edges(histogram).map(move |edges| Bucket { counted, edges })
    };
    of(populations[0], ok).chain(of(populations[1], all)).collect()
}

/// The least and the greatest value of a bucket, and how many it holds.
type Edges = (u64, u64, u64);

/// The buckets that hold something.
fn edges<C: Counter>(histogram: &Histogram<C>) -> impl Iterator<Item = Edges> {
    histogram.iter_recorded().map(move |bucket| {
        let upper = bucket.value_iterated_to();
        let edges = (histogram.lowest_equivalent(upper), histogram.highest_equivalent(upper));
        (edges.0, edges.1, bucket.count_since_last_iteration())
    })
}
