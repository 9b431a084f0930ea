//! One connection of a client.

use super::behaviour::Behaviour;
use super::queue::Queue;
use super::transaction::Transaction;
use super::visitor::Visitor;
use crate::{EcnUse, LossEvents, Turn};
use wasp_http::{ResponseReader, Search};
use wasp_packet::View;
use wasp_stack::Pushed;
use wasp_tcp::{Chunk, Endpoint, State};
use wasp_units::{Duration, Instant, Wakeup};

/// How long the client leaves it to the server to close first, as the last request of a connection asks it to (RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_secs(2);
/// A slow application reads so much at a time...
const READ_SIZE: u64 = 1_024;
/// ... or what its rate gives in this time, if that is more.
const READ_INTERVAL: Duration = Duration::from_millis(10);
/// How long a program takes to wake up for data after which more is to come: a burst of segments is read, and acknowledged, together.
/// It is awake sooner when [`Behaviour::read_after`] segments wait.
/// It is awake at once for a short segment that the server pushed, and when the response is whole: nothing follows with which it
/// could be read, and no time is to be added to responses.
const WAKE_UP: Duration = Duration::from_micros(100);

/// A TCP socket with the client's part of its connection.
pub(super) type Socket = wasp_stack::Socket<Connection>;

/// A connection that serves transactions, or that lingers after its last one: what the client keeps for its socket.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) reader: ResponseReader,
    /// How far a text has been found in the response that is read.
    pub(super) search: Search,
    /// Place among the client's parallel connections.
    pub(super) lane: u8,
    /// Place among all its sockets, those that linger included.
    pub(super) slot: u32,
    /// Whether its place had none before.
    pub(super) first_of_place: bool,
    pub(super) opened: Instant,
    /// When it was established.
    pub(super) established: Option<Instant>,
    /// Transactions without a whole response.
    pub(super) queue: Queue,
    /// The last so many of them have not been sent.
    pub(super) unsent: u8,
    /// Requests sent on it.
    pub(super) requests: u32,
    /// It takes no more requests.
    pub(super) spent: bool,
    /// The server has closed; what it sent before may wait to be read.
    pub(super) remote_closed: bool,
    /// TCP is done with it.
    pub(super) over: bool,
    /// When a slow application reads again.
    pub(super) read_at: Instant,
    /// Since when data waits for an application that reads as fast as it can.
    pub(super) waiting_since: Option<Instant>,
    /// The wake-up of the application, which moves more often than other deadlines.
    pub(super) reading: Wakeup,
    /// When the client stops waiting for the server to close.
    linger: Option<Instant>,
}

impl Connection {
    /// The connection of `lane` in `slot`, for these transactions.
    pub(super) fn new((lane, slot): (u8, u32), queue: Queue, first_of_place: bool, now: Instant) -> Self {
        Self {
            reader: ResponseReader::new(),
            search: Search::default(),
            lane,
            slot,
            first_of_place,
            opened: now,
            established: None,
            unsent: queue.len() as u8,
            queue,
            requests: 0,
            spent: false,
            remote_closed: false,
            over: false,
            read_at: Instant::ZERO,
            waiting_since: None,
            reading: Wakeup::default(),
            linger: None,
        }
    }

    /// Whether another request may be queued.
    pub(super) fn has_room(&self, behaviour: &Behaviour) -> bool {
        self.queue.len() < usize::from(behaviour.pipeline)
            && self.established.is_some()
            && !self.spent
            && !behaviour.is_last(self.requests + u32::from(self.unsent))
    }

    /// Whether it has brought a whole response.
    pub(super) fn has_answered(&self) -> bool {
        self.requests as usize > self.queue.len() - usize::from(self.unsent)
    }

    /// Queues a transaction.
    pub(super) fn push(&mut self, transaction: Transaction) {
        self.queue.push(transaction);
        self.unsent += 1;
    }

    /// Whether there are requests to send, and may be sent.
    pub(super) fn may_send(&self) -> bool {
        self.unsent > 0 && self.established.is_some()
    }

    /// Sends the requests of its client that have not been sent on its endpoint, as number `ordinal` of the client's connections. It has lost data so
    /// often.
    pub(super) fn send_requests(
        &mut self,
        endpoint: &mut Endpoint,
        (behaviour, visitor): (&Behaviour, Option<&Visitor>),
        (ordinal, loss_events): (u32, LossEvents),
        now: Instant,
    ) {
        let sent = self.queue.len() - usize::from(self.unsent);
        self.unsent = 0;
        for transaction in self.queue.iter_mut_from(sent) {
            let record = &mut transaction.record;
            record.requests_before = self.requests;
            self.requests += 1;
            record.connected = self.established.filter(|_| self.requests == 1);
            record.first_of_place = self.first_of_place;
            record.loss_events = loss_events;
            record.connection = ordinal;
            record.sent = Some(now);
            let (file, requests) = (transaction.record.file, &behaviour.requests);
            let last = behaviour.is_last(self.requests);
            if let Some(named) = requests.named(file)
                && let Some(visitor) = visitor
            {
                named.send(visitor, (transaction.record.request, last), endpoint, now);
                continue;
            }
            endpoint.send(Chunk::Shared(requests.head(file, last)));
            if requests.content > 0 {
                endpoint.send(Chunk::Virtual(requests.content));
            }
        }
        if let Some(next) = self.queue.front().filter(|_| self.reader.is_idle()) {
            self.reader.begin(behaviour.requests.method_of(next.record.file));
        }
    }

    /// What it did with ECN, if its client asks for that and it was established.
    pub(super) fn ecn(&self, endpoint: &Endpoint) -> Option<EcnUse> {
        (endpoint.asks_for_ecn() && self.established.is_some()).then(|| EcnUse {
            agreed: endpoint.uses_ecn(),
            marked: endpoint.statistics().marked,
            reduced: endpoint.reductions_for_marks(),
        })
    }

    /// When the application reads what waits at the endpoint.
    pub(super) fn reads_at(&self, endpoint: &Endpoint, behaviour: &Behaviour) -> Option<Instant> {
        if behaviour.read_rate.is_none() {
            return self.waiting_since.map(|since| since + WAKE_UP);
        }
        (endpoint.readable() > 0).then_some(self.read_at)
    }

    /// How much the application may read now.
    pub(super) fn allowance(&self, behaviour: &Behaviour, now: Instant) -> u64 {
        match behaviour.read_rate {
            None => u64::MAX,
            Some(_) if self.read_at > now => 0,
            Some(rate) => {
                let earned = u128::from(rate.bits_per_second()) * u128::from(READ_INTERVAL.as_nanos());
                READ_SIZE.max((earned / 8_000_000_000) as u64)
            }
        }
    }

    /// The next deadline that is not TCP's.
    pub(super) fn deadline(&self, behaviour: &Behaviour) -> Option<Instant> {
        let timeout = self.queue.front().map(|transaction| {
            let patience = behaviour
                .abort_after
                .map_or(behaviour.request_timeout, |after| after.min(behaviour.request_timeout));
            transaction.record.start.saturating_add(patience)
        });
        if self.linger.is_none() { timeout } else { timeout.into_iter().chain(self.linger).min() }
    }

    /// The server is expected to close.
    pub(super) fn linger_from(&mut self, now: Instant) {
        self.linger = Some(now + LINGER);
    }

    /// The server has not closed in time: the client does, and gives up when that leads nowhere either.
    pub(super) fn handle_linger(&mut self, endpoint: &mut Endpoint, now: Instant) {
        if self.linger.is_none_or(|linger| linger > now) {
            return;
        }
        self.linger = match endpoint.state() {
            State::Established | State::CloseWait => {
                endpoint.close();
                Some(now + LINGER * 5)
            }
            State::TimeWait | State::Closed => None,
            _ => {
                endpoint.abort();
                None
            }
        };
    }
}

/// Data has arrived in order. Returns whether the application reads now; otherwise it is about to wake up.
pub(super) fn reads_at_once(socket: &mut Socket, behaviour: &Behaviour, turn: &mut Turn<'_>) -> bool {
    let wakes_up = behaviour.wakes_up()
        && socket.pushed != Pushed::Short
        && socket.endpoint.readable() < u64::from(behaviour.read_after) * u64::from(socket.endpoint.mss())
        && !is_whole(socket, turn);
    if wakes_up {
        socket.data.waiting_since.get_or_insert(turn.now);
    }
    !wakes_up
}

/// Whether all of the response in progress waits to be read, where its length is known. A response may end with a full segment, or with one
/// that is sent again.
fn is_whole(socket: &Socket, turn: &mut Turn<'_>) -> bool {
    let (reader, endpoint) = (&socket.data.reader, &socket.endpoint);
    let outstanding = match reader.countable() {
        // Before its head is read, only a segment that was pushed may be its last.
        0 if socket.pushed == Pushed::Full => match endpoint.peek(turn.pool) {
            Some(View::Bytes(bytes)) => reader.outstanding(bytes, turn.last_head),
            _ => None,
        },
        0 => None,
        rest => Some(rest),
    };
    outstanding.is_some_and(|outstanding| endpoint.readable() >= outstanding)
}

/// Whether both sides have closed.
pub(super) fn is_closed(endpoint: &Endpoint) -> bool {
    matches!(endpoint.state(), State::TimeWait | State::Closed)
}
