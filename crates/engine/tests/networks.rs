//! Backbones and graphs: what their links do, what is told of them, and what is refused.

use crate::common::{NO_REASON, group, run, scenario};
use serde_json::{Value, json};
use wasp_engine::{LinkRow, RunOutput, Scenario, TopologyReport, topology_report};

/// Nodes with these names and nothing else.
fn nodes(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

/// A graph of three nodes: the clients at `edge`, the server at `core`, and `hut` beside them.
fn graph() -> Value {
    let mut found = scenario(2, "1KB");
    let slow = || json!({"delay": "1ms", "rate": "1Mbit/s"});
    found["network"] = json!({
        "prefix": "10.1.0.0/24", "kind": "graph", "nodes": nodes(&["edge", "core", "hut"]),
        "links": [
            {"name": "wan", "from": "edge", "to": "core", "forward": slow(), "backward": slow()},
            {"name": "lan", "from": "hut", "to": "core", "forward": slow(), "backward": slow()},
        ],
    });
    found["server"]["address"] = json!("10.1.0.1");
    found["server"]["at"] = json!("core");
    found["clients"][0]["at"] = json!("edge");
    found
}

/// A backbone of so many routers with a link of 1 ms there and 2 ms back, and clients 10 ms away from the last one.
fn backbone(routers: u32) -> Value {
    let mut found = scenario(2, "1KB");
    found["network"] = json!({
        "prefix": "198.18.0.0/17", "kind": "backbone", "subnetworks": routers,
        "link": {"forward": {"delay": "1ms"}, "backward": {"delay": "2ms"}},
    });
    found["clients"][0]["at"] = json!(format!("r{routers}"));
    found["clients"][0]["rtt"] = json!("10ms");
    found
}

fn report(scenario: &Value) -> TopologyReport {
    topology_report(&Scenario::from_json(&scenario.to_string()).expect("the scenario is valid"))
}

/// A direction of a link that clients share.
fn row<'a>(output: &'a RunOutput, link: &str, direction: &str) -> &'a LinkRow {
    output.links.iter().find(|row| (row.link.as_str(), row.direction) == (link, direction)).unwrap()
}

#[test]
fn a_backbone_adds_its_links_to_each_round_trip() {
    let mut scenario = backbone(3);
    let mut near = group("near", 1);
    near["at"] = json!("r1");
    near["rtt"] = json!("10ms");
    scenario["clients"].as_array_mut().unwrap().push(near);
    scenario["measure"] = json!({"warmup": "1s", "duration": "4s"});
    let report = report(&scenario);
    let rtts: Vec<u64> = report.groups.iter().map(|group| group.rtt_ns).collect();
    assert_eq!(rtts, [19_000_000, 13_000_000]);
    let names: Vec<&str> = report.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["r1", "r2", "r3", "server"]);
    let hops = |group: usize| -> Vec<String> {
        let way = &report.groups[group].up.links;
        way.iter().map(|hop| format!("{} {}", hop.link, hop.direction)).collect()
    };
    assert_eq!(hops(0), ["clients up", "b2 backward", "b1 backward", "server up"]);
    assert_eq!(hops(1), ["near up", "server up"]);
    // A request of a new connection takes two round trips, and the work of the server.
    let output = run(&scenario);
    assert_eq!(output.summary.invalid.iter().map(|reason| reason.code).collect::<Vec<_>>(), NO_REASON);
    let medians = output.summary.by_group.iter().map(|group| group.response_time_ms.p50.unwrap());
    let medians: Vec<f64> = medians.collect();
    assert!((38.0..38.3).contains(&medians[0]) && (26.0..26.3).contains(&medians[1]), "{medians:?}");
    // Each packet of the clients at the third router crosses each link, and those of the near client the server's alone.
    let packets = |client: &str, direction| row(&output, client, direction).packets;
    let far = packets("clients/0", "up") + packets("clients/1", "up");
    let crossed = [row(&output, "b2", "backward").packets, row(&output, "b1", "backward").packets];
    // Few were on their way at the end of the run.
    assert!(crossed.iter().all(|count| (far - 2..=far).contains(count)), "{crossed:?} of {far}");
    let server = row(&output, "server", "up");
    let all = far + packets("near/2", "up");
    assert!((all - 4..=all).contains(&server.packets), "{server:?} of {all}");
    assert_eq!((row(&output, "b1", "forward").strays, server.strays), (None, None));
}

#[test]
fn groups_share_the_links_of_a_graph_that_both_cross() {
    // Two groups download without end. One crosses a link of 8 Mbit/s alone, and both the one of 12 Mbit/s behind it.
    let mut scenario = graph();
    let link = |name: &str, from: &str, to: &str, rate: &str| {
        let queued = json!({"delay": "5ms", "rate": rate, "queue": "60KB"});
        json!({"name": name, "from": from, "to": to, "forward": queued, "backward": queued})
    };
    scenario["network"]["links"] =
        json!([link("outer", "hut", "edge", "8Mbit/s"), link("inner", "edge", "core", "12Mbit/s")]);
    let mut far = group("far", 4);
    far["at"] = json!("hut");
    let clients = scenario["clients"].as_array_mut().unwrap();
    clients.push(far);
    for group in clients {
        group["rtt"] = json!("10ms");
        group["count"] = json!(4);
    }
    scenario["workload"]["size"] = json!("200KB");
    scenario["measure"] = json!({"warmup": "5s", "duration": "20s"});
    let output = run(&scenario);
    let seconds = 25.0;
    let rate = |link: &str| {
        let row = row(&output, link, "backward");
        (row.bytes as f64 * 8.0 / seconds, row.dropped, row.max_queue_bytes)
    };
    let (inner, dropped, most) = rate("inner");
    assert!(inner > 0.95 * 12e6 && dropped > 0 && most <= 60_000, "{inner} {dropped} {most}");
    // Packets that the inner link dropped came to it: the far group's part is what came to the outer link. TCP divides the link by round-trip times,
    // 30 and 20 ms and the time in queues.
    let (outer, _, _) = rate("outer");
    assert!((0.3 * inner..0.5 * inner).contains(&outer), "{outer} of {inner}");
    let (up, down) = (output.summary.network.up, output.summary.network.down);
    assert!(down.dropped > 0 && up.dropped == 0, "{up:?} {down:?}");
    assert_eq!((row(&output, "inner", "forward").dropped, row(&output, "outer", "forward").dropped), (0, 0));
}

#[test]
fn drops_count_as_down_where_the_path_of_responses_is_another() {
    // Requests go over the hut, and responses straight, over a narrow link.
    let mut scenario = graph();
    let (fast, slow) = (json!({"delay": "1ms"}), json!({"delay": "9ms"}));
    let narrow = json!({"delay": "2ms", "rate": "2Mbit/s", "queue": "10KB"});
    scenario["network"]["links"] = json!([
        {"name": "wan", "from": "edge", "to": "core", "forward": slow, "backward": narrow},
        {"name": "lan", "from": "hut", "to": "core", "forward": fast, "backward": slow},
        {"name": "trail", "from": "edge", "to": "hut", "forward": fast, "backward": slow},
    ]);
    scenario["workload"]["size"] = json!("200KB");
    scenario["measure"] = json!({"warmup": "1s", "duration": "5s"});
    let output = run(&scenario);
    let packets = ["wan", "lan", "trail"]
        .map(|link| ["forward", "backward"].map(|direction| row(&output, link, direction).packets > 0));
    assert_eq!(packets, [[false, true], [true, false], [true, false]]);
    let (up, down) = (output.summary.network.up, output.summary.network.down);
    assert!(down.dropped > 0 && up.dropped == 0, "{up:?} {down:?}");
}

#[test]
fn a_backbone_is_the_graph_of_its_routers_and_links() {
    let mut scenario = backbone(3);
    let lossy = json!({"delay": "1ms", "rate": "5Mbit/s", "loss": {"model": "independent", "rate": "1%"}});
    scenario["network"]["link"] = json!({"forward": lossy, "backward": lossy});
    scenario["measure"] = json!({"warmup": "1s", "duration": "4s"});
    let along = run(&scenario);
    let link = |name: &str, from: &str, to: &str, direction: &Value| json!({"name": name, "from": from, "to": to, "forward": direction, "backward": direction});
    // The server of a graph is beside its node, so that the delay before the server takes a link and a node more.
    scenario["network"] = json!({
        "prefix": "198.18.0.0/17", "kind": "graph", "nodes": nodes(&["r1", "r2", "r3", "site"]),
        "links": [
            link("b1", "r1", "r2", &lossy), link("b2", "r2", "r3", &lossy),
            link("before", "site", "r1", &json!({"delay": "1ms"})),
        ],
    });
    scenario["server"]["at"] = json!("site");
    let drawn = run(&scenario);
    assert_eq!(along.summary.outcomes, drawn.summary.outcomes);
    for (name, direction) in [("b1", "forward"), ("b1", "backward"), ("b2", "forward"), ("b2", "backward")] {
        assert_eq!(row(&along, name, direction), row(&drawn, name, direction));
    }
    assert!(row(&along, "b2", "forward").lost > 0);
}

#[test]
fn a_group_is_told_its_bottlenecks_and_its_ways_by_the_delay_of_each_direction() {
    let mut scenario = graph();
    // Requests take the short way over the hut, responses the straight one.
    let fast = json!({"delay": "1ms", "rate": "9Mbit/s"});
    let slow = json!({"delay": "5ms", "rate": "2Mbit/s"});
    scenario["network"]["links"] = json!([
        {"name": "wan", "from": "edge", "to": "core", "forward": slow, "backward": fast},
        {"name": "lan", "from": "hut", "to": "core", "forward": fast, "backward": slow},
        {"name": "trail", "from": "edge", "to": "hut", "forward": fast, "backward": slow},
    ]);
    scenario["clients"][0]["bandwidth"] = json!({"down": "2Mbit/s"});
    let report = report(&scenario);
    let group = &report.groups[0];
    let told = |way: &[wasp_engine::HopReport]| {
        way.iter().map(|hop| format!("{} {}", hop.link, hop.direction)).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(told(&group.up.links), "clients up, trail forward, lan forward, server up");
    assert_eq!(told(&group.down.links), "server down, wan backward, clients down");
    assert_eq!((group.rtt_ns, group.mtu, group.first_address.as_str()), (103_000_000, 1500, "10.1.0.2"));
    assert_eq!(
        (group.up.rate_bps, told(&group.up.bottlenecks)),
        (Some(9_000_000), "trail forward, lan forward".to_owned())
    );
    assert_eq!(
        (group.down.rate_bps, told(&group.down.bottlenecks)),
        (Some(2_000_000), "clients down".to_owned())
    );
    let links: Vec<String> = report
        .links
        .iter()
        .map(|link| format!("{} {} {} {}", link.link, link.direction, link.from, link.to))
        .collect();
    let kinds = report.links.iter().map(|link| format!("{:?}", link.kind)).collect::<Vec<_>>().join(" ");
    assert_eq!(kinds, "Between Between Between Between Between Between Server Server Access Access");
    assert_eq!(links[..2], ["wan forward edge core", "wan backward core edge"]);
    assert_eq!(
        links[6..],
        [
            "server up core server",
            "server down server core",
            "clients up clients edge",
            "clients down edge clients"
        ]
    );
}

#[test]
fn several_threads_may_have_the_clients_of_links_without_state() {
    let threads = |scenario: &Value| {
        let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
        scenario.check_threads(2).map_err(|error| error.to_string())
    };
    assert_eq!(threads(&backbone(3)), Ok(()));
    // Between routers that are not there.
    let mut one = backbone(1);
    one["network"]["link"]["forward"] = json!({"rate": "1Mbit/s", "delay": "1ms"});
    assert_eq!(threads(&one), Ok(()));
    let error = threads(&graph()).unwrap_err();
    assert!(error.starts_with("emulator_cpus: 2 CPUs; network.links.wan.forward has a rate, "), "{error}");
}

#[test]
fn threads_share_clients_whose_addresses_are_consecutive() {
    let mut scenario = graph();
    for link in scenario["network"]["links"].as_array_mut().unwrap() {
        (link["forward"], link["backward"]) = (json!({"delay": "1ms"}), json!({"delay": "1ms"}));
    }
    let mut more = group("more", 2);
    more["at"] = json!("hut");
    scenario["clients"].as_array_mut().unwrap().push(more);
    let threads = |address: &str| {
        let mut scenario = scenario.clone();
        scenario["network"]["nodes"][0]["address"] = json!(address);
        Scenario::from_json(&scenario.to_string())
            .unwrap()
            .check_threads(2)
            .map_err(|error| error.to_string())
    };
    assert_eq!(threads("10.1.0.6"), Ok(()));
    let error = threads("10.1.0.4").unwrap_err();
    assert!(error.starts_with("emulator_cpus: 2 CPUs; the addresses of the groups do not follow"), "{error}");
}

#[test]
fn static_routes_lead_over_links_that_the_shortest_path_leaves_out() {
    // Straight it is 1 ms, and over the hut 10 ms.
    let mut scenario = graph();
    let link = |name: &str, from: &str, to: &str, delay: &str| {
        let direction = json!({"delay": delay});
        json!({"name": name, "from": from, "to": to, "forward": direction, "backward": direction})
    };
    scenario["network"]["links"] = json!([
        link("wan", "edge", "core", "1ms"),
        link("lan", "hut", "core", "5ms"),
        link("trail", "edge", "hut", "5ms"),
    ]);
    let mut near = group("near", 2);
    near["at"] = json!("edge");
    scenario["clients"].as_array_mut().unwrap().push(near);
    // Responses to the first group alone take the long way, on which some are lost; requests do not.
    scenario["network"]["links"][2]["backward"]["loss"] = json!({"model": "independent", "rate": "2%"});
    scenario["network"]["nodes"][1]["routes"] = json!([{"to": "clients", "via": "lan"}]);
    scenario["network"]["nodes"][2]["routes"] = json!([{"to": "clients", "via": "trail"}]);
    let told: Vec<(u64, String)> = report(&scenario)
        .groups
        .iter()
        .map(|group| {
            (group.rtt_ns, group.down.links.iter().map(|hop| hop.link.as_str()).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let expected = [(111_000_000, "server lan trail clients"), (102_000_000, "server wan near")];
    assert_eq!(told, expected.map(|(rtt, links)| (rtt, links.to_owned())));
    scenario["measure"] = json!({"warmup": "1s", "duration": "5s"});
    let output = run(&scenario);
    let count = |link| ["forward", "backward"].map(|direction| row(&output, link, direction).packets > 0);
    assert_eq!(["wan", "lan", "trail"].map(count), [[true, true], [false, true], [false, true]]);
    let (up, down) = (output.summary.network.up, output.summary.network.down);
    assert!(up.lost == 0 && down.lost > 0, "{up:?} {down:?}");
    let medians: Vec<f64> =
        output.summary.by_group.iter().map(|group| group.response_time_ms.p50.unwrap()).collect();
    assert!((222.0..222.3).contains(&medians[0]) && (204.0..204.3).contains(&medians[1]), "{medians:?}");
}

#[test]
fn clients_of_a_subnet_are_asked_for_by_their_addresses() {
    let mut scenario = graph();
    scenario["network"]["nodes"][0]["subnet"] = json!("10.1.0.128/28");
    let mut more = group("more", 3);
    more["at"] = json!("hut");
    scenario["clients"].as_array_mut().unwrap().push(more);
    scenario["measure"] = json!({"warmup": "1s", "duration": "4s"});
    let found = report(&scenario);
    let addresses: Vec<[&str; 2]> = found
        .groups
        .iter()
        .map(|group| [group.first_address.as_str(), group.last_address.as_str()])
        .collect();
    assert_eq!(addresses, [["10.1.0.130", "10.1.0.131"], ["10.1.0.2", "10.1.0.4"]]);
    let output = run(&scenario);
    assert!(output.summary.by_group.iter().all(|group| group.throughput > 1.0));
    assert_eq!(output.summary.fates["no route"], 0);
}

/// What is said of a scenario with these values in place of its own.
fn refusal(whole: &Value, changes: &[(&str, Value)]) -> String {
    let mut scenario = whole.clone();
    for (pointer, value) in changes {
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        match scenario.pointer_mut(pointer) {
            Some(place) => *place = value.clone(),
            None => scenario.pointer_mut(parent).unwrap()[last] = value.clone(),
        }
    }
    Scenario::from_json(&scenario.to_string()).unwrap_err().to_string()
}

#[test]
fn fields_of_another_kind_of_network_are_refused() {
    let only =
        |field: &str, of: &str, this: &str| format!("{field}: is for kind = {of:?}, and this is {this:?}");
    let shared = json!({"up": {}, "down": {"delay": "1ms"}});
    assert_eq!(refusal(&graph(), &[("/network/shared", shared)]), only("network.shared", "star", "graph"));
    let link = json!({"forward": {"delay": "1ms"}, "backward": {}});
    assert_eq!(refusal(&graph(), &[("/network/link", link)]), only("network.link", "backbone", "graph"));
    let count = refusal(&graph(), &[("/network/subnetworks", json!(2))]);
    assert_eq!(count, only("network.subnetworks", "backbone", "graph"));
    let nodes = refusal(&backbone(2), &[("/network/nodes", nodes(&["a"]))]);
    assert_eq!(nodes, only("network.nodes", "graph", "backbone"));
    let at = refusal(&backbone(2), &[("/server/at", json!("r1"))]);
    assert_eq!(at, only("server.at", "graph", "backbone"));
    let star = scenario(1, "1KB");
    let at = refusal(&star, &[("/clients/0/at", json!("router"))]);
    assert_eq!(
        at,
        "clients.clients.at: \"router\"; a star has one router, at which all clients are; leave it out"
    );
    for count in [0, 64] {
        let error = refusal(&backbone(2), &[("/network/subnetworks", json!(count))]);
        assert_eq!(error, format!("network.subnetworks: {count}; must be from 1 to 63"));
    }
    assert_eq!(
        refusal(&graph(), &[("/network/nodes", json!([]))]),
        "network.nodes: 0; must be from 1 to 1024"
    );
}

#[test]
fn places_that_do_not_exist_are_refused() {
    let error = refusal(&graph(), &[("/clients/0/at", json!("cor"))]);
    assert_eq!(error, "clients.clients.at: \"cor\"; there is no such node; valid here: edge, core, hut");
    let error = refusal(&backbone(12), &[("/clients/0/at", Value::Null)]);
    let nodes = "r1, r2, r3, r4, r5, r6, r7, r8 and 4 more";
    assert_eq!(
        error,
        format!("clients.clients.at: missing; clients of a backbone are at one of its nodes: {nodes}")
    );
    let error = refusal(&graph(), &[("/server/at", Value::Null)]);
    assert_eq!(error, "server.at: missing; the server of a graph is at one of its nodes: edge, core, hut");
    let error = refusal(&graph(), &[("/network/links/1/to", json!("cabin"))]);
    assert_eq!(error, "network.links.lan.to: \"cabin\"; there is no such node; valid here: edge, core, hut");
    let error = refusal(&graph(), &[("/network/links/1/to", json!("hut"))]);
    assert_eq!(error, "network.links.lan: both ends are at \"hut\"; a link joins two nodes");
}

#[test]
fn routes_that_lead_nowhere_are_refused() {
    let routes = |routes: Value| refusal(&graph(), &[("/network/nodes/1/routes", routes)]);
    assert_eq!(
        routes(json!([{"to": "client", "via": "wan"}])),
        "network.nodes.core.routes.client: a route is to the server or to a group, and there is none of this name; valid here: server, clients"
    );
    assert_eq!(
        routes(json!([{"to": "clients", "via": "wlan"}])),
        "network.nodes.core.routes.clients: \"wlan\"; the node \"core\" has no such link; valid here: wan, lan"
    );
    // A link that is there, but not at the node.
    let error = refusal(&graph(), &[("/network/nodes/2/routes", json!([{"to": "server", "via": "wan"}]))]);
    assert_eq!(
        error,
        "network.nodes.hut.routes.server: \"wan\"; the node \"hut\" has no such link; valid here: lan"
    );
    let twice = json!([{"to": "clients", "via": "wan"}, {"to": "clients", "via": "lan"}]);
    assert_eq!(routes(twice), "network.nodes.core.routes.clients: two routes go to it; one would be valid");
    // What is at a node needs no route there.
    assert_eq!(
        routes(json!([{"to": "server", "via": "wan"}])),
        "network.nodes.core.routes.server: is at \"core\" itself, which needs no route to it; leave it out"
    );
    // The hut sends it back.
    assert_eq!(
        routes(json!([{"to": "clients", "via": "lan"}])),
        "network.nodes.core.routes.clients: packets for clients go round the nodes core, hut; a link that leads to \
         clients without a loop would be valid"
    );
}

#[test]
fn options_of_links_are_named_by_their_whole_path() {
    let queue = json!({"kind": "codel", "target": "200ms"});
    let error = refusal(&graph(), &[("/network/links/0/forward/queue", queue)]);
    assert!(error.starts_with("network.links.wan.forward.queue.target: 200ms; must be "), "{error}");
    let error = refusal(
        &graph(),
        &[("/network/links/1/backward/rate", Value::Null), ("/network/links/1/backward/queue", json!("1KB"))],
    );
    assert!(error.starts_with("network.links.lan.backward.queue: a queue never fills"), "{error}");
    let loss = json!({"forward": {"loss": {"model": "independent", "rate": "100%"}}, "backward": {}});
    let error = refusal(&backbone(2), &[("/network/link", loss)]);
    assert_eq!(error, "network.link.forward.loss.rate: 100%; must be below 100%");
}

#[test]
fn nodes_that_no_link_joins_are_named_at_the_links() {
    let mut apart = graph();
    apart["network"]["links"].as_array_mut().unwrap().pop();
    let error = refusal(&apart, &[]);
    assert_eq!(
        error,
        "network.links: no route from \"hut\" to \"edge\"; a link that joins them, or several, would be valid"
    );
}

#[test]
fn a_cycle_without_delay_is_named_at_the_links_with_its_nodes_alone() {
    let (free, slow) = (json!({}), json!({"delay": "1ms"}));
    let link = |name: &str, from: &str, to: &str, forward: &Value| json!({"name": name, "from": from, "to": to, "forward": forward, "backward": slow});
    let around = |last: &Value| {
        json!([
            link("a", "edge", "core", &free),
            link("b", "core", "hut", &free),
            link("c", "hut", "edge", last)
        ])
    };
    let error = refusal(&graph(), &[("/network/links", around(&free))]);
    assert!(
        error.starts_with("network.links: the links a, b, c take no time and join the nodes "),
        "{error}"
    );
    assert!(error.ends_with(" in a cycle; one of them needs a delay"), "{error}");
    let mut open = graph();
    open["network"]["links"] = around(&slow);
    Scenario::from_json(&open.to_string()).unwrap();
}

#[test]
fn names_that_mean_something_else_are_refused_and_another_is_offered() {
    for name in ["server", "shared", "all"] {
        let error = refusal(&graph(), &[("/network/links/1/name", json!(name))]);
        assert_eq!(
            error,
            format!("network.links.{name}: {name:?}; the name is reserved; {name}-link would be valid")
        );
        let error = refusal(&graph(), &[("/network/nodes/2/name", json!(name))]);
        assert_eq!(
            error,
            format!("network.nodes.{name}: {name:?}; the name is reserved; {name}-node would be valid")
        );
        let error = refusal(&graph(), &[("/clients/0/name", json!(name))]);
        assert_eq!(
            error,
            format!("clients.{name}.name: {name:?}; the name is reserved; {name}-clients would be valid")
        );
    }
    let error = refusal(&graph(), &[("/clients/0/name", json!("lan"))]);
    assert_eq!(
        error,
        "clients.lan.name: \"lan\"; the name is the name of a link; lan-clients would be valid"
    );
    let error = refusal(&backbone(3), &[("/clients/0/name", json!("b2"))]);
    assert_eq!(error, "clients.b2.name: \"b2\"; the name is the name of a link; b2-clients would be valid");
    let error = refusal(&graph(), &[("/network/nodes/2/name", json!("core"))]);
    assert_eq!(error, "network.nodes.core: two nodes have this name; names must differ");
    let error = refusal(&graph(), &[("/network/links/1/name", json!("wan"))]);
    assert_eq!(error, "network.links.wan: two links have this name; names must differ");
    // A node may have the name of the group that is there.
    let mut village = graph();
    village["clients"][0]["name"] = json!("edge");
    Scenario::from_json(&village.to_string()).unwrap();
}

#[test]
fn a_way_is_no_longer_than_packets_live() {
    let row = |routers: usize| {
        let name = |number: usize| format!("a{number}");
        let slow = json!({"delay": "1ms"});
        let link = |number: usize| json!({"name": format!("l{number}"), "from": name(number), "to": name(number + 1), "forward": slow, "backward": slow});
        let mut found = graph();
        found["network"]["nodes"] = (0..routers).map(|number| json!({"name": name(number)})).collect();
        found["network"]["links"] = (0..routers - 1).map(link).collect();
        found["clients"][0]["at"] = json!(name(0));
        found["server"]["at"] = json!(name(routers - 1));
        found
    };
    let mut longest = row(63);
    longest["measure"] = json!({"warmup": "1s", "duration": "1s"});
    assert!(run(&longest).summary.throughput > 0.0);
    let error = refusal(&row(64), &[]);
    assert_eq!(
        error,
        "clients.clients.at: \"a0\"; 64 routers are between there and the server, and packets live through 63 at most"
    );
}
