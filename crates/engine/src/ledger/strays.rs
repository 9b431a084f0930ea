//! Packets that came to an access link after their connection was forgotten, back in the account of that connection.

use super::{ConnectionRow, Ledger, Rows};
use std::collections::BTreeMap;
use wasp_net::Flow;
use wasp_units::Instant;

/// Client, port, and the time of the first packet.
type Place = (u32, u16, Instant);

impl Ledger {
    /// Adds each flow that no connection ended to the row of the connection that it is of. Returns the flows that are of no connection of
    /// this run: what is not TCP, and packets of connections of earlier runs.
    pub(crate) fn attribute(&mut self, strays: Vec<Flow>) -> Vec<Flow> {
        let (flows, mut unknown): (Vec<_>, Vec<_>) = strays.into_iter().partition(Flow::is_tcp);
        let places: Vec<Place> = flows.iter().map(|flow| (flow.host, flow.port, flow.since)).collect();
        for (flow, owner) in flows.into_iter().zip(owners(&self.connections, &places)) {
            match owner.and_then(|place| self.connections.get_mut(place)) {
                Some(row) => {
                    row.up_packets += flow.forward.packets;
                    row.up_lost += flow.forward.lost;
                    row.down_packets += flow.backward.packets;
                    row.down_lost += flow.backward.lost;
                }
                None => unknown.push(flow),
            }
        }
        unknown
    }
}

/// For each place the row of the connection that its packets are of: the last that the client opened from this port before they came.
fn owners(connections: &Rows<ConnectionRow>, places: &[Place]) -> Vec<Option<usize>> {
    let mut by_port: BTreeMap<(u32, u16), Vec<usize>> = BTreeMap::new();
    for (index, (client, port, _)) in places.iter().enumerate() {
        by_port.entry((*client, *port)).or_default().push(index);
    }
    let mut found: Vec<Option<(i64, usize)>> = vec![None; places.len()];
    for (row, place) in connections.iter().zip(0..).filter(|_| !by_port.is_empty()) {
        for index in by_port.get(&(row.client, row.port)).into_iter().flatten() {
            let (_, _, since) = places[*index];
            let before = row.opened_ns <= since.as_nanos() as i64;
            if before && found[*index].is_none_or(|(opened, _)| opened < row.opened_ns) {
                found[*index] = Some((row.opened_ns, place));
            }
        }
    }
    found.into_iter().map(|owner| owner.map(|(_, place)| place)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ConnectionRecord;
    use super::*;
    use wasp_app::ConnectionEnd;
    use wasp_net::Passage;
    use wasp_units::Duration;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_stray_is_of_the_last_connection_from_its_port_that_was_opened_before_it() {
        let mut connections = Rows::default();
        for (client, port, opened) in [(7, 80, 1), (7, 80, 40), (7, 81, 2), (8, 80, 2), (7, 80, 20)] {
            connections.push(ConnectionRow::new(&ConnectionRecord {
                end: ConnectionEnd {
                    client,
                    group: 0,
                    connection: 0,
                    port,
                    initial_sequence: 0,
                    opened: at(opened),
                    closed: Some(at(opened + 1)),
                    retransmitted: 0,
                    ecn: None,
                },
                up: Passage::default(),
                down: Passage::default(),
            }));
        }
        let asked = [(80, 30), (80, 0), (99, 30), (80, 40), (80, 41), (81, 50)];
        let places = asked.map(|(port, seconds)| (7, port, at(seconds)));
        assert_eq!(owners(&connections, &places), [Some(4), None, None, Some(1), Some(1), Some(2)]);
        assert_eq!(owners(&connections, &[]), []);
    }
}
