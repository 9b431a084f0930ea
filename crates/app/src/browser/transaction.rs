//! One request and its response.

use super::Place;
use super::schedule::Ask;
use super::visitor::Exchanges;
use crate::{LossEvents, Outcome, TransactionRecord};
use wasp_http::{Head, Search};
use wasp_units::Instant;

/// A transaction in progress: the record so far, and the response's head.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) record: TransactionRecord,
    pub(super) head: Option<Head>,
}

impl Transaction {
    /// Transaction number `request` of the client at `place`, which begins now.
    pub(super) fn new(place: &Place, request: u32, ask: Ask, now: Instant) -> Self {
        let record = TransactionRecord {
            client: place.index,
            group: place.group,
            connection: 0,
            request,
            file: ask.file,
            intended: ask.intended,
            start: now,
            connected: None,
            first_of_place: false,
            requests_before: 0,
            loss_events: LossEvents::default(),
            sent: None,
            first_byte: None,
            last_byte: None,
            end: now,
            status: 0,
            bytes: 0,
            outcome: Outcome::Unfinished,
            attempts: 1,
        };
        Self { record, head: None }
    }

    /// The response is whole, with so many bytes of a body that `search` and the visitor have seen: says how that ends the transaction.
    #[inline]
    pub(super) fn complete(
        &mut self,
        exchanges: &mut Exchanges<'_>,
        (bytes, search): (u64, Search),
        now: Instant,
    ) {
        self.record.last_byte = Some(now);
        self.record.bytes = bytes;
        let status = self.head.map_or(u16::MAX, |head| head.status);
        self.record.outcome = match exchanges.requests.named(self.record.file) {
            None if status < 400 => Outcome::Ok,
            None => Outcome::HttpError,
            Some(named) => named.verdict((status, bytes), search, exchanges.visitor.as_deref_mut()),
        };
    }

    /// The record of the transaction, which ends now.
    pub(super) fn end(mut self, outcome: Outcome, now: Instant) -> TransactionRecord {
        self.record.status = self.head.map_or(0, |head| head.status);
        self.record.end = now;
        self.record.outcome = outcome;
        self.record
    }
}
