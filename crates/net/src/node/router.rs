//! The state of one router.

use super::bucket::{Bucket, ErrorRate};
use super::routes::Routes;
use crate::LinkId;
use wasp_kernel::NodeId;
use wasp_packet::Reassembly;
use wasp_units::{Instant, Wakeup};
use wasp_wire::Address;

/// A node that forwards packets.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) node: NodeId,
    pub(crate) routes: Routes,
    /// The address of ports that have none of their own.
    address: Option<Address>,
    /// The addresses of the ports that have one, by the link that leads to them.
    ports: Vec<(LinkId, Address)>,
    errors: Bucket,
    identification: u16,
    /// The packets for the router itself of which fragments have come.
    pub(crate) reassembly: Reassembly,
    pub(crate) reassembly_wakeup: Wakeup,
}

impl Router {
    pub(crate) fn new(node: NodeId, address: Option<Address>, errors: ErrorRate) -> Self {
        Self {
            node,
            routes: Routes::default(),
            address,
            ports: Vec::new(),
            errors: Bucket::new(errors),
            identification: 0,
            reassembly: Reassembly::default(),
            reassembly_wakeup: Wakeup::default(),
        }
    }

    /// Gives the port to which `link` leads an address of its own.
    pub(crate) fn number_port(&mut self, link: LinkId, address: Address) {
        self.ports.push((link, address));
    }

    /// The address by which the router is known where packets come over `link`. A router that has none sends no packets of its own.
    pub(crate) fn address_at(&self, link: LinkId) -> Option<Address> {
        let port = self.ports.iter().find(|(other, _)| *other == link);
        port.map(|(_, address)| *address).or(self.address)
    }

    /// Whether an ICMP error may be sent at `now`; if so it counts as sent.
    pub(crate) fn may_send_error(&mut self, now: Instant) -> bool {
        self.errors.take(now)
    }

    /// The identification of the next packet that the router sends.
    pub(crate) const fn next_identification(&mut self) -> u16 {
        self.identification = self.identification.wrapping_add(1);
        self.identification
    }
}
