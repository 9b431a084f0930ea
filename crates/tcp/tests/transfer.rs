//! Whole transfers: the right bytes arrive, whatever the path does.

mod common;

use common::*;
use proptest::prelude::*;
use wasp_tcp::{Config, Event, State};
use wasp_units::Duration;

const LONG: Duration = Duration::from_secs(3_600);

fn exchange(client: Config, server: Config, up: usize, down: usize, path: Path) -> Pair {
    let (request, response) = (pattern(up), pattern(down));
    let mut pair = Pair::new(client, server);
    pair.path = path;
    pair.connect();
    pair.run_to(LONG, |pair| pair.sides[CLIENT].has(Event::Connected));
    pair.send(CLIENT, &request);
    pair.run_to(LONG, |pair| pair.sides[SERVER].received.len() >= up.max(1));
    pair.sides[CLIENT].closing = true;
    pair.send(SERVER, &response);
    pair.close(SERVER);
    pair.run_to(LONG, |pair| pair.sides[CLIENT].has(Event::RemoteClosed));
    assert_eq!(pair.sides[SERVER].received, request);
    assert_eq!(pair.sides[CLIENT].received, response);
    pair
}

#[test]
fn bytes_cross_both_ways_and_both_ends_close() {
    for config in [Config::linux(), Config::bsd1999()] {
        let mut pair = exchange(config.clone(), config, 3_000, 200_000, Box::new(|_| Fate::Deliver));
        assert!(pair.run(LONG), "everything ends");
        assert_eq!(pair.sides[SERVER].state(), State::Closed);
        assert_eq!(pair.sides[CLIENT].state(), State::Closed);
        assert!(pair.sides[CLIENT].has(Event::Closed) && pair.sides[SERVER].has(Event::Closed));
        pair.finish();
    }
}
