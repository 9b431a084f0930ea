//! A TCP endpoint with its place in the network and its timer.

use crate::interface::Interface;
use crate::{Event, World};
use wasp_kernel::{NodeId, Timer};
use wasp_net::Observer;
use wasp_tcp::Endpoint;
use wasp_units::Instant;
use wasp_wire::Address;

/// One connection's endpoint.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) endpoint: Endpoint,
    pub(crate) remote: Address,
    pub(crate) timer: Timer,
}

impl Socket {
    pub(crate) fn new(endpoint: Endpoint, remote: Address) -> Self {
        Self { endpoint, remote, timer: Timer::default() }
    }

    /// Sends everything that the endpoint has to send.
    #[inline]
    pub(crate) fn transmit<O: Observer>(&mut self, interface: &mut Interface, world: &mut World<'_, O>) {
        while let Some(segment) = self.endpoint.poll_transmit(world.now(), &mut world.network.pool) {
            interface.send(self.remote, segment, world);
        }
    }

    /// Makes sure that `event` comes no later than the endpoint's deadline and `other`.
    pub(crate) fn arm<O>(
        &mut self,
        other: Option<Instant>,
        node: NodeId,
        event: Event,
        world: &mut World<'_, O>,
    ) {
        let deadline = [self.endpoint.poll_timeout(), other].into_iter().flatten().min();
        self.timer.arm(deadline, node, event, world.scheduler);
    }
}
