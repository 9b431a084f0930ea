//! Any text is a template, or is refused; what is written from it is as long as it says, may stand where it stands, and is known again by the
//! server that stands in for an application.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use wasp_random::Key;
use wasp_workload::named::{
    Body, BodyOptions, RequestFiles, RequestOptions, RequestOrder, RequestsOptions, Template, Values,
    files_of,
};
use wasp_workload::{Inputs, Sites, Workload};

/// A POST whose path, field and body are made from `text`.
fn request(text: &str) -> RequestOptions {
    RequestOptions {
        name: "a".to_owned(),
        method: "POST".to_owned(),
        path: format!("/{text}"),
        weight: None,
        headers: BTreeMap::from([("X".to_owned(), text.to_owned())]),
        body: Some(BodyOptions::Text(text.to_owned())),
        expect: Default::default(),
        size: None,
        capture: BTreeMap::new(),
        think: None,
        once: false,
    }
}

fn written(template: &Template, values: &Values<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    template.write(values, &mut text);
    assert_eq!(template.length(values), text.len() as u64);
    text
}

fuzz_target!(|data: &[u8]| {
    let [client, number, rest @ ..] = data else { return };
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (Ok(text), content) = (std::str::from_utf8(&rest[..end]), &rest[end..]) else { return };
    let files: RequestFiles =
        files_of(text).into_iter().map(|file| (file.to_owned(), content.to_vec())).collect();
    let options = RequestsOptions {
        order: RequestOrder::Weights,
        cookies: false,
        requests: vec![request(text)],
        folder: String::new(),
    };
    let Ok(set) = options.resolve(Some(&files)) else { return };
    let [request] = set.requests() else { panic!("one request") };
    let number = u32::from(*number);
    let values = Values::new(u32::from(*client), Key::root(1, 0), number, None);

    let value = written(&request.headers["X"], &values);
    let Some(Body::Text(body)) = &request.body else { panic!("a text") };
    let body = written(body, &values);
    if !text.contains('{') {
        assert_eq!((&value[..], &body[..]), (text.as_bytes(), text.as_bytes()));
    }
    let target = written(&request.target, &values);
    // The engine refuses any other target before it is sent.
    if text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        assert!(target.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#'));
        let mut sites = Sites::default();
        let site = Workload::Requests(options).build(1, Inputs { log: None, files: Some(&files) });
        sites.add(site.expect("the options were resolved"), "").expect("there are no files");
        let answers = sites.answers().expect("one request contradicts no other");
        let target = std::str::from_utf8(&target).expect("ASCII");
        assert!(answers.find("POST", target).is_some());
    }
});
