//! Everything that can happen in a model.

use wasp_net::NetworkEvent;

/// An event of the model; eight bytes and a tag.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// Something happens in the network.
    Network(NetworkEvent),
    /// A deadline of one connection of a client.
    ClientConnection {
        /// Index of the client.
        client: u32,
        /// The connection's slot.
        slot: u32,
    },
    /// The application of a client's connection may be about to read.
    ClientReading {
        /// Index of the client.
        client: u32,
        /// The connection's slot.
        slot: u32,
    },
    /// Fragments that came to a client may have waited for too long.
    ClientReassembly {
        /// Index of the client.
        client: u32,
    },
    /// A client's own deadline: its start, a request's timeout, the end of a pause.
    ClientAlarm {
        /// Index of the client.
        client: u32,
    },
    /// A packet of cross traffic is due.
    CrossTraffic {
        /// Which source sends it.
        source: u32,
    },
    /// Fragments that came to the modelled server may have waited for too long.
    ServerReassembly,
    /// A deadline of one connection of the modelled server.
    ServerConnection {
        /// The connection's slot.
        slot: u32,
    },
    /// The modelled server's CPU has finished a response.
    ServerResponse {
        /// The connection's slot.
        slot: u32,
        /// Which connection used the slot when the work began.
        generation: u32,
    },
}

impl From<NetworkEvent> for Event {
    fn from(event: NetworkEvent) -> Self {
        Self::Network(event)
    }
}
