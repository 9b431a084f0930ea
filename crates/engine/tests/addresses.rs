//! Who has which address, and which addresses a scenario may not name.

use crate::common::{group, run, scenario};
use serde_json::{Value, json};
use wasp_engine::{Scenario, TopologyReport, topology_report};

/// A graph of two nodes and one link; two clients stand at the first node, the server at the second.
fn graph(changes: &[(&str, Value)]) -> Value {
    let mut found = scenario(2, "1KB");
    found["network"] = json!({
        "prefix": "10.1.0.0/24", "kind": "graph",
        "nodes": [{"name": "edge"}, {"name": "core"}],
        "links": [{"name": "wan", "from": "edge", "to": "core", "forward": {"delay": "1ms"}, "backward": {"delay": "1ms"}}],
    });
    found["server"]["address"] = json!("10.1.0.1");
    found["server"]["at"] = json!("core");
    found["clients"][0]["at"] = json!("edge");
    for (pointer, value) in changes {
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        found.pointer_mut(parent).unwrap()[last] = value.clone();
    }
    found
}

fn resolved(scenario: &Value) -> TopologyReport {
    topology_report(&Scenario::from_json(&scenario.to_string()).unwrap())
}

fn refusal(changes: &[(&str, Value)]) -> String {
    Scenario::from_json(&graph(changes).to_string()).unwrap_err().to_string()
}

const EDGE: &str = "/network/nodes/0/address";
const CORE: &str = "/network/nodes/1/address";
const SUBNET: &str = "/network/nodes/0/subnet";
const FROM: &str = "/network/links/0/from_address";
const TO: &str = "/network/links/0/to_address";

/// The address of each router, that of the first client, and those of the ports at both ends of the link.
fn given(changes: &[(&str, Value)]) -> [String; 5] {
    let found = resolved(&graph(changes));
    let text = |address: &Option<String>| address.clone().unwrap_or_default();
    let link = &found.links[0];
    let routers = [text(&found.nodes[0].address), text(&found.nodes[1].address)];
    let [edge, core] = routers;
    [edge, core, found.groups[0].first_address.clone(), text(&link.from_address), text(&link.to_address)]
}

#[test]
fn addresses_are_the_first_free_ones_of_the_prefix() {
    assert_eq!(given(&[]), ["10.1.0.4", "10.1.0.5", "10.1.0.2", "10.1.0.4", "10.1.0.5"]);
    // What is named is not given to another.
    let named = [(EDGE, json!("10.1.0.3")), (TO, json!("10.1.0.6"))];
    assert_eq!(given(&named), ["10.1.0.3", "10.1.0.2", "10.1.0.4", "10.1.0.3", "10.1.0.6"]);
    // Clients of a subnet leave out the router's address there, and nobody else is in it.
    let apart = [(SUBNET, json!("10.1.0.0/28")), (EDGE, json!("10.1.0.2"))];
    assert_eq!(given(&apart), ["10.1.0.2", "10.1.0.16", "10.1.0.3", "10.1.0.2", "10.1.0.16"]);
}

#[test]
fn a_router_has_the_first_address_of_its_subnet_and_its_clients_the_next() {
    assert_eq!(given(&[(SUBNET, json!("10.1.0.128/29"))])[..3], ["10.1.0.129", "10.1.0.2", "10.1.0.130"]);
    // A subnet may be all of the prefix: then no address is left for the other router.
    let whole = [(SUBNET, json!("10.1.0.0/24")), (CORE, json!("10.1.0.9"))];
    assert!(
        refusal(&whole)
            .starts_with("network.nodes.core.address: \"10.1.0.9\"; lies in network.nodes.edge.subnet")
    );
    assert!(
        refusal(&whole[..1])
            .starts_with("network.prefix: 10.1.0.0/24; the server and 2 clients leave no address")
    );
    // The server has an address elsewhere, and the first one of the prefix stays free.
    let mut live = graph(&[(SUBNET, json!("10.1.0.0/25"))]);
    (live["server"]["address"], live["mode"]) = (json!("127.0.0.1"), json!("live"));
    let found = resolved(&live);
    let addresses = found.nodes.iter().map(|node| node.address.clone().unwrap()).collect::<Vec<_>>();
    assert_eq!(addresses, ["10.1.0.2", "10.1.0.128", "127.0.0.1"]);
}

#[test]
fn the_router_of_a_star_does_without_an_address_where_none_is_left() {
    for (prefix, count, router) in [("10.1.0.0/30", 1, None), ("10.1.0.0/29", 4, Some("10.1.0.6"))] {
        let mut star = scenario(count, "1KB");
        star["network"]["prefix"] = json!(prefix);
        star["server"]["address"] = json!("10.1.0.1");
        assert_eq!(resolved(&star).nodes[0].address.as_deref(), router);
        star["measure"] = json!({"warmup": "1s", "duration": "1s"});
        assert!(run(&star).summary.throughput > 0.0);
    }
}

#[test]
fn ports_have_the_addresses_that_links_name_and_may_share_that_of_their_router() {
    let named = [(FROM, json!("10.1.0.9")), (TO, json!("10.1.0.10")), (CORE, json!("10.1.0.10"))];
    assert_eq!(given(&named), ["10.1.0.4", "10.1.0.10", "10.1.0.2", "10.1.0.9", "10.1.0.10"]);
}

#[test]
fn an_address_that_cannot_be_is_refused_with_its_field() {
    let cases: Vec<(Vec<(&str, Value)>, &str)> = vec![
        (
            vec![(EDGE, json!("10.1.0.9")), (CORE, json!("10.1.0.9"))],
            "network.nodes.core.address: \"10.1.0.9\"; network.nodes.edge.address is the same; addresses must differ",
        ),
        (
            vec![(EDGE, json!("10.1.0.9")), (TO, json!("10.1.0.9"))],
            "network.links.wan.to_address: \"10.1.0.9\"; network.nodes.edge.address is the same",
        ),
        (
            vec![(FROM, json!("10.1.0.9")), (TO, json!("10.1.0.9"))],
            "network.links.wan.to_address: \"10.1.0.9\"; network.links.wan.from_address is the same",
        ),
        (
            vec![(EDGE, json!("10.1.0.1"))],
            "network.nodes.edge.address: \"10.1.0.1\"; is the server's; addresses must differ",
        ),
        (
            vec![(EDGE, json!("10.1.1.1"))],
            "network.nodes.edge.address: \"10.1.1.1\"; must lie in network.prefix, 10.1.0.0/24",
        ),
        (
            vec![(FROM, json!("10.0.0.9"))],
            "network.links.wan.from_address: \"10.0.0.9\"; must lie in network.prefix",
        ),
        (
            vec![(EDGE, json!("10.1.0.0"))],
            "network.nodes.edge.address: \"10.1.0.0\"; is the network address of network.prefix",
        ),
        (
            vec![(TO, json!("10.1.0.255"))],
            "network.links.wan.to_address: \"10.1.0.255\"; is the broadcast address of network.prefix",
        ),
        (
            vec![(SUBNET, json!("10.1.0.16/28")), (EDGE, json!("10.1.0.31"))],
            "network.nodes.edge.address: \"10.1.0.31\"; is the broadcast address of network.nodes.edge.subnet",
        ),
        (vec![(EDGE, json!("edge"))], "network.nodes.edge.address: \"edge\"; must be an IPv4 address"),
        (
            vec![(SUBNET, json!("10.2.0.0/28"))],
            "network.nodes.edge.subnet: \"10.2.0.0/28\"; must lie in network.prefix, 10.1.0.0/24",
        ),
        (
            vec![(SUBNET, json!("10.1.0.0/8"))],
            "network.nodes.edge.subnet: \"10.1.0.0/8\"; must be an IPv4 prefix",
        ),
        (
            vec![(SUBNET, json!("10.1.0.16/28")), ("/network/nodes/1/subnet", json!("10.1.0.24/30"))],
            "network.nodes.core.subnet: \"10.1.0.24/30\"; overlaps network.nodes.edge.subnet",
        ),
        (
            vec![(SUBNET, json!("10.1.0.24/30")), ("/network/nodes/1/subnet", json!("10.1.0.16/28"))],
            "network.nodes.core.subnet: \"10.1.0.16/28\"; overlaps network.nodes.edge.subnet",
        ),
        (
            vec![(SUBNET, json!("10.1.0.16/30")), (EDGE, json!("10.1.0.17"))],
            "clients.clients.count: 2 clients; the subnet of node \"edge\" has 1 addresses left that follow each other",
        ),
        (
            vec![("/network/prefix", json!("10.1.0.0/30"))],
            "network.prefix: 10.1.0.0/30; has addresses for 1 clients, and there are 2; a larger one",
        ),
        (
            vec![("/network/prefix", json!("10.1.0.0/29")), ("/clients/0/count", json!(4))],
            "network.prefix: 10.1.0.0/29; the server and 4 clients leave no address for the 2 routers",
        ),
        (
            vec![("/network/prefix", json!("127.0.0.0/8"))],
            "network.prefix: \"127.0.0.0/8\"; has addresses of no host",
        ),
    ];
    for (changes, expected) in cases {
        let message = refusal(&changes);
        assert!(message.starts_with(expected), "{changes:?}: {message}");
    }
}

#[test]
fn groups_and_routers_of_a_large_graph_have_addresses_of_their_own() {
    let mut large = graph(&[]);
    let names: Vec<String> = (0..60).map(|number| format!("n{number}")).collect();
    large["network"]["prefix"] = json!("10.0.0.0/8");
    large["server"]["at"] = json!("n0");
    large["network"]["nodes"] = names
        .iter()
        .enumerate()
        .map(|(number, name)| match number % 3 {
            0 => json!({"name": name, "subnet": format!("10.0.{number}.0/24"), "address": format!("10.0.{number}.1")}),
            1 => json!({"name": name, "address": format!("10.0.200.{number}")}),
            _ => json!({"name": name}),
        })
        .collect();
    large["network"]["links"] = (1..60)
        .map(|number| json!({"name": format!("l{number}"), "from": names[number - 1], "to": names[number], "forward": {}, "backward": {}}))
        .collect();
    large["server"]["address"] = json!("10.0.0.1");
    large["network"]["nodes"][0]["address"] = json!("10.0.0.2");
    let groups = names.iter().rev().map(|name| {
        let mut group = group(&format!("at-{name}"), 40);
        group["at"] = json!(name);
        group
    });
    large["clients"] = groups.collect();
    let found = resolved(&large);
    let first =
        |name: &str| found.groups.iter().find(|group| group.at == name).unwrap().first_address.clone();
    assert_eq!(first("n3"), "10.0.3.2");
    assert_eq!(first("n0"), "10.0.0.3");
    // The first of those without a subnet is the last node's; 10.0.0.0/24 is the subnet of the first node.
    assert_eq!(first("n59"), "10.0.1.0");
}
