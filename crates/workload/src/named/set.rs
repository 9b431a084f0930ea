//! Named requests, checked.

use super::answer::{Answer, DEFAULT_SIZE};
use super::expect::Expectation;
use super::options::{Body, RequestOptions};
use crate::error::within;
use crate::{Class, File, FileSet, OptionError, Requests};
use std::collections::{BTreeMap, BTreeSet};
use wasp_random::Key;
use wasp_units::Bytes;

/// Methods that a request may have.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// Most bytes of a text that is sent.
const MOST_TEXT: usize = 1 << 20;
/// Most bytes that are sent.
const MOST_BYTES: u64 = 1 << 40;

/// Named requests. The file with a request's place stands for it.
#[derive(Debug)]
pub struct NamedSet {
    requests: Vec<NamedRequest>,
    files: FileSet,
}

/// A named request, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRequest {
    /// Its name in results.
    pub name: String,
    /// The token of its method.
    pub method: String,
    /// Its target.
    pub path: String,
    /// Its header fields.
    pub headers: BTreeMap<String, String>,
    /// Its content.
    pub body: Option<Body>,
    /// What its response must be.
    pub expect: Expectation,
    /// Size of the answer of a server that stands in for an application, if it is given.
    pub size: Option<u64>,
    /// How often it is made, in proportion to the others.
    pub weight: f64,
}

impl NamedRequest {
    /// Checks the options of one request.
    pub(super) fn new(options: &RequestOptions) -> Result<Self, OptionError> {
        let RequestOptions { name, method, path, weight, headers, body, expect, size } = options;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            let valid = "must be from 1 to 64 letters, digits, - and _";
            return Err(OptionError::new("name", format!("{name:?}"), valid));
        }
        if !METHODS.contains(&method.as_str()) {
            let valid = format!("must be one of {}", METHODS.join(", "));
            return Err(OptionError::new("method", format!("{method:?}"), valid));
        }
        if !path.starts_with('/') {
            return Err(OptionError::new("path", format!("{path:?}"), "must begin with a slash"));
        }
        within("weight", *weight, 0.0, 1e6)?;
        check_body(body.as_ref(), method)?;
        let mut names = BTreeSet::new();
        if let Some(name) = headers.keys().find(|name| !names.insert(name.to_ascii_lowercase())) {
            return Err(OptionError::new(
                "headers",
                name,
                "stands there twice; the case of letters makes no difference",
            ));
        }
        let expect = Expectation::new(expect, method == "HEAD").map_err(|error| error.within("expect"))?;
        let request = Self {
            name: name.clone(),
            method: method.clone(),
            path: path.clone(),
            headers: headers.clone(),
            body: body.clone(),
            expect,
            size: size.map(Bytes::get),
            weight: *weight,
        };
        Answer::to(&[(&request).into()])?;
        Ok(request)
    }
}

fn check_body(body: Option<&Body>, method: &str) -> Result<(), OptionError> {
    let Some(body) = body else { return Ok(()) };
    if matches!(method, "GET" | "HEAD") {
        return Err(OptionError::new(
            "body",
            "given",
            format!("a {method} has no body; give another method"),
        ));
    }
    match body {
        Body::Text(text) if text.len() > MOST_TEXT => {
            let valid =
                "must have at most 1MiB; more than that is sent as bytes without meaning: give its size";
            Err(OptionError::new("body", format!("{} bytes", text.len()), valid))
        }
        Body::Size(size) if size.get() > MOST_BYTES => {
            Err(OptionError::new("body.size", size, "must be at most 1024GiB"))
        }
        _ => Ok(()),
    }
}

impl NamedSet {
    pub(crate) fn new(requests: Vec<NamedRequest>) -> Self {
        // Requests of several methods may have one path.
        let file = |request: &NamedRequest| File {
            path: format!("{} {}", request.method, request.path),
            size: Bytes::new(request.size.unwrap_or(DEFAULT_SIZE)),
            class: Class::Loner,
        };
        let files = FileSet::new(requests.iter().map(file).collect());
        Self { requests, files }
    }

    /// The requests.
    #[must_use]
    pub fn requests(&self) -> &[NamedRequest] {
        &self.requests
    }

    /// A file for each request, which no server has: its path is the method and the target.
    #[must_use]
    pub const fn files(&self) -> &FileSet {
        &self.files
    }

    pub(crate) fn stream(&self, run: Key) -> Requests {
        let weights: Vec<f64> = self.requests.iter().map(|request| request.weight).collect();
        Requests::weighted(&weights, run)
    }
}
