//! What a server that stands in for an application answers: as requests expect, so that a file that is meant for the application runs without it.

use super::capture::{Capture, CaptureSource, MOST_VALUE};
use super::expect::{Expectation, Status};
use super::set::NamedRequest;
use crate::{File, FileSet, OptionError};
use regex::{RegexSet, RegexSetBuilder};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use wasp_units::Bytes;

/// Statuses whose responses have no body (RFC 9112, section 6.3).
const BODILESS: [u16; 2] = [204, 304];
/// Bytes of an answer whose size is not given, as far as no request expects another.
pub(super) const DEFAULT_SIZE: u64 = 1_024;

/// The value that sessions capture from answers.
const VALUE: &str = "0";

/// Bytes of the regular expressions of a thousand long targets.
const MOST_PATTERNS: usize = 1 << 30;

/// The answer to all requests that have one method and one target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// A status that all of them expect.
    pub status: u16,
    /// Header fields that they capture, by name.
    pub headers: Vec<(String, String)>,
    /// What the body begins with: the texts that they look for.
    pub text: String,
    /// Length of the body; of the answer to a HEAD, what its head says.
    pub size: u64,
}

/// What one request asks of its answer.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    expect: &'a Expectation,
    captures: &'a [Capture],
    size: Option<u64>,
    is_head: bool,
    /// The path of the file that is the answer: its content is made up.
    file: Option<&'a str>,
}

impl<'a> From<&'a NamedRequest> for Wanted<'a> {
    fn from(request: &'a NamedRequest) -> Self {
        let is_head = request.method == "HEAD";
        Self { expect: &request.expect, captures: &request.captures, size: request.size, is_head, file: None }
    }
}

impl Answer {
    /// The answer that all these requests want, which have one method and one target.
    pub(super) fn to(requests: &[Wanted<'_>]) -> Result<Self, OptionError> {
        let text = text(requests)?;
        let size = size(requests, text.len() as u64)?;
        let status = status(requests, text.is_empty())?;
        Ok(Self { size: if has_body(status) { size } else { 0 }, status, headers: headers(requests)?, text })
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

/// The header fields that these requests capture.
fn headers(requests: &[Wanted<'_>]) -> Result<Vec<(String, String)>, OptionError> {
    let mut headers = BTreeMap::new();
    for capture in requests.iter().flat_map(|request| request.captures) {
        if let CaptureSource::Header(header) = &capture.source {
            if let Some(path) = requests.iter().find_map(|request| request.file) {
                return Err(of_file(&format!("capture.{}", capture.name), header, path));
            }
            headers.entry(header.to_ascii_lowercase()).or_insert_with(|| (header.clone(), VALUE.to_owned()));
        }
    }
    Ok(headers.into_values().collect())
}

/// What is at `field` cannot be had of the file with this path.
fn of_file(field: &str, value: &str, path: &str) -> OptionError {
    let valid = format!("{path} is a file of another workload, whose content is made up; give another path");
    OptionError::new(field, format!("{value:?}"), valid)
}

/// The texts that these requests look for, one after the other, without those that others have in them.
fn text(requests: &[Wanted<'_>]) -> Result<String, OptionError> {
    let contained =
        |request: &Wanted<'_>| Some(("expect.contains".to_owned(), request.expect.contains.clone()?));
    let captured = |capture: &Capture| Some((format!("capture.{}", capture.name), capture.text(VALUE)?));
    let captured = requests.iter().flat_map(|request| request.captures).filter_map(captured);
    let mut texts: Vec<(String, String)> = requests.iter().filter_map(contained).chain(captured).collect();
    if let Some((field, text)) = texts.first()
        && let Some(path) = requests.iter().find_map(|request| request.file)
    {
        return Err(of_file(field, text, path));
    }
    // Of texts of one length the order stays.
    texts.sort_by_key(|(_, text)| Reverse(text.len()));
    let mut text = String::new();
    for (_, wanted) in texts {
        if !text.contains(&wanted) {
            text.push_str(&wanted);
        }
    }
    requests
        .iter()
        .flat_map(|request| request.captures)
        .try_for_each(|capture| check_capture(capture, &text))?;
    Ok(text)
}

/// Other texts that hold the one before a value must not leave it too long.
fn check_capture(capture: &Capture, text: &str) -> Result<(), OptionError> {
    let CaptureSource::Between { after, before } = &capture.source else { return Ok(()) };
    let behind = text.split_once(after.as_str()).map(|(_, behind)| behind);
    let value = behind.and_then(|behind| behind.split_once(before.as_str())).map(|(value, _)| value);
    match value {
        Some(value) if value.len() <= MOST_VALUE => Ok(()),
        _ => {
            let valid = "a server that stands in for the application cannot answer with it, since other texts that are looked for have this one in them; \
                         give a longer one";
            Err(OptionError::new(format!("capture.{}.after", capture.name), format!("{after:?}"), valid))
        }
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
            "has no body, for which size, expect.contains, expect.length or capture ask; give another status, or leave them out"
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
        let valid = format!(
            "must leave room for the {least} bytes that expect.contains, expect.length and capture ask for"
        );
        return Err(OptionError::new("expect.length", format!("at most {most}"), valid));
    }
    match given {
        None => Ok(DEFAULT_SIZE.clamp(least, most)),
        Some(size) if (least..=most).contains(&size) => Ok(size),
        Some(size) => {
            let upper = if most == u64::MAX { String::new() } else { format!(" and at most {most}B") };
            let valid = format!(
                "must be at least {least}B{upper}, as expect.length, expect.contains and capture ask for"
            );
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

/// The answers to the named requests of several workloads, by method.
#[derive(Clone, Debug, Default)]
pub struct Answers(BTreeMap<String, OfMethod>);

/// The answers to requests of one method.
#[derive(Clone, Debug)]
struct OfMethod {
    /// Of targets that are always the same.
    fixed: BTreeMap<String, Answer>,
    /// Regular expressions for targets with placeholders: that with the most bytes that are always the same comes first.
    patterns: Vec<String>,
    set: RegexSet,
    of_patterns: Vec<Answer>,
}

/// An answer, and the requests that have it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AnswerTo<'a> {
    /// Their method.
    pub method: &'a str,
    /// Their target, or a regular expression for a whole target.
    pub target: &'a str,
    /// Whether it is a regular expression, which does not count for a target that has an answer of its own.
    pub is_pattern: bool,
    /// The answer.
    pub answer: &'a Answer,
}

impl Answers {
    /// The answers to these requests. A file of another site is the answer to a GET, HEAD or POST for its path, since clients ask for
    /// files by these.
    pub(crate) fn new<'a>(
        requests: impl Iterator<Item = (usize, &'a NamedRequest)>,
        files: &FileSet,
    ) -> Result<Self, Contradiction> {
        let mut asked: BTreeMap<&str, Asked<'_>> = BTreeMap::new();
        for (site, request) in requests {
            asked.entry(&request.method).or_default().add(site, request);
        }
        let none = FileSet::default();
        let answers = asked.into_iter().map(|(method, asked)| {
            let asks_for_files = matches!(method, "GET" | "HEAD" | "POST");
            Ok((method.to_owned(), asked.answers(if asks_for_files { files } else { &none })?))
        });
        answers.collect::<Result<_, _>>().map(Self)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The answer to a request with this method and target. Of targets with placeholders that may be this one, it is the one with the most
    /// bytes that are always the same.
    #[must_use]
    pub fn find(&self, method: &str, target: &str) -> Option<&Answer> {
        let of_method = self.0.get(method)?;
        let of_pattern =
            || of_method.set.matches(target).iter().next().map(|place| &of_method.of_patterns[place]);
        of_method.fixed.get(target).or_else(of_pattern)
    }

    /// Every answer. Of regular expressions that describe one target, the first is the one that counts.
    pub fn iter(&self) -> impl Iterator<Item = AnswerTo<'_>> {
        self.0.iter().flat_map(|(method, OfMethod { fixed, patterns, of_patterns, .. })| {
            let fixed = fixed.iter();
            let fixed =
                fixed.map(move |(target, answer)| AnswerTo { method, target, is_pattern: false, answer });
            let made = patterns.iter().zip(of_patterns);
            fixed.chain(made.map(move |(target, answer)| AnswerTo {
                method,
                target,
                is_pattern: true,
                answer,
            }))
        })
    }
}

/// Named requests that have one target, each with the number of its site.
type Alike<'a> = Vec<(usize, &'a NamedRequest)>;

/// The named requests of one method.
#[derive(Debug, Default)]
struct Asked<'a> {
    /// By target, where that is always the same.
    fixed: BTreeMap<String, Alike<'a>>,
    /// By a regular expression for the target.
    made: BTreeMap<String, Alike<'a>>,
}

impl<'a> Asked<'a> {
    fn add(&mut self, site: usize, request: &'a NamedRequest) {
        let target = &request.target;
        let alike = match target.fixed() {
            Some(text) => self.fixed.entry(String::from_utf8_lossy(&text.concat()).into_owned()).or_default(),
            None => self.made.entry(target.pattern()).or_default(),
        };
        alike.push((site, request));
    }

    /// The answers, on a server that has these files. A target or file that a template may name has an answer that the requests of the template
    /// expect, too. What lines of files and captured values name is not known beforehand.
    fn answers(self, files: &FileSet) -> Result<OfMethod, Contradiction> {
        let mut forms: Vec<(String, Alike<'a>)> = self.made.into_iter().collect();
        let literal =
            |alike: &Alike<'_>| alike.iter().map(|(_, request)| request.target.literal_length()).max();
        forms.sort_by_key(|(_, alike)| Reverse(literal(alike)));
        let whole = forms.iter().map(|(pattern, _)| format!("^(?:{pattern})$"));
        let set = RegexSetBuilder::new(whole).size_limit(MOST_PATTERNS).build();
        let set = set.expect("the pattern of a template is a regular expression");
        let others = |target: &str| -> Alike<'a> {
            let matching = set.matches(target).into_iter().flat_map(|place| &forms[place].1);
            matching.copied().filter(|(_, request)| !request.target.has_unknown()).collect()
        };
        for file in files.files() {
            let others = others(&file.path);
            if !others.is_empty() {
                answer_to(&[], &others, Some(file))?;
            }
        }
        let fixed = self.fixed.into_iter().map(|(target, together)| {
            let file = files.find(&target).and_then(|id| files.get(id));
            let answer = answer_to(&together, &others(&target), file)?;
            Ok((target, answer))
        });
        let fixed = fixed.collect::<Result<_, _>>()?;
        let of_patterns =
            forms.iter().map(|(_, alike)| answer_to(alike, &[], None)).collect::<Result<_, _>>()?;
        Ok(OfMethod {
            fixed,
            patterns: forms.into_iter().map(|(pattern, _)| pattern).collect(),
            set,
            of_patterns,
        })
    }
}

/// The answer to these requests, which is this file if it is one, and which meets what `others` expect that may be for it.
fn answer_to(
    together: &[(usize, &NamedRequest)],
    others: &[(usize, &NamedRequest)],
    file: Option<&File>,
) -> Result<Answer, Contradiction> {
    let ok = vec![Status { least: 200, most: 200 }];
    let whole = Expectation { status: ok, contains: None, least: 0, most: u64::MAX };
    let file = file.map(|file| Wanted {
        expect: &whole,
        captures: &[],
        size: Some(file.size.get()),
        is_head: false,
        file: Some(&file.path),
    });
    let own = together.iter().map(|(_, request)| Wanted::from(*request));
    // The size that they give is that of their own answer.
    let of_others = others.iter().map(|(_, request)| Wanted { size: None, ..Wanted::from(*request) });
    let wanted: Vec<Wanted<'_>> = file.into_iter().chain(own).chain(of_others).collect();
    Answer::to(&wanted).map_err(|of_all| {
        // The first request for which those before it leave no answer.
        let files = usize::from(file.is_some());
        let lengths = files + 1..=wanted.len();
        let mut failures = lengths.filter_map(|length| Some((length, Answer::to(&wanted[..length]).err()?)));
        let (length, error) = failures.next().unwrap_or((wanted.len(), of_all));
        let place = length - files - 1;
        let (site, request) = together.get(place).copied().unwrap_or_else(|| others[place - together.len()]);
        Contradiction { site, error: error.within(&format!("requests.{}", request.name)) }
    })
}
