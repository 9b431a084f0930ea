//! One connection of a client.

use super::behaviour::Behaviour;
use super::queue::Queue;
use super::transaction::Transaction;
use crate::record::EcnUse;
use crate::socket::Socket;
use wasp_http::{LastHead, ResponseReader};
use wasp_kernel::Timer;
use wasp_net::LossEvents;
use wasp_packet::{PayloadPool, View};
use wasp_tcp::{Chunk, State};
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, TcpHeader};

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

/// What the peer has pushed, in order or not, since the application read all there was.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
enum Pushed {
    /// Nothing.
    #[default]
    Nothing,
    /// A full segment at most: that tells little, since Linux pushes at the end of every two or so.
    Full,
    /// A short segment: the peer had no more to send.
    Short,
}

/// A connection that serves transactions, or that lingers after its last one.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) reader: ResponseReader,
    /// Place among the client's parallel connections.
    pub(super) lane: u8,
    /// Place among all its connections, those that linger included.
    pub(super) slot: u32,
    /// Whether its place had none before.
    pub(super) first_of_place: bool,
    /// Ordinal among the client's connections.
    pub(super) ordinal: u32,
    pub(super) initial_sequence: u32,
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
    /// When a slow application reads again.
    pub(super) read_at: Instant,
    /// Since when data waits for an application that reads as fast as it can.
    pub(super) waiting_since: Option<Instant>,
    /// The wake-up of the application, which moves more often than other deadlines.
    pub(super) reading: Timer,
    pushed: Pushed,
    /// When the client stops waiting for the server to close.
    linger: Option<Instant>,
}

impl Connection {
    pub(super) fn new(
        socket: Socket,
        (lane, slot): (u8, u32),
        ordinal: u32,
        initial_sequence: u32,
        now: Instant,
    ) -> Self {
        Self {
            socket,
            reader: ResponseReader::new(),
            lane,
            slot,
            first_of_place: false,
            ordinal,
            initial_sequence,
            opened: now,
            established: None,
            queue: Queue::default(),
            unsent: 0,
            requests: 0,
            spent: false,
            remote_closed: false,
            read_at: Instant::ZERO,
            waiting_since: None,
            reading: Timer::default(),
            pushed: Pushed::Nothing,
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

    /// Sends the requests that have not been sent. The connection has lost data so often.
    pub(super) fn send_requests(&mut self, behaviour: &Behaviour, loss_events: LossEvents, now: Instant) {
        let sent = self.queue.len() - usize::from(self.unsent);
        self.unsent = 0;
        for transaction in self.queue.iter_mut_from(sent) {
            let record = &mut transaction.record;
            record.requests_before = self.requests;
            self.requests += 1;
            record.connected = self.established.filter(|_| self.requests == 1);
            record.first_of_place = self.first_of_place;
            record.loss_events = loss_events;
            record.connection = self.ordinal;
            record.sent = Some(now);
            let head = behaviour.requests.head(transaction.record.file, behaviour.is_last(self.requests));
            self.socket.endpoint.send(Chunk::Shared(head));
            if behaviour.requests.content > 0 {
                self.socket.endpoint.send(Chunk::Virtual(behaviour.requests.content));
            }
        }
        if self.reader.is_idle() {
            self.reader.begin(behaviour.requests.method);
        }
    }

    /// What it did with ECN, if its client asks for that and it was established.
    pub(super) fn ecn(&self) -> Option<EcnUse> {
        let endpoint = &self.socket.endpoint;
        (endpoint.asks_for_ecn() && self.established.is_some()).then(|| EcnUse {
            agreed: endpoint.uses_ecn(),
            marked: endpoint.statistics().marked,
            reduced: endpoint.reductions_for_marks(),
        })
    }

    /// A segment with so many bytes arrives.
    #[inline]
    pub(super) fn note_push(&mut self, header: &TcpHeader, len: u32) {
        if header.flags.intersects(Flags::PSH | Flags::FIN) {
            let is_short = len < u32::from(self.socket.endpoint.mss());
            self.pushed = self.pushed.max(if is_short { Pushed::Short } else { Pushed::Full });
        }
    }

    /// The application has read what was in order. What was pushed beyond a gap still counts: it ends what fills the gap.
    pub(super) fn forget_push(&mut self) {
        if !self.socket.endpoint.has_gap() {
            self.pushed = Pushed::Nothing;
        }
    }

    /// Data has arrived in order. Returns whether the application reads now; otherwise it is about to wake up.
    pub(super) fn reads_at_once(
        &mut self,
        behaviour: &Behaviour,
        now: Instant,
        pool: &PayloadPool,
        last_head: &mut LastHead,
    ) -> bool {
        let wakes_up = behaviour.wakes_up()
            && self.pushed != Pushed::Short
            && self.socket.endpoint.readable()
                < u64::from(behaviour.read_after) * u64::from(self.socket.endpoint.mss())
            && !self.is_whole(pool, last_head);
        if wakes_up {
            self.waiting_since.get_or_insert(now);
        }
        !wakes_up
    }

    /// Whether all of the response in progress waits to be read, where its length is known. A response may end with a full
    /// segment, or with one that is sent again.
    fn is_whole(&self, pool: &PayloadPool, last_head: &mut LastHead) -> bool {
        let endpoint = &self.socket.endpoint;
        let outstanding = match self.reader.countable() {
            // Before its head is read, only a segment that was pushed may be its last.
            0 if self.pushed == Pushed::Full => match endpoint.peek(pool) {
                Some(View::Bytes(bytes)) => self.reader.outstanding(bytes, last_head),
                _ => None,
            },
            0 => None,
            rest => Some(rest),
        };
        outstanding.is_some_and(|outstanding| endpoint.readable() >= outstanding)
    }

    /// When the application reads what waits at the endpoint.
    pub(super) fn reads_at(&self, behaviour: &Behaviour) -> Option<Instant> {
        if behaviour.read_rate.is_none() {
            return self.waiting_since.map(|since| since + WAKE_UP);
        }
        (self.socket.endpoint.readable() > 0).then_some(self.read_at)
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

    /// Whether both sides have closed.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.socket.endpoint.state(), State::TimeWait | State::Closed)
    }

    /// The server has not closed in time: the client does, and gives up when that leads nowhere either.
    pub(super) fn handle_linger(&mut self, now: Instant) {
        if self.linger.is_none_or(|linger| linger > now) {
            return;
        }
        self.linger = match self.socket.endpoint.state() {
            State::Established | State::CloseWait => {
                self.socket.endpoint.close();
                Some(now + LINGER * 5)
            }
            State::TimeWait | State::Closed => None,
            _ => {
                self.socket.endpoint.abort();
                None
            }
        };
    }
}
