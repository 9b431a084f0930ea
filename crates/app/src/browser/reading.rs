//! Reading the responses of one connection, one after the other.

use super::connection::Connection;
use super::visitor::{Exchanges, Looker};
use wasp_http::{Event, LastHead, Malformed, Piece, ResponseReader};
use wasp_packet::View;
use wasp_units::Instant;

/// What a stretch of the stream brought.
#[derive(Debug)]
pub(super) struct Reading {
    /// Responses that became whole: those to the first requests in the queue.
    pub(super) complete: usize,
    /// The last of them says that no other will follow on the connection.
    pub(super) last: bool,
    /// The stream is no HTTP.
    pub(super) malformed: bool,
    /// A body, whole or not, has reached the limit.
    pub(super) enough: bool,
    /// Bytes of a body that are enough.
    limit: u64,
}

impl Reading {
    /// Nothing read yet, of bodies of which so many bytes are enough.
    pub(super) fn up_to(limit: u64) -> Self {
        Self { complete: 0, last: false, malformed: false, enough: false, limit }
    }

    /// Reads one piece of the stream, whose first byte arrived at `arrived`, at `now`. What belongs to no transaction is thrown away.
    pub(super) fn feed(
        &mut self,
        connection: &mut Connection,
        exchanges: &mut Exchanges<'_>,
        last_head: &mut LastHead,
        view: View<'_>,
        (arrived, now): (Instant, Instant),
    ) {
        let (mut bytes, mut counted) = match view {
            View::Bytes(bytes) => (bytes, 0),
            View::Virtual(count) => (&[][..], u64::from(count)),
        };
        let Connection { queue, reader, search, .. } = connection;
        while !self.last && !self.malformed && !self.enough {
            let Some(transaction) = queue.get_mut(self.complete) else { return };
            // A response that follows another has mostly just arrived: had it waited, the one before would have been read then.
            let first_byte = if self.complete == 0 { arrived } else { now };
            transaction.record.first_byte.get_or_insert(first_byte);
            let piece = if counted > 0 { Piece::Counted(counted) } else { Piece::Bytes(bytes) };
            let record = &transaction.record;
            let exchange = exchanges.requests.named(record.file).filter(|exchange| exchange.looks());
            let read = match exchange.zip(exchanges.visitor.as_deref_mut()) {
                Some((exchange, visitor)) => {
                    let looker = Looker { exchange, search, visitor, request: record.request, now };
                    look(looker, reader, piece, last_head)
                }
                None => reader.handle(piece, last_head),
            };
            let Ok((used, event)) = read else {
                self.malformed = true;
                return;
            };
            if counted > 0 {
                counted -= used as u64;
            } else {
                bytes = &bytes[used..];
            }
            self.enough = reader.body_received() >= self.limit;
            if self.enough {
                return;
            }
            match event {
                Some(Event::Head(head)) => transaction.head = Some(head),
                Some(Event::Complete) => {
                    transaction.complete(exchanges, (reader.body_received(), *search), now);
                    self.last = transaction.head.is_none_or(|head| !head.keep_alive);
                    self.complete += 1;
                    if let Some(next) = queue.get_mut(self.complete).filter(|_| !self.last) {
                        reader.begin(exchanges.requests.method_of(next.record.file));
                    }
                    if bytes.is_empty() && counted == 0 {
                        return;
                    }
                }
                None => return,
            }
        }
    }
}

/// Reads a piece of a response, and looks at it. Few requests ask for that: it stays out of the way of the others.
#[cold]
#[inline(never)]
fn look(
    mut looker: Looker<'_>,
    reader: &mut ResponseReader,
    piece: Piece<'_>,
    last_head: &mut LastHead,
) -> Result<(usize, Option<Event>), Malformed> {
    reader.handle_observed(piece, last_head, &mut looker)
}
