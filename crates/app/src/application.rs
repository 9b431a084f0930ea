//! How a host's application is driven.

use crate::{Turn, Untaken};
use wasp_packet::{Packet, PayloadPool};
use wasp_stack::Ip;
use wasp_units::Instant;

/// An application with its [`wasp_stack::Stack`], which it owns. It knows nothing below that: it is told what happens, then asked what it wants.
///
/// ```text
/// handle_packet, handle_timer ─► poll_untaken ─► poll_transmit until None ─► poll_timeouts
///                                                     ▲             │ is_waiting
///                                                     └── go_on ◄───┘
/// ```
///
/// All of this comes after each packet and each wake-up, before the next. Fragments wait in the IP layer of its stack: after a packet that is not taken, and when it is due, look at the deadline of [`Self::ip`].
pub trait Application {
    /// Which of its deadlines a wake-up is for.
    type Timer;

    /// The host's IP layer.
    fn ip(&mut self) -> &mut Ip;

    /// A packet has arrived, whose payload is taken. Returns what becomes of it if no socket takes it.
    fn handle_packet(&mut self, packet: &mut Packet, turn: &mut Turn<'_>) -> Option<Untaken>;

    /// A packet that arrived earlier, and of which it turns out now that no socket takes it. Call until `None`.
    #[inline]
    fn poll_untaken(&mut self) -> Option<Untaken> {
        None
    }

    /// A wake-up has come that was asked for.
    fn handle_timer(&mut self, timer: Self::Timer, turn: &mut Turn<'_>);

    /// The next packet to send.
    fn poll_transmit(&mut self, now: Instant, pool: &mut PayloadPool) -> Option<Packet>;

    /// Whether something waits for [`Self::go_on`].
    fn is_waiting(&self) -> bool;

    /// Does what waits until everything has been sent, and may cause more.
    fn go_on(&mut self, turn: &mut Turn<'_>);

    /// Hands the wake-ups to ask for to `ask`; call when there is nothing more to send.
    fn poll_timeouts(&mut self, now: Instant, ask: impl FnMut(Self::Timer, Instant));
}
