//! Everything that can happen in a model.

use wasp_app::{BrowserTimer, ServerTimer, Work};
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
    /// A client's own deadline: its start, an arrival, the end of a pause.
    ClientAlarm {
        /// Index of the client.
        client: u32,
    },
    /// A packet of cross traffic is due.
    CrossTraffic {
        /// Which source sends it.
        source: u32,
    },
    /// A deadline of one connection of the modelled server.
    ServerConnection {
        /// The connection's slot.
        slot: u32,
    },
    /// Fragments that came to the modelled server may have waited for too long.
    ServerReassembly,
    /// The modelled server's CPU has finished a response.
    ServerWork(Work),
    /// A job of the modelled server's machine is done, or another of its own deadlines has come.
    ServerAlarm,
}

impl Event {
    /// The event of a wake-up that this client asks for.
    #[inline]
    pub(crate) fn of_client(client: u32) -> impl Fn(BrowserTimer) -> Self {
        move |timer| match timer {
            BrowserTimer::Alarm => Self::ClientAlarm { client },
            BrowserTimer::Connection(slot) => Self::ClientConnection { client, slot },
            BrowserTimer::Reading(slot) => Self::ClientReading { client, slot },
        }
    }

    /// The event of a wake-up that the modelled server asks for.
    #[inline]
    pub(crate) const fn of_server(timer: ServerTimer) -> Self {
        match timer {
            ServerTimer::Connection(slot) => Self::ServerConnection { slot },
            ServerTimer::Work(work) => Self::ServerWork(work),
            ServerTimer::Alarm => Self::ServerAlarm,
        }
    }
}

impl From<NetworkEvent> for Event {
    fn from(event: NetworkEvent) -> Self {
        Self::Network(event)
    }
}
