//! Named requests: options, what responses must be, and the answers of a server that stands in for an application.

use serde_json::{Value, json};
use std::sync::Arc;
use wasp_random::Key;
use wasp_workload::named::{Answer, Status};
use wasp_workload::{Deal, Inputs, Site, Sites, Workload};

fn workload(requests: Value) -> Result<Workload, String> {
    let options = json!({"kind": "requests", "requests": requests});
    Workload::from_value(options).map_err(|error| error.to_string())
}

/// A request for `/` with these fields.
fn with(fields: Value) -> Value {
    let mut request = json!({"name": "a", "path": "/"});
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request
}

fn site(requests: Value) -> Site {
    workload(requests).unwrap().build(1, Inputs::default()).unwrap()
}

/// Method and target of requests, and their answer.
type Answered = (String, String, Answer);

/// The answers to the requests of these sites; or the number of the site that has a contradiction, and what it is.
fn answers(sites: impl IntoIterator<Item = Site>) -> Result<Vec<Answered>, (usize, String)> {
    let mut all = Sites::default();
    for site in sites {
        all.add(site, "").unwrap();
    }
    let found = all.answers().map_err(|found| (found.site, found.error.to_string()))?;
    let fixed = || found.iter().filter(|told| !told.is_pattern);
    assert!(fixed().all(|told| found.find(told.method, told.target) == Some(told.answer)));
    Ok(found.iter().map(|told| (told.method.into(), told.target.into(), told.answer.clone())).collect())
}

fn answer(fields: Value) -> (u16, String, u64) {
    let [(_, _, answer)] = &answers([site(json!([with(fields)]))]).unwrap()[..] else { panic!("one answer") };
    (answer.status, answer.text.clone(), answer.size)
}

#[test]
fn options_without_meaning_are_refused_by_their_path() {
    for (requests, refused) in [
        (json!([]), "requests: 0; must be from 1 to 1000 requests"),
        (json!([with(json!({})), with(json!({}))]), "requests.a.name: a; two requests have this name"),
        (json!([with(json!({"weight": 0}))]), "requests: no weight; at least one weight must be above 0"),
        (json!([{"name": "a b", "path": "/"}]), "requests.a b.name: \"a b\"; must be from 1 to 64 letters"),
        (
            json!([with(json!({"method": "TRACE"}))]),
            "requests.a.method: \"TRACE\"; must be one of GET, HEAD, POST",
        ),
        (json!([with(json!({"path": "x"}))]), "requests.a.path: \"x\"; must begin with a slash"),
        (json!([with(json!({"weight": -1}))]), "requests.a.weight: -1; must be from 0 to 1000000"),
        (json!([with(json!({"body": {"text": "x"}}))]), "requests.a.body: given; a GET has no body"),
        (
            json!([with(json!({"method": "PUT", "body": {"size": "2000GiB"}}))]),
            "requests.a.body.size: 2000GiB; must be at most 1024GiB",
        ),
        (
            json!([with(json!({"expect": {"status": []}}))]),
            "requests.a.expect.status: []; must be at least one",
        ),
        (
            json!([with(json!({"expect": {"status": ["600"]}}))]),
            "requests.a.expect.status: \"600\"; must be a status",
        ),
        (
            json!([with(json!({"expect": {"contains": ""}}))]),
            "requests.a.expect.contains: 0 bytes; must have from 1 to 1024 bytes",
        ),
        (
            json!([with(json!({"expect": {"length": "10"}}))]),
            "requests.a.expect.length: \"10\"; must be <, <=, ==, >= or >",
        ),
        (
            json!([with(json!({"expect": {"length": "< 0"}}))]),
            "requests.a.expect.length: \"< 0\"; no length meets",
        ),
        (
            json!([with(json!({"expect": {"length": ">= 1KX"}}))]),
            "requests.a.expect.length: \">= 1KX\"; must be <",
        ),
        (
            json!([with(json!({"method": "HEAD", "expect": {"contains": "x"}}))]),
            "requests.a.expect.contains: given; the answer to a HEAD",
        ),
        (
            json!([with(json!({"method": "HEAD", "expect": {"length": "< 9"}}))]),
            "requests.a.expect.length: given; the answer to a HEAD",
        ),
    ] {
        let said = workload(requests.clone()).unwrap_err();
        assert!(said.starts_with(refused), "{requests}: {said}");
    }
    let long = json!([with(json!({"method": "PUT", "body": {"text": "x".repeat((1 << 20) + 1)}}))]);
    assert!(
        workload(long).unwrap_err().starts_with("requests.a.body: 1048577 bytes; must have at most 1MiB")
    );
}

#[test]
fn a_status_is_a_code_or_a_class() {
    let of = |text| Status::parse(text).map(|status| (status.least, status.most));
    assert_eq!((of("2xx"), of("404"), of("599")), (Some((200, 299)), Some((404, 404)), Some((599, 599))));
    for text in ["", "1xx", "6xx", "20", "2000", "2x", "2xxx", "+20", "2 0", "2\u{e4}", "xx2"] {
        assert_eq!(of(text), None, "{text}");
    }
}

#[test]
fn a_length_is_in_bytes_or_in_larger_units() {
    let limits = |length: &str| {
        let Site::Requests(set) = site(json!([with(json!({"expect": {"length": length}}))])) else {
            panic!()
        };
        (set.requests()[0].expect.least, set.requests()[0].expect.most)
    };
    assert_eq!(limits(">= 10"), (10, u64::MAX));
    assert_eq!(limits(">1KiB"), (1_025, u64::MAX));
    assert_eq!(limits(" <= 2 "), (0, 2));
    assert_eq!(limits("< 1MiB"), (0, (1 << 20) - 1));
    assert_eq!(limits("== 0"), (0, 0));
}

#[test]
fn an_answer_is_as_its_request_expects() {
    assert_eq!(answer(json!({})), (200, String::new(), 1_024));
    assert_eq!(answer(json!({"size": "5KiB"})).2, 5_120);
    assert_eq!(answer(json!({"expect": {"status": ["3xx", "201"]}})).0, 300);
    assert_eq!(
        answer(json!({"expect": {"status": ["204", "201"], "contains": "xy"}})),
        (201, "xy".into(), 1_024)
    );
    assert_eq!(
        answer(json!({"expect": {"status": ["204", "200"]}, "size": "3KiB"})),
        (200, String::new(), 3_072)
    );
    assert_eq!(answer(json!({"expect": {"status": ["204"]}})), (204, String::new(), 0));
    assert_eq!(answer(json!({"expect": {"length": "< 10"}})).2, 9);
    assert_eq!(answer(json!({"expect": {"length": "> 2KiB"}})).2, 2_049);
    assert_eq!(
        answer(json!({"expect": {"contains": "0123456789", "length": "== 10"}})),
        (200, "0123456789".into(), 10)
    );
    assert_eq!(answer(json!({"method": "HEAD", "size": "3KiB"})).2, 3_072);
    for (fields, refused) in [
        (
            json!({"expect": {"contains": "0123456789", "length": "< 10"}}),
            "requests.a.expect.length: at most 9",
        ),
        (
            json!({"expect": {"contains": "0123456789"}, "size": "9B"}),
            "requests.a.size: 9B; must be at least 10B",
        ),
        (
            json!({"expect": {"length": "< 10"}, "size": "10B"}),
            "requests.a.size: 10B; must be at least 0B and at most 9B",
        ),
        (
            json!({"expect": {"status": ["204"], "contains": "x"}}),
            "requests.a.expect.status: 204; has no body",
        ),
        (
            json!({"expect": {"status": ["304"], "length": "> 0"}}),
            "requests.a.expect.status: 304; has no body",
        ),
    ] {
        let said = workload(json!([with(fields)])).unwrap_err();
        assert!(said.starts_with(refused), "{said}");
    }
}

#[test]
fn requests_of_one_method_and_path_have_an_answer_that_all_of_them_expect() {
    let asking = |expect: Value| json!({"name": "b", "method": "POST", "path": "/graphql", "expect": expect});
    let both = |one: Value, other: Value| {
        let mut first = asking(one);
        first["name"] = json!("a");
        answers([site(json!([first, asking(other)]))])
    };
    let found = both(
        json!({"status": ["2xx"], "contains": "item"}),
        json!({"status": ["201"], "contains": "user", "length": "> 2KiB"}),
    );
    let expected = Answer { status: 201, headers: Vec::new(), text: "itemuser".into(), size: 2_049 };
    assert_eq!(found.unwrap(), [("POST".into(), "/graphql".into(), expected)]);
    let (site, said) = both(json!({"status": ["200"]}), json!({"status": ["201"]})).unwrap_err();
    assert!(
        site == 0 && said.starts_with("requests.b.expect.status: 201; a server that stands in"),
        "{said}"
    );
    // A text that another one has in it is found there, whichever comes first.
    for (one, other) in [("ab", "abc"), ("abc", "ab")] {
        let found = both(json!({"contains": one}), json!({"contains": other, "length": "== 3"})).unwrap();
        assert_eq!((found[0].2.text.as_str(), found[0].2.size), ("abc", 3));
    }
    let (_, said) =
        both(json!({"status": ["204"]}), json!({"status": ["200", "204"], "length": "> 0"})).unwrap_err();
    assert!(said.starts_with("requests.b.expect.status: 200, 204; has no body"), "{said}");
    let (_, said) = both(json!({"length": "< 10"}), json!({"length": "> 10"})).unwrap_err();
    assert!(
        said.starts_with("requests.b.expect.length: at most 9; must leave room for the 11 bytes"),
        "{said}"
    );
}

#[test]
fn requests_of_several_workloads_share_one_server() {
    let sized = |size: &str| site(json!([with(json!({"size": size}))]));
    assert_eq!(answers([sized("2KiB"), sized("2KiB")]).unwrap().len(), 1);
    let (number, said) = answers([sized("2KiB"), sized("3KiB")]).unwrap_err();
    assert!(
        number == 1 && said.starts_with("requests.a.size: 3KiB; another request for this path has 2KiB"),
        "{said}"
    );
    let posted = site(json!([with(json!({"method": "POST", "size": "3KiB"}))]));
    assert_eq!(answers([sized("2KiB"), posted]).unwrap().len(), 2);
}

#[test]
fn a_file_of_another_workload_is_the_answer_to_a_request_for_it() {
    let file = || {
        let options = json!({"kind": "single", "path": "/", "size": "7KiB"});
        Workload::from_value(options).unwrap().build(1, Inputs::default()).unwrap()
    };
    for sites in [[file(), site(json!([with(json!({}))]))], [site(json!([with(json!({}))])), file()]] {
        let mut all = Sites::default();
        for site in sites {
            all.add(site, "").unwrap();
        }
        assert_eq!(all.files().files().len(), 1, "named requests are no files");
        assert_eq!(all.answers().unwrap().find("GET", "/").unwrap().size, 7_168);
    }
    let (_, said) = answers([file(), site(json!([with(json!({"size": "1KiB"}))]))]).unwrap_err();
    assert!(
        said.starts_with("requests.a.size: 1KiB; / is a file of another workload, which has 7KiB"),
        "{said}"
    );
    let (_, said) =
        answers([file(), site(json!([with(json!({"expect": {"status": ["404"]}}))]))]).unwrap_err();
    assert!(said.starts_with("requests.a.expect.status: "), "{said}");
}

#[test]
fn a_stream_draws_requests_by_weight() {
    let named = |name: &str, weight: f64| json!({"name": name, "path": format!("/{name}"), "weight": weight});
    let site = site(json!([named("a", 3.0), named("b", 1.0), named("c", 0.0)]));
    let requests = Arc::new(site.requests(Key::root(1, 0)));
    let mut stream = requests.stream(Deal::Own, "clients", 0, 1);
    let mut counts = [0_u32; 3];
    (0..4_000).for_each(|_| counts[stream.next_file().unwrap().0 as usize] += 1);
    // 3,000 of 4,000 with a standard deviation of 27.
    assert!(counts[0].abs_diff(3_000) < 110 && counts[2] == 0, "{counts:?}");
}

/// A session of these steps.
fn session(steps: Value) -> Result<Workload, String> {
    let options = json!({"kind": "requests", "order": "session", "requests": steps});
    Workload::from_value(options).map_err(|error| error.to_string())
}

fn refusal(steps: Value) -> String {
    session(steps).unwrap_err()
}

/// Two steps, of which the first captures this.
fn capturing(capture: Value) -> Value {
    json!([with(json!({"capture": capture})), {"name": "b", "path": "/b"}])
}

#[test]
fn what_contradicts_a_session_is_refused_by_its_path() {
    for (steps, refused) in [
        (json!([with(json!({"weight": 1}))]), "requests.a.weight: given; belongs to order = \"weights\""),
        (json!([with(json!({"once": true}))]), "requests: no step; all steps have once = true"),
        (
            json!([with(json!({})), {"name": "b", "path": "/", "once": true}]),
            "requests.b.once: true; steps that only the first session has must come before all others",
        ),
        (
            json!([with(json!({"think": {"model": "exponential", "mean": "0s"}}))]),
            "requests.a.think.mean: 0ms; must be",
        ),
        (capturing(json!({"7": {"header": "A"}})), "requests.a.capture.7.name: \"7\"; must be from 1 to 64"),
        (
            capturing(json!({"uuid": {"header": "A"}})),
            "requests.a.capture.uuid.name: uuid; is the name of another",
        ),
        (
            capturing(json!({"x": {}})),
            "requests.a.capture.x.header: absent; give header, or after and before",
        ),
        (
            capturing(json!({"x": {"after": "a"}})),
            "requests.a.capture.x.before: absent; a value in the body has a text before",
        ),
        (
            capturing(json!({"x": {"header": "A", "before": "b"}})),
            "requests.a.capture.x.header: given; not beside after and before",
        ),
        (
            capturing(json!({"x": {"after": "", "before": "b"}})),
            "requests.a.capture.x.after: 0 bytes; must have from 1 to 256 bytes",
        ),
        (
            capturing(json!({"x": {"header": "A B"}})),
            "requests.a.capture.x.header: \"A B\"; must be the name",
        ),
        (
            capturing(json!({"x": {"header": "content-length"}})),
            "requests.a.capture.x.header: content-length; belongs to the connection",
        ),
        (
            json!([with(json!({"method": "HEAD", "capture": {"x": {"after": "a", "before": "b"}}}))]),
            "requests.a.capture.x.after: given; the answer to a HEAD has no body",
        ),
        (
            json!([with(json!({"path": "/{x}", "capture": {"x": {"header": "A"}}}))]),
            "requests.a.path: {x}; is captured too late: must be a value that a step before this one captures",
        ),
        (
            json!([with(json!({"capture": {"x": {"header": "A"}}})), {"name": "b", "path": "/{y}"}]),
            "requests.b.path: {y}; must be {x}, {client}, {request}",
        ),
        (json!([with(json!({"path": "{x}"}))]), "requests.a.path: {x}; must be {client}, {request}"),
    ] {
        let found = refusal(steps);
        assert!(found.starts_with(refused), "{found}");
    }
    let many = |count: usize| -> Value {
        (0..count)
            .map(|number| (format!("x{number}"), json!({"header": "A"})))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    assert!(refusal(capturing(many(17))).starts_with("requests.a.capture: 17 values; must be from 0 to 16"));
    let steps: Vec<Value> = (0..9)
        .map(|step| {
            let captures: serde_json::Map<_, _> =
                (0..8).map(|number| (format!("x{step}-{number}"), json!({"header": "A"}))).collect();
            json!({"name": format!("s{step}"), "path": "/", "capture": captures})
        })
        .collect();
    assert!(refusal(json!(steps)).starts_with("requests: 72 captured values; must be from 0 to 64"));
    assert!(session(json!(steps[..8])).is_ok());
    let found =
        refusal(json!([with(json!({"capture": {"x": {"header": "A"}}, "expect": {"contains": "<{x}>"}}))]));
    assert!(
        found.starts_with("requests.a.expect.contains: \"<{x}>\"; {x} would stand for itself here"),
        "{found}"
    );
    let found = refusal(capturing(json!({"x": {"header": "A"}, "y": {"after": "id={x}", "before": ";"}})));
    assert!(
        found.starts_with("requests.a.capture.y.after: \"id={x}\"; {x} would stand for itself here"),
        "{found}"
    );
    for (fields, refused) in [
        (json!({"think": {"model": "none"}}), "requests.a.think: given; belongs to order = \"session\""),
        (json!({"capture": {"x": {"header": "A"}}}), "requests.a.capture: given; belongs to order"),
        (json!({"once": true}), "requests.a.once: given; belongs to order"),
    ] {
        let found = workload(json!([with(fields)])).unwrap_err();
        assert!(found.starts_with(refused), "{found}");
    }
    let mut cookies = json!({"kind": "requests", "cookies": true, "requests": [with(json!({"headers": {"cookie": "a=b"}}))]});
    let check = |options: &Value| Workload::from_value(options.clone()).map_err(|error| error.to_string());
    let found = check(&cookies).unwrap_err();
    assert!(found.starts_with("requests.a.headers.cookie: given; contradicts cookies = true"), "{found}");
    cookies["cookies"] = json!(false);
    check(&cookies).unwrap();
}

#[test]
fn the_stand_in_answers_with_what_a_session_captures() {
    let steps = json!([
        {"name": "a", "method": "POST", "path": "/orders", "size": "1KiB", "expect": {"contains": "made"}, "capture": {
            "place": {"header": "Location"}, "again": {"header": "location"}, "id": {"after": "\"id\": \"", "before": "\""},
        }},
        {"name": "b", "path": "/orders/{id}/state"},
        {"name": "c", "path": "/orders/{id}"},
        {"name": "d", "path": "{place}", "expect": {"status": ["202"]}},
    ]);
    let site = session(steps).unwrap().build(1, Inputs::default()).unwrap();
    let mut sites = Sites::default();
    sites.add(site, "").unwrap();
    let answers = sites.answers().unwrap();
    let order = answers.find("POST", "/orders").unwrap();
    assert_eq!(
        (&order.headers[..], &*order.text),
        (&[("location".into(), "0".into())][..], "\"id\": \"0\"made")
    );
    let status = |target: &str| answers.find("GET", target).map(|answer| answer.status);
    // The path with the most text beside its placeholders goes first.
    assert_eq!(
        [status("/orders/7/state"), status("/orders/7"), status("/0")],
        [Some(200), Some(200), Some(202)]
    );
}

#[test]
fn an_answer_without_room_for_what_is_captured_is_refused() {
    for (fields, refused) in [
        (
            json!({"size": "3B"}),
            "requests.a.size: 3B; must be at least 5B, as expect.length, expect.contains and capture ask for",
        ),
        (
            json!({"expect": {"status": ["204"]}}),
            "requests.a.expect.status: 204; has no body, for which size",
        ),
    ] {
        let mut step = with(json!({"capture": {"x": {"after": "<<", "before": ">>"}}}));
        step.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let found = refusal(json!([step]));
        assert!(found.starts_with(refused), "{found}");
    }
}

#[test]
fn a_value_that_the_stand_in_cannot_give_is_refused() {
    let text = format!("id={}", "x".repeat(900));
    let mut steps: Vec<Value> = (0..6)
        .map(|step| json!({"name": format!("s{step}"), "path": "/", "expect": {"contains": format!("{text}{step}")}}))
        .collect();
    steps.push(json!({"name": "last", "path": "/", "capture": {"x": {"after": "id=", "before": ";"}}}));
    let of = |steps: &[Value]| {
        let site = session(json!(steps)).unwrap().build(1, Inputs::default()).unwrap();
        answers([site]).map_err(|(_, error)| error)
    };
    let refused = of(&steps).unwrap_err();
    assert!(
        refused.starts_with("requests.last.capture.x.after: \"id=\"; a server that stands in"),
        "{refused}"
    );
    assert_eq!(of(&steps[3..]).unwrap().len(), 1, "up to 4,096 bytes are found");
}

#[test]
fn a_file_of_another_workload_has_nothing_to_capture() {
    for (capture, refused) in [
        (
            json!({"header": "ETag"}),
            "(1, \"requests.a.capture.x: \\\"ETag\\\"; /a is a file of another workload",
        ),
        (
            json!({"after": "a", "before": "b"}),
            "(1, \"requests.a.capture.x: \\\"a0b\\\"; /a is a file of another workload",
        ),
    ] {
        let files = Workload::from_value(json!({"kind": "single", "path": "/a", "size": "1KiB"})).unwrap();
        let steps = session(json!([with(json!({"path": "/a", "capture": {"x": capture}}))])).unwrap();
        let built = [files, steps].map(|workload| workload.build(1, Inputs::default()).unwrap());
        let found = format!("{:?}", answers(built).unwrap_err());
        assert!(found.starts_with(refused), "{found}");
    }
}

#[test]
fn a_session_is_all_steps_in_their_order() {
    let steps = json!([
        {"name": "a", "path": "/a", "once": true}, {"name": "b", "path": "/b", "think": {"model": "constant", "value": "2s"}}, {"name": "c", "path": "/c"},
    ]);
    let site = session(steps).unwrap().build(1, Inputs::default()).unwrap();
    let requests = Arc::new(site.requests(Key::root(1, 0)));
    let session = requests.session().unwrap();
    assert_eq!((session.once, session.thinks.len(), session.thinks[1].mean().as_millis()), (1, 3, 2_000));
    let mut stream = requests.stream(Deal::Own, "group", 3, 5);
    let files: Vec<u32> = (0..7).map(|_| stream.next_file().unwrap().0).collect();
    assert_eq!(files, [0, 1, 2, 0, 1, 2, 0]);
}
