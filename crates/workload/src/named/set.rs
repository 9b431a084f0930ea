//! Named requests, checked.

use super::answer::{Answer, DEFAULT_SIZE};
use super::expect::Expectation;
use super::lines::Library;
use super::options::{BodyFile, BodyOptions, RequestOptions};
use super::template::{Compiler, Placing, Template, Values};
use crate::error::within;
use crate::{Class, File, FileSet, OptionError, Requests};
use std::collections::{BTreeMap, BTreeSet};
use wasp_random::Key;
use wasp_units::Bytes;

/// Methods that a request may have.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// Most bytes of a path: more than servers take.
const MOST_PATH: usize = 8 << 10;
/// Most placeholders of a path.
const MOST_PLACEHOLDERS: usize = 64;
/// Most bytes of a text that is sent.
const MOST_TEXT: usize = 1 << 20;
/// Most bytes of a file that is sent.
const MOST_FILE: usize = 16 << 20;
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
    /// Its target as it is written in the options.
    pub path: String,
    /// Its target.
    pub target: Template,
    /// The values of its header fields, by their names.
    pub headers: BTreeMap<String, Template>,
    /// Its content.
    pub body: Option<Body>,
    /// What its response must be.
    pub expect: Expectation,
    /// Size of the answer of a server that stands in for an application, if it is given.
    pub size: Option<u64>,
    /// How often it is made, in proportion to the others.
    pub weight: f64,
}

/// The content of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// This text.
    Text(Template),
    /// So many bytes that mean nothing.
    Size(u64),
}

impl NamedRequest {
    /// Checks the options of one request, whose files are in the `library`.
    pub(super) fn new(options: &RequestOptions, library: &mut Library<'_>) -> Result<Self, OptionError> {
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
        if !["/", "{line:", "{client:"].iter().any(|begin| path.starts_with(begin)) {
            let valid = "must begin with a slash, or with a line of a file such as {line:paths.txt}";
            return Err(OptionError::new("path", format!("{path:?}"), valid));
        }
        if path.len() > MOST_PATH {
            let valid = format!("must have at most {MOST_PATH} bytes");
            return Err(OptionError::new("path", format!("{} bytes", path.len()), valid));
        }
        within("weight", *weight, 0.0, 1e6)?;
        if body.is_some() && matches!(method.as_str(), "GET" | "HEAD") {
            let valid = format!("a {method} has no body; give another method");
            return Err(OptionError::new("body", "given", valid));
        }
        let mut names = BTreeSet::new();
        if let Some(name) = headers.keys().find(|name| !names.insert(name.to_ascii_lowercase())) {
            return Err(OptionError::new(
                "headers",
                name,
                "stands there twice; the case of letters makes no difference",
            ));
        }
        let expect = Expectation::new(expect, method == "HEAD").map_err(|error| error.within("expect"))?;
        let mut compiler = Compiler::new(library);
        let target = compiler.compile("path", path, Placing::Target)?;
        within("path", target.placeholders(), 0, MOST_PLACEHOLDERS)
            .map_err(|error| OptionError { value: format!("{} placeholders", error.value), ..error })?;
        let headers = headers.iter().map(|(name, value)| {
            Ok((name.clone(), compiler.compile(&format!("headers.{name}"), value, Placing::Field)?))
        });
        let headers = headers.collect::<Result<_, OptionError>>()?;
        let body = body.as_ref().map(|body| Body::new(body, &mut compiler)).transpose()?;
        let request = Self {
            name: name.clone(),
            method: method.clone(),
            path: path.clone(),
            target,
            headers,
            body,
            expect,
            size: size.map(Bytes::get),
            weight: *weight,
        };
        Answer::to(&[(&request).into()])?;
        Ok(request)
    }
}

impl Body {
    fn new(options: &BodyOptions, compiler: &mut Compiler<'_, '_>) -> Result<Self, OptionError> {
        match options {
            BodyOptions::Text(text) | BodyOptions::Plain(text) if text.len() > MOST_TEXT => {
                let valid = "must have at most 1MiB; give longer ones as a file, or the size of one that means nothing";
                Err(OptionError::new("body", format!("{} bytes", text.len()), valid))
            }
            BodyOptions::Text(text) => compiler.compile("body", text, Placing::Content).map(Self::Text),
            BodyOptions::Plain(text) => Ok(Self::Text(Template::of_bytes(text.as_bytes()))),
            BodyOptions::Size(size) if size.get() > MOST_BYTES => {
                Err(OptionError::new("body.size", size, "must be at most 1024GiB"))
            }
            BodyOptions::Size(size) => Ok(Self::Size(size.get())),
            BodyOptions::File(BodyFile { name, template }) => {
                let invalid = |valid: &str| OptionError::new("body.file", name, valid);
                let content = compiler.library.content(name).map_err(|problem| invalid(&problem))?;
                if content.len() > MOST_FILE {
                    return Err(invalid(
                        "must have at most 16MiB; give the size of a body that means nothing",
                    ));
                }
                if !*template {
                    return Ok(Self::Text(Template::of_bytes(content)));
                }
                let text = std::str::from_utf8(content);
                let text =
                    text.map_err(|_| invalid("must be text in UTF-8 for a template; leave template out"))?;
                compiler.compile("body.file", text, Placing::Content).map(Self::Text)
            }
        }
    }
}

impl NamedRequest {
    /// Bytes of its content that it keeps.
    pub(super) fn text_length(&self) -> usize {
        if let Some(Body::Text(text)) = &self.body { text.literal_length() } else { 0 }
    }

    /// Bytes of its content; where these differ from request to request, the mean of a few requests.
    #[must_use]
    pub fn content_length(&self) -> u64 {
        const FEW: u32 = 32;
        let values =
            |request| Values { client: request, request, key: Key::root(0, 0).entity(u64::from(request)) };
        match &self.body {
            None => 0,
            Some(Body::Size(size)) => *size,
            Some(Body::Text(text)) if text.fixed().is_some() => text.literal_length() as u64,
            Some(Body::Text(text)) => {
                (0..FEW).map(|request| text.length(&values(request))).sum::<u64>() / u64::from(FEW)
            }
        }
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
