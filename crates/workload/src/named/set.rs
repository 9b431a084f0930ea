//! Named requests, checked.

use super::answer::{Answer, DEFAULT_SIZE};
use super::capture::{Capture, MOST_CAPTURES, MOST_NAMES};
use super::expect::Expectation;
use super::lines::{Library, RequestFiles};
use super::options::{BodyFile, BodyOptions, RequestOptions, RequestOrder, RequestsOptions};
use super::template::{CaptureNames, Compiler, Placing, Template, Values};
use crate::error::within;
use crate::{Class, Delay, File, FileSet, OptionError, Requests, Session};
use std::collections::{BTreeMap, BTreeSet};
use wasp_random::Key;
use wasp_units::Bytes;

/// Most requests of a workload.
const MOST_REQUESTS: usize = 1_000;
/// Most bytes of the texts and files that these send.
const MOST_TEXTS: usize = 64 << 20;
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
    order: RequestOrder,
    cookies: bool,
    captures: usize,
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
    /// How often it is made, in proportion to the others; 1 in a session.
    pub weight: f64,
    /// What a session takes from its response.
    pub captures: Vec<Capture>,
    /// The pause after it, in a session.
    pub think: Delay,
    /// Whether only the first session of a client has it.
    pub once: bool,
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
    /// Checks the options of one request, whose files are in the `library`. What it captures is added to what was `captured` before it.
    fn new(
        options: &RequestOptions,
        library: &mut Library<'_>,
        captured: &mut CaptureNames,
    ) -> Result<Self, OptionError> {
        let RequestOptions { name, method, path, headers, body, expect, size, .. } = options;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            let valid = "must be from 1 to 64 letters, digits, - and _";
            return Err(OptionError::new("name", format!("{name:?}"), valid));
        }
        if !METHODS.contains(&method.as_str()) {
            let valid = format!("must be one of {}", METHODS.join(", "));
            return Err(OptionError::new("method", format!("{method:?}"), valid));
        }
        if path.len() > MOST_PATH {
            let valid = format!("must have at most {MOST_PATH} bytes");
            return Err(OptionError::new("path", format!("{} bytes", path.len()), valid));
        }
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
        let mut compiler = Compiler::new(library, captured, options.once);
        let target = compiler.compile("path", path, Placing::Target)?;
        if !target.is_target() {
            let valid = "must begin with a slash, with a line of a file such as {line:paths.txt}, or with a captured value";
            return Err(OptionError::new("path", format!("{path:?}"), valid));
        }
        within("path", target.placeholders(), 0, MOST_PLACEHOLDERS)
            .map_err(|error| OptionError { value: format!("{} placeholders", error.value), ..error })?;
        let headers = headers.iter().map(|(name, value)| {
            Ok((name.clone(), compiler.compile(&format!("headers.{name}"), value, Placing::Field)?))
        });
        let headers = headers.collect::<Result<_, OptionError>>()?;
        let placing = if is_form(&options.headers) { Placing::Form } else { Placing::Content };
        let body = body.as_ref().map(|body| Body::new(body, placing, &mut compiler)).transpose()?;
        let request = Self {
            name: name.clone(),
            method: method.clone(),
            path: path.clone(),
            target,
            headers,
            body,
            expect,
            size: size.map(Bytes::get),
            weight: options.weight.unwrap_or(1.0),
            captures: captures(options, captured)?,
            think: options.think.unwrap_or_default(),
            once: options.once,
        };
        Answer::to(&[(&request).into()])?;
        Ok(request)
    }
}

/// Some options are for sessions only, one is for requests at random. Steps that only the first session has come before the others; `before` is the
/// step before this one.
fn check_order(
    options: &RequestOptions,
    order: RequestOrder,
    before: Option<&NamedRequest>,
) -> Result<(), OptionError> {
    let only = |field: &str, of: &str| {
        let valid = format!("belongs to order = \"{of}\"; leave it out, or give that order");
        Err(OptionError::new(field, "given", valid))
    };
    within("weight", options.weight.unwrap_or(1.0), 0.0, 1e6)?;
    match order {
        RequestOrder::Session if options.weight.is_some() => only("weight", "weights"),
        RequestOrder::Weights if options.think.is_some() => only("think", "session"),
        RequestOrder::Weights if !options.capture.is_empty() => only("capture", "session"),
        RequestOrder::Weights if options.once => only("once", "session"),
        RequestOrder::Session if options.once && before.is_some_and(|before| !before.once) => {
            let valid = "steps that only the first session has must come before all others";
            Err(OptionError::new("once", true, valid))
        }
        _ => options.think.map_or(Ok(()), |think| think.check().map_err(|error| error.within("think"))),
    }
}

/// What is taken from the response to a request.
fn captures(options: &RequestOptions, captured: &mut CaptureNames) -> Result<Vec<Capture>, OptionError> {
    within("capture", options.capture.len(), 0, MOST_CAPTURES)
        .map_err(|error| OptionError { value: format!("{} values", error.value), ..error })?;
    let is_head = options.method == "HEAD";
    let capture = |(name, capture): (&String, _)| {
        let at = |error: OptionError| error.within(&format!("capture.{name}"));
        Capture::new((name, captured.add(name)), capture, is_head).map_err(at)
    };
    options.capture.iter().map(capture).collect()
}

/// Whether the content of a request with these fields is a form.
fn is_form(headers: &BTreeMap<String, String>) -> bool {
    const FORM: &str = "application/x-www-form-urlencoded";
    let mut types = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    types.any(|(_, value)| value.get(..FORM.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(FORM)))
}

impl Body {
    fn new(
        options: &BodyOptions,
        placing: Placing,
        compiler: &mut Compiler<'_, '_>,
    ) -> Result<Self, OptionError> {
        match options {
            BodyOptions::Text(text) | BodyOptions::Plain(text) if text.len() > MOST_TEXT => {
                let valid = "must have at most 1MiB; give longer ones as a file, or the size of one that means nothing";
                Err(OptionError::new("body", format!("{} bytes", text.len()), valid))
            }
            BodyOptions::Text(text) => compiler.compile("body", text, placing).map(Self::Text),
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
                compiler.compile("body.file", text, placing).map(Self::Text)
            }
        }
    }
}

impl NamedRequest {
    fn check_cookies(&self, are_kept: bool) -> Result<(), OptionError> {
        match self.headers.keys().find(|name| name.eq_ignore_ascii_case("cookie")) {
            Some(name) if are_kept => {
                let valid = "contradicts cookies = true; leave out the one or the other";
                Err(OptionError::new(format!("headers.{name}"), "given", valid))
            }
            _ => Ok(()),
        }
    }

    /// Bytes of its content that it keeps.
    pub(super) fn text_length(&self) -> usize {
        if let Some(Body::Text(text)) = &self.body { text.literal_length() } else { 0 }
    }

    /// Bytes of its content; where these differ from request to request, the mean of a few requests, in which captured values are as long as their
    /// placeholders.
    #[must_use]
    pub fn content_length(&self) -> u64 {
        const FEW: u32 = 32;
        let values = |request| Values::new(request, Key::root(0, 0), request, None);
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
    /// Checks the options, and fills in what is not given. `contents` are those of files by their paths; without them no request can be made,
    /// but the requests and the answers can be had.
    pub(super) fn new(
        options: &RequestsOptions,
        contents: Option<&RequestFiles>,
    ) -> Result<Self, OptionError> {
        let RequestsOptions { order, cookies, ref requests, ref folder } = *options;
        if requests.is_empty() || requests.len() > MOST_REQUESTS {
            let valid = format!("must be from 1 to {MOST_REQUESTS} requests");
            return Err(OptionError::new("requests", requests.len(), valid));
        }
        let mut library = Library::new(folder, contents);
        let mut captured = CaptureNames::new(requests.iter().flat_map(|request| request.capture.keys()));
        let (mut names, mut texts) = (BTreeSet::new(), 0);
        let mut checked = Vec::with_capacity(requests.len());
        for request in requests {
            let within = |error: OptionError| error.within(&format!("requests.{}", request.name));
            check_order(request, order, checked.last()).map_err(within)?;
            let new = NamedRequest::new(request, &mut library, &mut captured).map_err(within)?;
            new.check_cookies(cookies).map_err(within)?;
            texts += new.text_length();
            if texts > MOST_TEXTS {
                let valid = "the texts and files of all bodies together must have at most 64MiB; give the size of a body whose content does not matter";
                return Err(OptionError::new("requests", format!("at least {texts} bytes"), valid));
            }
            checked.push(new);
            if !names.insert(&request.name) {
                let valid = "two requests have this name; names must differ";
                return Err(within(OptionError::new("name", &request.name, valid)));
            }
        }
        if checked.iter().all(|request| request.weight == 0.0) {
            return Err(OptionError::new("requests", "no weight", "at least one weight must be above 0"));
        }
        if checked.iter().all(|request| request.once) {
            let valid = "all steps have once = true; at least one must be made in each session";
            return Err(OptionError::new("requests", "no step", valid));
        }
        within("capture", captured.len(), 0, MOST_NAMES).map_err(|error| OptionError {
            field: "requests".to_owned(),
            value: format!("{} captured values", error.value),
            ..error
        })?;
        // Requests of several methods may have one path.
        let file = |request: &NamedRequest| File {
            path: format!("{} {}", request.method, request.path),
            size: Bytes::new(request.size.unwrap_or(DEFAULT_SIZE)),
            class: Class::Loner,
        };
        let files = FileSet::new(checked.iter().map(file).collect());
        let set = Self { requests: checked, files, order, cookies, captures: captured.len() };
        set.check_texts()?;
        Ok(set)
    }

    /// What is looked for is no template.
    fn check_texts(&self) -> Result<(), OptionError> {
        for request in &self.requests {
            let contains = request.expect.contains.iter().map(|text| ("expect.contains".to_owned(), text));
            for (field, text) in contains.chain(request.captures.iter().flat_map(Capture::texts)) {
                if let Some(name) = self.placeholder_in(text) {
                    let valid = format!(
                        "{{{name}}} would stand for itself here, and not for the captured value; leave it out"
                    );
                    let field = format!("requests.{}.{field}", request.name);
                    return Err(OptionError::new(field, format!("{text:?}"), valid));
                }
            }
        }
        Ok(())
    }

    /// The requests; those of a session in their order.
    #[must_use]
    pub fn requests(&self) -> &[NamedRequest] {
        &self.requests
    }

    /// Whether clients make them in their order.
    #[must_use]
    pub fn is_session(&self) -> bool {
        self.order == RequestOrder::Session
    }

    /// Whether each client keeps cookies.
    #[must_use]
    pub const fn keeps_cookies(&self) -> bool {
        self.cookies
    }

    /// How many values a session takes from responses.
    #[must_use]
    pub const fn captures(&self) -> usize {
        self.captures
    }

    /// The first captured value whose placeholder stands in a text.
    #[must_use]
    pub fn placeholder_in(&self, text: &str) -> Option<&str> {
        let names = self.requests.iter().flat_map(|request| &request.captures);
        names.map(|capture| capture.name.as_str()).find(|name| text.contains(&format!("{{{name}}}")))
    }

    /// A file for each request, which no server has: its path is the method and the target.
    #[must_use]
    pub const fn files(&self) -> &FileSet {
        &self.files
    }

    pub(crate) fn stream(&self, run: Key) -> Requests {
        if self.is_session() {
            let once = self.requests.iter().take_while(|request| request.once).count() as u32;
            let thinks = self.requests.iter().map(|request| request.think).collect();
            return Requests::of_session(Session { thinks, once }, run);
        }
        let weights: Vec<f64> = self.requests.iter().map(|request| request.weight).collect();
        Requests::weighted(&weights, run)
    }
}
