//! Closing a connection (RFC 9293 sections 3.6 and 3.10.4), in order or not, and TIME-WAIT.

use crate::endpoint::Endpoint;
use crate::sender::Fin;
use crate::types::{Event, State};
use wasp_units::{Duration, Instant};
use wasp_wire::{Flags, TcpHeader};

impl Endpoint {
    /// Sends a FIN after the data queued so far. What arrives can still be read.
    pub fn close(&mut self) {
        if self.sender.fin != Fin::Open || self.state == State::Closed {
            return;
        }
        if self.state == State::SynSent {
            self.finish(Event::Closed);
            return;
        }
        self.sender.fin = Fin::Queued;
        self.output_due = true;
        self.start_closing_if_queued();
    }

    /// The state that follows from a queued FIN.
    pub(crate) fn start_closing_if_queued(&mut self) {
        if self.sender.fin != Fin::Queued {
            return;
        }
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            state => state,
        };
    }

    /// Gives the connection up: with a reset where the peer knows of it (RFC 9293 section 3.10.5).
    pub fn abort(&mut self) {
        match self.state {
            State::Closed => return,
            State::SynSent | State::TimeWait => {}
            _ => self.owe_reset(self.sender.next, true),
        }
        self.acks.cancel();
        self.finish(Event::Closed);
    }

    /// Everything that we sent is acknowledged, our FIN included.
    pub(crate) fn on_fin_acknowledged(&mut self, now: Instant) {
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.arm_fin_wait_2(now);
            }
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.finish(Event::Closed),
            _ => {}
        }
    }

    /// The wait for the peer in FIN-WAIT-2 starts, or starts again because it spoke.
    pub(crate) fn arm_fin_wait_2(&mut self, now: Instant) {
        self.linger(now, self.config.fin_wait_2);
    }

    /// The connection ends by itself after `wait`.
    fn linger(&mut self, now: Instant, wait: Duration) {
        self.timers.linger = if wait.is_zero() { now } else { self.deadline(now, wait) };
    }

    /// The peer's FIN is in order.
    pub(crate) fn on_remote_fin(&mut self, now: Instant) {
        self.events.push(Event::RemoteClosed);
        self.acks.now();
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
        self.start_closing_if_queued();
    }

    /// TIME-WAIT starts, or starts again after a repeated FIN.
    pub(crate) fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers.clear();
        self.linger(now, self.config.time_wait);
    }

    /// TIME-WAIT is over, or the peer has been silent in FIN-WAIT-2 for too long.
    pub(crate) fn linger_timeout(&mut self) {
        self.finish(Event::Closed);
    }

    /// Whether a SYN that arrives in TIME-WAIT may open a new connection in this one's place: its timestamp is later
    /// (RFC 6191), or else its sequence number lies beyond what we have received (RFC 1122 section 4.2.2.13).
    #[must_use]
    pub fn yields_to(&self, syn: &TcpHeader) -> bool {
        let opens =
            syn.flags.contains(Flags::SYN) && !syn.flags.intersects(Flags::ACK | Flags::RST | Flags::FIN);
        if self.state != State::TimeWait || !opens {
            return false;
        }
        match syn.timestamps {
            Some(timestamps) if self.timestamps && timestamps.value != self.ts_recent => {
                (timestamps.value.wrapping_sub(self.ts_recent) as i32) > 0
            }
            _ => syn.sequence.after(self.receiver.next()),
        }
    }
}
