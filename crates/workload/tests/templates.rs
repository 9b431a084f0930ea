//! Templates of named requests: placeholders, files, and the answers to targets that differ.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use wasp_random::Key;
use wasp_workload::named::{Body, NamedRequest, RequestFiles, Sink, Template, Values, files_of};
use wasp_workload::{Inputs, Sites, Workload};

/// Contents of files in the folder `data`, unless their paths are absolute.
fn files(contents: &[(&str, &[u8])]) -> RequestFiles {
    let path = |name: &str| if name.starts_with('/') { name.to_owned() } else { format!("data/{name}") };
    contents.iter().map(|(name, content)| (path(name), content.to_vec())).collect()
}

/// A POST to `/` with these fields, beside these files.
fn request(fields: Value, contents: &[(&str, &[u8])]) -> Result<NamedRequest, String> {
    let contents = files(contents);
    let mut request = json!({"name": "a", "method": "POST", "path": "/"});
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let options = json!({"kind": "requests", "requests": [request], "folder": "data"});
    let workload = Workload::from_value(options).map_err(|error| error.to_string())?;
    let Workload::Requests(options) = workload else { panic!("named requests") };
    let set = options.resolve(Some(&contents)).map_err(|error| error.to_string())?;
    Ok(set.requests()[0].clone())
}

/// The values of request number `number` of client 7.
fn values(number: u32) -> Values<'static> {
    Values::new(7, Key::root(1, 0), number, None)
}

fn written(template: &Template, number: u32) -> String {
    let mut text = Vec::new();
    template.write(&values(number), &mut text);
    assert_eq!(template.length(&values(number)), text.len() as u64);
    String::from_utf8(text).unwrap()
}

fn text_of(text: &str, contents: &[(&str, &[u8])], number: u32) -> String {
    let request = request(json!({"body": {"text": text}}), contents).unwrap();
    let Some(Body::Text(template)) = &request.body else { panic!("a text") };
    written(template, number)
}

fn target_of(path: &str, contents: &[(&str, &[u8])], number: u32) -> String {
    written(&request(json!({"path": path}), contents).unwrap().target, number)
}

#[test]
fn a_text_without_placeholders_stands_for_itself() {
    for text in [
        "",
        "plain",
        "{}",
        "{\"item\": 7, \"of\": {\"name\": \"x\"}}",
        "{ user { name } }",
        "{a b}",
        "{name: value}",
        "{7}",
        "a{",
        "}{",
        "{{",
        "{{{",
        "\u{e4}{\u{e4}}",
    ] {
        assert_eq!(text_of(text, &[], 0), text);
    }
    assert_eq!(text_of("{{client}} {{int:1-2}} {{{client}}}", &[], 0), "{client} {int:1-2} {{client}}");
}

#[test]
fn placeholders_have_the_values_of_their_request() {
    assert_eq!(text_of("c={client}&r={request}", &[], 3), "c=7&r=3");
    assert_eq!(text_of("{int:5-5}", &[], 0), "5");
    let seen: BTreeSet<String> = (0..200).map(|number| text_of("{int:9-11}", &[], number)).collect();
    assert_eq!(seen, BTreeSet::from(["9", "10", "11"].map(String::from)));
    let ids: BTreeSet<String> = (0..50).map(|number| text_of("{uuid}", &[], number)).collect();
    assert_eq!(ids.len(), 50);
    for id in ids {
        // Version 4 and the variant of RFC 9562.
        let parts: Vec<&str> = id.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
    }
    let any: BTreeSet<u64> =
        (0..50).map(|number| text_of("{int:0-18446744073709551615}", &[], number).parse().unwrap()).collect();
    assert_eq!(any.len(), 50);
    // Each placeholder has a draw of its own: of 400 pairs of two values, each of the four is 100 with a standard deviation of 9.
    let mut pairs = BTreeMap::<String, u32>::new();
    (0..400).for_each(|number| *pairs.entry(text_of("{int:0-1}{int:0-1}", &[], number)).or_default() += 1);
    assert!(pairs.len() == 4 && pairs.values().all(|count| count.abs_diff(100) < 40), "{pairs:?}");
}

#[test]
fn lines_of_one_file_are_one_line_in_one_request() {
    let users: &[(&str, &[u8])] = &[("users.csv", b"ann,\"a, 1\"\r\n\r\nbob,b2\ncleo,c3")];
    let seen: BTreeSet<String> = (0..100)
        .map(|number| text_of("{line:users.csv:1}|{line:users.csv:2}|{line:users.csv}", users, number))
        .collect();
    let expected = ["ann|a, 1|ann,\"a, 1\"", "bob|b2|bob,b2", "cleo|c3|cleo,c3"];
    assert_eq!(seen, BTreeSet::from(expected.map(String::from)));
    // Some programs begin each file with a byte order mark.
    let marked: &[(&str, &[u8])] = &[("m", "\u{feff}a,b".as_bytes())];
    assert_eq!(text_of("{line:m}|{line:m:1}", marked, 0), "a,b|a");
    // Client 7 of three lines.
    let own: BTreeSet<String> =
        (0..9).map(|number| text_of("{client:users.csv:2}|{client:users.csv}", users, number)).collect();
    assert_eq!(own, BTreeSet::from(["b2|bob,b2".to_owned()]));
    // A draw for a line moves no other.
    let alone = text_of("{line:users.csv:1}", users, 5);
    assert!(text_of("{line:users.csv:1} {int:1-100}", users, 5).starts_with(&alone));
}

#[test]
fn what_stands_in_targets_and_fields_may_stand_there() {
    let words: &[(&str, &[u8])] = &[("words", "a b/\u{e4}#%20?x=1&\"<|{~".as_bytes())];
    // In a path slashes divide, in a query all is text (RFC 3986).
    assert_eq!(target_of("/q={line:words}", words, 0), "/q=a%20b/%C3%A4%23%2520%3Fx=1&%22%3C%7C%7B~");
    assert_eq!(
        target_of("/?q={line:words}&r={client}", words, 0),
        "/?q=a%20b%2F%C3%A4%23%2520%3Fx%3D1%26%22%3C%7C%7B~&r=7"
    );
    // Only text between placeholders divides path and query, and a line at the beginning may have a query.
    let dirs: &[(&str, &[u8])] = &[("a&b?", b"/x?y=z"), ("d", b"e/f")];
    assert_eq!(target_of("/a&b/{line:d}/{line:a&b?}/{line:d}", dirs, 0), "/a&b/e/f//x%3Fy=z/e/f");
    assert_eq!(target_of("{line:a&b?}&w={line:d}", dirs, 0), "/x?y=z&w=e%2Ff");
    let request =
        request(json!({"headers": {"X-Word": "<{line:words}>"}, "body": {"text": "{line:words}"}}), words)
            .unwrap();
    assert_eq!(written(&request.headers["X-Word"], 0), "<a b/??#%20?x=1&\"<|{~>");
    assert_eq!(text_of("{line:words}", words, 0).as_bytes(), words[0].1);
}

#[test]
fn a_line_at_the_beginning_of_a_path_is_a_path_or_a_url() {
    for (line, target) in [
        ("/a?b", "/a?b"),
        ("a", "/a"),
        ("http://host:8080/a/b?c", "/a/b?c"),
        ("HTTPS://host", "/"),
        ("http://host?q=1#part", "/?q=1"),
        ("/a%2Fb 50%#c", "/a%2Fb%2050%25"),
        (" http://host/x ", "/x"),
        ("/a[1]?b=\"x\"&c=%zz%4", "/a[1]?b=%22x%22&c=%25zz%254"),
        ("#", "/"),
    ] {
        assert_eq!(target_of("{line:urls}", &[("urls", line.as_bytes())], 0), target, "{line}");
    }
}

#[test]
fn a_body_is_a_file_as_it_is_or_as_a_template() {
    let content: &[(&str, &[u8])] =
        &[("f", b"{client} {{client}} {other}"), ("b", b"\0\xff{client}"), ("t", b"<{client}>")];
    let body = |file: Value| request(json!({"body": {"file": file}}), content);
    let text = |file: Value| {
        let Some(Body::Text(template)) = body(file).unwrap().body else { panic!("a text") };
        let mut text = Vec::new();
        template.write(&values(0), &mut text);
        text
    };
    assert_eq!(text(json!({"name": "f"})), content[0].1);
    assert_eq!(text(json!({"name": "b", "template": false})), content[1].1);
    assert_eq!(text(json!({"name": "t", "template": true})), b"<7>");
    let refused = |file: Value| body(file).unwrap_err();
    assert!(
        refused(json!({"name": "f", "template": true}))
            .starts_with("requests.a.body.file: {other}; must be {client}, {request}")
    );
    assert!(
        refused(json!({"name": "b", "template": true}))
            .starts_with("requests.a.body.file: b; must be text in UTF-8")
    );
    assert!(
        refused(json!({"name": "x"})).starts_with("requests.a.body.file: x; must name a file that was read")
    );
}

#[test]
fn what_is_no_placeholder_is_refused_by_its_field() {
    let long = [b'x'; 8_193];
    let lines: &[(&str, &[u8])] = &[
        ("long", &long),
        ("two", b"a,b\nc,d\ne"),
        ("open", b"a,b\n\"a,b\n"),
        ("empty", b"\n \n"),
        ("bytes", b"\xff"),
    ];
    for (fields, refused) in [
        (json!({"path": "/{itn:1-5}"}), "requests.a.path: {itn:1-5}; must be {client}, {request}"),
        (json!({"path": "/{uuid:1}"}), "requests.a.path: {uuid:1}; must be {client}"),
        (
            json!({"path": "/{client:}"}),
            "requests.a.path: {client:}; must name a file, such as {client:users.csv}",
        ),
        (
            json!({"path": "/{client:x}"}),
            "requests.a.path: {client:x}; must name a file that was read, unlike x",
        ),
        (
            json!({"headers": {"X": "{int:5-1}"}}),
            "requests.a.headers.X: {int:5-1}; must have two whole numbers",
        ),
        (
            json!({"headers": {"X": "{int:-1-1}"}}),
            "requests.a.headers.X: {int:-1-1}; must have two whole numbers",
        ),
        (json!({"headers": {"X": "{int:1-18446744073709551616}"}}), "requests.a.headers.X: {int:1-1844"),
        (json!({"body": {"text": "{int}"}}), "requests.a.body: {int}; must have two numbers"),
        (json!({"body": {"text": "{line}"}}), "requests.a.body: {line}; must name a file"),
        (json!({"body": {"text": "{line:}"}}), "requests.a.body: {line:}; must name a file"),
        (
            json!({"body": {"text": "{line:none}"}}),
            "requests.a.body: {line:none}; must name a file that was read",
        ),
        (
            json!({"body": {"text": "{line:empty}"}}),
            "requests.a.body: {line:empty}; must be of a file with lines, which empty",
        ),
        (
            json!({"body": {"text": "{line:bytes}"}}),
            "requests.a.body: {line:bytes}; must be of a file that is text in UTF-8",
        ),
        (
            json!({"body": {"text": "{line:two:2}"}}),
            "requests.a.body: {line:two:2}; must name a field from 1 to 1: line 3 of two has",
        ),
        (
            json!({"body": {"text": "{line:two:0}"}}),
            "requests.a.body: {line:two:0}; must name a field from 1 to 2: line 1 of two",
        ),
        (
            json!({"path": "/{line:long}"}),
            "requests.a.path: {line:long}; must have lines of at most 8192 bytes",
        ),
    ] {
        let said = request(fields.clone(), lines).unwrap_err();
        assert!(said.starts_with(refused), "{fields}: {said}");
    }
}

#[test]
fn a_plain_text_has_no_placeholders() {
    let request = request(json!({"body": {"plain": "{client} {{x}} {other}"}}), &[]).unwrap();
    let Some(Body::Text(template)) = &request.body else { panic!("a text") };
    assert_eq!(written(template, 0), "{client} {{x}} {other}");
}

#[test]
fn the_files_of_a_text_are_known() {
    assert_eq!(
        files_of("{client}{{line:no}}{line:a.csv:2} {client:b c} {x:y} {line:} { }"),
        ["a.csv", "b c"]
    );
}

#[test]
fn an_absolute_path_is_not_in_the_folder() {
    assert_eq!(text_of("{line:/data/a}{line:b}", &[("/data/a", b"1"), ("b", b"2")], 0), "12");
}

/// The sites of named requests, each by its method, path and expected status.
fn sites(requests: &[(&str, &str, &str)]) -> Sites {
    let options = |(number, (method, path, status)): (usize, &(&str, &str, &str))| json!({"name": number.to_string(), "method": method, "path": path, "expect": {"status": [status]}});
    let all: Vec<Value> = requests.iter().enumerate().map(options).collect();
    let workload = Workload::from_value(json!({"kind": "requests", "requests": all})).unwrap();
    let mut sites = Sites::default();
    sites.add(workload.build(1, Inputs::default()).unwrap(), "").unwrap();
    sites
}

#[test]
fn the_answer_to_a_target_with_placeholders_is_that_of_its_template() {
    let answers = sites(&[
        ("GET", "/items/{int:1-100}", "2xx"),
        ("GET", "/items/7", "201"),
        ("GET", "/{line:names}", "202"),
        ("DELETE", "/items/{int:1-100}", "204"),
        ("GET", "/users/{uuid}?of={client}", "206"),
        ("GET", "/{{raw}}.*", "207"),
    ])
    .answers()
    .unwrap();
    let status = |method: &str, target: &str| answers.find(method, target).map(|answer| answer.status);
    assert_eq!(status("GET", "/items/50"), Some(200));
    assert_eq!(status("GET", "/items/7"), Some(201));
    for number in ["0", "07", "101", "1000"] {
        assert_eq!(status("GET", &format!("/items/{number}")), Some(202), "not from 1 to 100: {number}");
    }
    assert_eq!(status("DELETE", "/items/7"), Some(204));
    assert_eq!(status("PUT", "/items/7"), None);
    assert_eq!(status("GET", "/users/01234567-89ab-4def-8123-456789abcdef?of=12"), Some(206));
    assert_eq!(status("GET", "/{raw}.*"), Some(207));
}

#[test]
fn requests_that_may_have_one_target_have_one_answer() {
    let status = |requests: &[(&str, &str, &str)], target: &str| {
        let answers = sites(requests).answers().map_err(|refused| refused.error.to_string())?;
        Ok::<_, String>(answers.find("GET", target).unwrap().status)
    };
    assert_eq!(status(&[("GET", "/a/{client}", "2xx"), ("GET", "/a/{request}", "201")], "/a/1"), Ok(201));
    let refused =
        status(&[("GET", "/a/{client}", "200"), ("GET", "/a/{request}", "201")], "/a/1").unwrap_err();
    assert!(refused.starts_with("requests.1.expect.status: 201; "), "{refused}");
    // A target that a template may give is for a request of that, too.
    let refused = status(&[("GET", "/a/{int:1-9}", "200"), ("GET", "/a/7", "201")], "/a/7").unwrap_err();
    assert!(refused.starts_with("requests.0.expect.status: 200; "), "{refused}");
    // What lines of a file give is not known.
    assert_eq!(status(&[("GET", "/a/{line:f}", "200"), ("GET", "/a/7", "201")], "/a/7"), Ok(201));
}

#[test]
fn a_file_that_a_template_may_name_is_the_answer_to_its_requests() {
    let answered = |length: &str, path: &str| {
        let request = json!({"name": "a", "path": path, "size": "9KiB", "expect": {"length": length}});
        let file = json!({"kind": "single", "path": "/7", "size": "1KiB"});
        let mut sites = Sites::default();
        for options in [json!({"kind": "requests", "requests": [request]}), file] {
            sites
                .add(Workload::from_value(options).unwrap().build(1, Inputs::default()).unwrap(), "")
                .unwrap();
        }
        sites.answers().map(drop).map_err(|refused| refused.error.to_string())
    };
    assert_eq!(answered("> 1000", "/{int:1-9}"), Ok(()));
    assert_eq!(answered("> 2000", "/{int:10-99}"), Ok(()));
    assert!(
        answered("> 2000", "/{int:1-9}")
            .unwrap_err()
            .starts_with("requests.a.size: 1KiB; must be at least 2001B")
    );
}

#[test]
fn a_sample_may_stand_wherever_a_text_does() {
    let request = request(
        json!({"path": "{line:f}/{uuid}?{client}", "headers": {"X": "{line:f} {request}"}}),
        &[("f", b"x")],
    );
    let request = request.unwrap();
    assert_eq!(
        (request.target.sample(), request.headers["X"].sample()),
        ("/0/0?0".to_owned(), "0 0".to_owned())
    );
}

/// Texts in which braces and placeholders are likely.
fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("{client}".to_owned()),
        Just("{request}".to_owned()),
        Just("{uuid}".to_owned()),
        Just("{int:3-2000}".to_owned()),
        Just("{line:f}".to_owned()),
        Just("{line:f:1}".to_owned()),
        Just("{client:f}".to_owned()),
        Just("{{client}}".to_owned()),
        "[{}a-z:0-9/?=&%-]{0,6}",
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

/// Everything that a sink was handed, and in how many pieces that stay shared.
#[derive(Default)]
struct Seen {
    text: Vec<u8>,
    shared: usize,
}

impl Sink for Seen {
    fn bytes(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    fn shared(&mut self, bytes: &std::sync::Arc<[u8]>) {
        self.shared += 1;
        self.text.extend_from_slice(bytes);
    }
}

proptest! {
    #[test]
    fn just_the_numbers_of_a_range_have_its_answer(least in 0..3_000_u64, more in 0..3_000_u64, other in 0..7_000_u64) {
        let answers = sites(&[("GET", &format!("/{{int:{least}-{}}}", least + more), "200")]).answers().unwrap();
        let is_known = |target: String| answers.find("GET", &target).is_some();
        for number in [least, least + more, least + more / 2] {
            prop_assert!(is_known(format!("/{number}")), "{number}");
        }
        let is_in = (least..=least + more).contains(&other);
        prop_assert_eq!(is_known(format!("/{other}")), is_in);
        prop_assert!(!is_known(format!("/0{other}")), "no leading zero");
    }

    #[test]
    fn what_is_written_is_as_long_as_said_and_may_stand_where_it_does(
        text in any_text(),
        line in "[ -~\u{80}-\u{ff}%]{1,12}",
        number in 0..1_000_u32,
    ) {
        let path = if number % 2 == 0 { format!("/{text}") } else { format!("{{line:f}}{text}") };
        let contents: &[(&str, &[u8])] = &[("f", line.as_bytes())];
        let Ok(request) = request(json!({"path": path, "headers": {"X": text}}), contents) else { return Ok(()) };
        let target = written(&request.target, number);
        prop_assert!(target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{target}");
        let codes = target.split('%').skip(1).filter(|_| !text.contains('%'));
        prop_assert!(codes.into_iter().all(|code| code.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2), "{target}");
        let value = written(&request.headers["X"], number);
        prop_assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')), "{value}");
        let answers = sites(&[("GET", &path, "200")]).answers().unwrap();
        prop_assert!(answers.find("GET", &target).is_some(), "{path} {target}");
    }

    #[test]
    fn a_text_between_long_ones_is_written_without_copies_of_these(length in 1..10_000_usize) {
        let long = "x".repeat(length);
        let request = request(json!({"body": {"text": format!("{long}{{client}}{long}")}}), &[]).unwrap();
        let Some(Body::Text(template)) = &request.body else { panic!("a text") };
        let mut seen = Seen::default();
        template.write(&values(0), &mut seen);
        prop_assert_eq!(seen.shared, if length > 4_096 { 2 } else { 0 });
        prop_assert_eq!(String::from_utf8(seen.text).unwrap(), format!("{long}7{long}"));
    }
}

#[test]
fn a_captured_value_stands_where_a_line_may_stand() {
    let options = json!({"kind": "requests", "order": "session", "requests": [
        {"name": "a", "path": "/", "capture": {"x": {"header": "X"}, "url": {"header": "Location"}}},
        {"name": "b", "method": "POST", "path": "/p/{x}?q={x}", "headers": {"X": "<{x}>"}, "body": {"text": "{x}"}},
        {"name": "c", "path": "{url}&n={x}"},
    ]});
    let Ok(Workload::Requests(options)) = Workload::from_value(options) else { panic!("named requests") };
    let set = options.resolve(None).unwrap();
    assert_eq!((set.captures(), set.is_session(), set.keeps_cookies()), (2, true, false));
    let place =
        |name: &str| set.requests()[0].captures.iter().find(|capture| capture.name == name).unwrap().place;
    let mut captured = [None, None];
    captured[place("x")] = Some(Box::from("a b/c\"\n\u{e4}".as_bytes()));
    captured[place("url")] = Some(Box::from(&b"http://host/o/1?s=2"[..]));
    let values = Values { captured: &captured, ..values(0) };
    let text = |template: &Template, values: &Values<'_>| {
        let mut text = Vec::new();
        template.write(values, &mut text);
        assert_eq!(template.length(values), text.len() as u64);
        String::from_utf8(text).unwrap()
    };
    let [_, b, c] = set.requests() else { panic!("three") };
    assert_eq!(text(&b.target, &values), "/p/a%20b/c%22%0A%C3%A4?q=a%20b%2Fc%22%0A%C3%A4");
    assert_eq!(text(&b.headers["X"], &values), "<a b/c\"???>");
    let Some(Body::Text(body)) = &b.body else { panic!("a text") };
    assert_eq!(text(body, &values), "a b/c\"\n\u{e4}");
    assert_eq!(text(&c.target, &values), "/o/1?s=2&n=a%20b%2Fc%22%0A%C3%A4");
    captured[place("url")] = Some(Box::from(&b"//host/o/1?s=2"[..]));
    let values = Values { captured: &captured, ..self::values(0) };
    assert!(text(&c.target, &values).starts_with("/o/1?s=2&n="));
    // What a session has not captured is told by its placeholder.
    assert_eq!(text(&c.target, &self::values(0)), "{url}&n={x}");
    assert!(b.target.has_unknown() && c.target.sample().starts_with("/0&n="));
}

#[test]
fn what_stands_in_a_form_is_encoded() {
    let words: &[(&str, &[u8])] = &[("words", b"a b&c+d=\xc3\xa4/")];
    for (name, kind, expected) in [
        (
            "content-type",
            "application/x-www-form-urlencoded; charset=utf-8",
            "t=a%20b%26c%2Bd%3D%C3%A4%2F&n={x}",
        ),
        ("Content-Type", "text/plain", "t=a b&c+d=\u{e4}/&n={x}"),
        ("X", "application/x-www-form-urlencoded", "t=a b&c+d=\u{e4}/&n={x}"),
    ] {
        let text = json!({"text": "t={line:words}&n={{x}}"});
        let request = request(json!({"headers": {name: kind}, "body": text}), words).unwrap();
        let Some(Body::Text(body)) = &request.body else { panic!("a text") };
        assert_eq!(written(body, 0), expected, "{kind}");
    }
}

#[test]
fn a_session_has_one_line_of_each_file() {
    let contents =
        files(&[("users", b"ann\nbob\ncleo\ndan\neve"), ("cities", b"Rome\nOslo\nLima\nKyiv\nBonn")]);
    let of = |order: &str, texts: [&str; 2]| {
        let [a, b] = texts.map(|text| json!({"text": text}));
        let options = json!({"kind": "requests", "order": order, "folder": "data", "requests": [
            {"name": "a", "method": "POST", "path": "/", "body": a}, {"name": "b", "method": "POST", "path": "/", "body": b},
        ]});
        let Ok(Workload::Requests(options)) = Workload::from_value(options) else { panic!("named requests") };
        options.resolve(Some(&contents)).unwrap()
    };
    let set = of(
        "session",
        ["{line:cities} {line:users} {int:1-1000000}", "{line:users} {line:cities} {int:1-1000000}"],
    );
    let words = |step: u32, session: Option<u64>| -> Vec<String> {
        let request = &set.requests()[step as usize];
        let Some(Body::Text(body)) = &request.body else { panic!("a text") };
        let (mut text, number) = (Vec::new(), session.unwrap_or_default() as u32 * 2 + step);
        body.write(&Values::new(7, Key::root(1, 0), number, session), &mut text);
        String::from_utf8(text).unwrap().split(' ').map(str::to_owned).collect()
    };
    let mut seen = BTreeSet::new();
    for session in 0..100 {
        let (first, second) = (words(0, Some(session)), words(1, Some(session)));
        assert_eq!((&first[0], &first[1]), (&second[1], &second[0]), "session {session}");
        assert_ne!(first[2], second[2], "numbers are of the request");
        seen.insert((first[0].clone(), first[1].clone()));
    }
    // 25 pairs of independent lines: each is missing with a probability of 2 %.
    assert!(seen.len() > 20, "{}", seen.len());
}

#[test]
fn a_client_that_signs_in_once_is_one_user() {
    let contents =
        files(&[("users", b"ann\nbob\ncleo\ndan\neve"), ("cities", b"Rome\nOslo\nLima\nKyiv\nBonn")]);
    let body = json!({"text": "{line:users:1} {line:cities}"});
    let options = json!({"kind": "requests", "order": "session", "folder": "data", "requests": [
        {"name": "a", "path": "/{line:users}", "once": true}, {"name": "b", "method": "POST", "path": "/", "body": body},
    ]});
    let Ok(Workload::Requests(options)) = Workload::from_value(options) else { panic!("named requests") };
    let set = options.resolve(Some(&contents)).unwrap();
    let [sign_in, order] = set.requests() else { panic!("two") };
    let Some(Body::Text(body)) = &order.body else { panic!("a text") };
    let (mut users, mut cities) = (BTreeSet::new(), BTreeSet::new());
    for client in 0..50 {
        let key = Key::root(1, 0).entity(u64::from(client));
        let text = |template: &Template, request: u32, session: u64| {
            let mut text = Vec::new();
            template.write(&Values::new(client, key, request, Some(session)), &mut text);
            String::from_utf8(text).unwrap()
        };
        let user = text(&sign_in.target, 0, 0).replace('/', "");
        assert_eq!(text(&sign_in.target, 20, 9), format!("/{user}"), "if it signs in again");
        for session in 0..10 {
            let found = text(body, 1 + session, u64::from(session));
            let city = found.strip_prefix(&format!("{user} ")).expect("the user who has signed in");
            cities.insert(format!("{client} {city}"));
        }
        users.insert(user);
    }
    assert!(users.len() == 5 && cities.len() > 150, "{} {}", users.len(), cities.len());
}
