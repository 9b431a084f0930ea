//! What a server that stands in for an application answers: as requests expect, so that a file that is meant for the application runs without it.

use super::expect::{Expectation, Status};
use super::set::NamedRequest;
use crate::{File, FileSet, OptionError};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use wasp_units::Bytes;

/// Statuses whose responses have no body (RFC 9112, section 6.3).
const BODILESS: [u16; 2] = [204, 304];
/// Bytes of an answer whose size is not given, as far as no request expects another.
pub(super) const DEFAULT_SIZE: u64 = 1_024;

/// The answer to all requests that have one method and one target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// A status that all of them expect.
    pub status: u16,
    /// What the body begins with: the texts that they look for.
    pub text: String,
    /// Length of the body; of the answer to a HEAD, what its head says.
    pub size: u64,
}

/// What one request asks of its answer.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    expect: &'a Expectation,
    size: Option<u64>,
    is_head: bool,
    /// The path of the file that is the answer: its content is made up.
    file: Option<&'a str>,
}

impl<'a> From<&'a NamedRequest> for Wanted<'a> {
    fn from(request: &'a NamedRequest) -> Self {
        let is_head = request.method == "HEAD";
        Self { expect: &request.expect, size: request.size, is_head, file: None }
    }
}

impl Answer {
    /// The answer that all these requests want, which have one method and one target.
    pub(super) fn to(requests: &[Wanted<'_>]) -> Result<Self, OptionError> {
        let text = text(requests)?;
        let size = size(requests, text.len() as u64)?;
        let status = status(requests, text.is_empty())?;
        Ok(Self { size: if has_body(status) { size } else { 0 }, status, text })
    }

    /// Whether responses with its status have a body.
    #[must_use]
    pub fn has_body(&self) -> bool {
        has_body(self.status)
    }
}

fn has_body(status: u16) -> bool {
    !BODILESS.contains(&status)
}

/// The texts that these requests look for, one after the other, without those that others have in them.
fn text(requests: &[Wanted<'_>]) -> Result<String, OptionError> {
    let mut texts: Vec<&str> =
        requests.iter().filter_map(|request| request.expect.contains.as_deref()).collect();
    // Of texts of one length the order stays.
    texts.sort_by_key(|text| Reverse(text.len()));
    let mut text = String::new();
    for wanted in texts {
        if !text.contains(wanted) {
            text.push_str(wanted);
        }
    }
    match requests.iter().find_map(|request| request.file) {
        Some(path) if !text.is_empty() => {
            let valid =
                format!("{path} is a file of another workload, whose content is made up; give another path");
            Err(OptionError::new("expect.contains", format!("{text:?}"), valid))
        }
        _ => Ok(text),
    }
}

/// The first status that all these requests expect, and that leaves room for what they look for; 200, if any will do.
fn status(requests: &[Wanted<'_>], has_no_text: bool) -> Result<u16, OptionError> {
    let wants_body =
        |request: &Wanted<'_>| request.expect.least > 0 || request.size.is_some_and(|size| size > 0);
    let has_room = |status: u16| has_body(status) || has_no_text && !requests.iter().any(wants_body);
    let fits = |status: &u16| requests.iter().all(|request| request.expect.has_status(*status));
    let expected = requests.iter().flat_map(|request| &request.expect.status).map(|status| status.least);
    let candidates: Vec<u16> = expected.chain([200]).filter(fits).collect();
    candidates.iter().copied().find(|status| has_room(*status)).ok_or_else(|| {
        let of_last = requests.last().map(|request| &request.expect.status[..]).unwrap_or_default();
        let given = of_last.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let valid = if candidates.is_empty() {
            "a server that stands in for the application answers all requests of one method and one path alike, and another of them expects none of \
             these; give one status that all of them expect"
        } else {
            "has no body, for which size, expect.contains or expect.length ask; give another status, or leave them out"
        };
        OptionError::new("expect.status", if given.is_empty() { "below 400".to_owned() } else { given }, valid)
    })
}

/// The length of a body that begins with so many bytes of text, and that all these requests want.
fn size(requests: &[Wanted<'_>], text: u64) -> Result<u64, OptionError> {
    let given = requests.iter().find_map(|request| request.size);
    let other = requests.iter().filter_map(|request| request.size).find(|size| Some(*size) != given);
    if let Some((first, other)) = given.zip(other) {
        let first = Bytes::new(first);
        let valid = match requests.iter().find_map(|request| request.file) {
            Some(path) => format!("{path} is a file of another workload, which has {first}"),
            None => format!(
                "another request for this path has {first}; a server that stands in for the application answers both alike"
            ),
        };
        return Err(OptionError::new("size", Bytes::new(other), valid));
    }
    if requests.iter().any(|request| request.is_head) {
        // It has no body, whatever its head says.
        return Ok(given.unwrap_or(DEFAULT_SIZE));
    }
    let least = requests.iter().map(|request| request.expect.least).fold(text, u64::max);
    let most = requests.iter().map(|request| request.expect.most).fold(u64::MAX, u64::min);
    if least > most {
        let valid =
            format!("must leave room for the {least} bytes that expect.contains and expect.length ask for");
        return Err(OptionError::new("expect.length", format!("at most {most}"), valid));
    }
    match given {
        None => Ok(DEFAULT_SIZE.clamp(least, most)),
        Some(size) if (least..=most).contains(&size) => Ok(size),
        Some(size) => {
            let upper = if most == u64::MAX { String::new() } else { format!(" and at most {most}B") };
            let valid =
                format!("must be at least {least}B{upper}, as expect.length and expect.contains ask for");
            Err(OptionError::new("size", Bytes::new(size), valid))
        }
    }
}

/// Two requests that have one method and one target, and no answer that both expect.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Contradiction {
    /// The number of the site that has the latter one.
    pub site: usize,
    /// What is wrong with it, by its path in the workload.
    pub error: OptionError,
}

/// The answers to the named requests of several workloads.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// By target, then by method.
    answers: BTreeMap<String, BTreeMap<String, Answer>>,
}

/// The named requests that have one method and one target, each with the number of its site.
type Alike<'a> = Vec<(usize, &'a NamedRequest)>;

impl Answers {
    /// The answers to these requests. A file of another site is the answer to a GET, HEAD or POST for its path, since clients ask for
    /// files by these.
    pub(crate) fn new<'a>(
        requests: impl Iterator<Item = (usize, &'a NamedRequest)>,
        files: &FileSet,
    ) -> Result<Self, Contradiction> {
        let mut alike: BTreeMap<(&str, &str), Alike<'_>> = BTreeMap::new();
        for (site, request) in requests {
            alike.entry((&request.path, &request.method)).or_default().push((site, request));
        }
        let mut answers: BTreeMap<String, BTreeMap<String, Answer>> = BTreeMap::new();
        for ((path, method), together) in alike {
            let file = files.find(path).and_then(|id| files.get(id));
            let answer = answer_to(&together, file.filter(|_| matches!(method, "GET" | "HEAD" | "POST")))?;
            answers.entry(path.to_owned()).or_default().insert(method.to_owned(), answer);
        }
        Ok(Self { answers })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The answer to a request with this method and target.
    #[must_use]
    pub fn find(&self, method: &str, target: &str) -> Option<&Answer> {
        self.answers.get(target)?.get(method)
    }

    /// Every answer, with the method and the target of its requests.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Answer)> {
        self.answers.iter().flat_map(|(target, answers)| {
            answers.iter().map(|(method, answer)| (method.as_str(), target.as_str(), answer))
        })
    }
}

/// The answer to these requests, which is this file if it is one.
fn answer_to(together: &Alike<'_>, file: Option<&File>) -> Result<Answer, Contradiction> {
    let ok = vec![Status { least: 200, most: 200 }];
    let whole = Expectation { status: ok, contains: None, least: 0, most: u64::MAX };
    let file = file.map(|file| Wanted {
        expect: &whole,
        size: Some(file.size.get()),
        is_head: false,
        file: Some(&file.path),
    });
    let wanted: Vec<Wanted<'_>> =
        file.into_iter().chain(together.iter().map(|(_, request)| Wanted::from(*request))).collect();
    Answer::to(&wanted).map_err(|of_all| {
        // The first request for which those before it leave no answer.
        let files = usize::from(file.is_some());
        let lengths = files + 1..=wanted.len();
        let mut failures = lengths.filter_map(|length| Some((length, Answer::to(&wanted[..length]).err()?)));
        let (length, error) = failures.next().unwrap_or((wanted.len(), of_all));
        let (site, request) = together[length - files - 1];
        Contradiction { site, error: error.within(&format!("requests.{}", request.name)) }
    })
}
