//! Texts with placeholders: compiled once, written for each request from keyed draws.
//!
//! ```text
//! {client}  {request}  {uuid}  {int:1-100}              a value
//! {line:users.csv}  {line:users.csv:2}                  a line of a file that is drawn for the request, or a field of that line
//! {client:users.csv}  {client:users.csv:2}              the line of the client, or a field of that line
//! {token}                                               in a session, a value that was captured under this name
//! {{client}}                                            the text {client}
//! any other brace                                       itself, so that JSON can stand as it is
//! ```

use super::lines::Library;
use super::placeholder::{Found, file_and_field, next};
use crate::OptionError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wasp_random::Key;

/// Texts of up to so many bytes are copied where they become part of a longer one.
const COPIED: usize = 4_096;

/// Most bytes of a line in a path or a header field: more than servers take.
const MOST_LINE: usize = 8 << 10;

/// Lines of a file, or one field of each.
pub(super) type Lines = Arc<[Box<str>]>;

/// Where a text stands, which says what its values may hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Placing {
    /// In the target of a request, percent-encoded (RFC 3986, section 2.1).
    Target,
    /// In the value of a header field: a byte that cannot stand there becomes a question mark.
    Field,
    /// In the content: as it is.
    Content,
    /// In the content of a form (`application/x-www-form-urlencoded`), percent-encoded.
    Form,
}

/// Where a line of a file stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    /// A whole target, or the beginning of one, as a list of paths or URLs has it.
    Target,
    /// Text in the path of a target, which may have slashes.
    Path,
    /// Text in the query of a target, or in a form.
    Query,
    Field,
    Content,
}

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Literal(Arc<[u8]>),
    Client,
    Request,
    /// From the draw with this index, and the next.
    Uuid(u64),
    Int {
        least: u64,
        most: u64,
        draw: u64,
    },
    Line {
        lines: Lines,
        choice: Choice,
        part: Part,
    },
    /// The captured value with this place, whose placeholder has this name.
    Captured {
        place: usize,
        name: Box<str>,
        part: Part,
    },
    /// The line of the header field with the client's cookies.
    Cookies,
}

/// Which line of a file it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    /// That with the number of the client.
    Numbered,
    /// From the draw of the session or request with this index.
    Drawn(u64),
    /// From the draw of the client with this index: a step names the file that is made once, so the client is one user in all its sessions.
    DrawnOnce(u64),
}

/// What a request is written from.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    /// Index of the client in the run.
    pub client: u32,
    /// How many requests the client made before this one.
    pub request: u32,
    /// The draws of this request.
    pub key: Key,
    /// The draws for lines of files: those of the session, or of this request.
    pub lines: Key,
    /// The draws for lines of files that are the same in all sessions of the client.
    pub lines_of_client: Key,
    /// What the session has captured, by place. Of a value that it has not, the placeholder is written.
    pub captured: &'a [Option<Box<[u8]>>],
    /// The line of the header field with cookies; nothing without them.
    pub cookies: &'a [u8],
}

impl Values<'_> {
    /// The values of request number `request` of a client without cookies, in session number `session` if it is in one. `key` has the draws of the
    /// client, of which each request and each session has its own.
    #[must_use]
    pub fn new(client: u32, key: Key, request: u32, session: Option<u64>) -> Self {
        let own = key.entity(u64::from(request));
        let lines = session.map_or(own, |session| key.name("session").entity(session)).name("lines");
        let lines_of_client = key.name("lines");
        Self { client, request, key: own, lines, lines_of_client, captured: &[], cookies: &[] }
    }
}

/// The values that the steps of a session capture.
#[derive(Debug)]
pub(super) struct CaptureNames {
    /// The names of all of them.
    names: BTreeSet<String>,
    /// The places of those that were captured in the steps so far.
    places: BTreeMap<String, usize>,
}

impl CaptureNames {
    /// None so far, of those with these names.
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n String>) -> Self {
        Self { names: names.cloned().collect(), places: BTreeMap::new() }
    }

    /// A step captures the value of this name, which has the returned place.
    pub(super) fn add(&mut self, name: &str) -> usize {
        let next = self.places.len();
        *self.places.entry(name.to_owned()).or_insert(next)
    }

    /// How many there are so far.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Where templates are written.
pub trait Sink {
    /// Takes the next bytes.
    fn bytes(&mut self, bytes: &[u8]);

    /// Takes the next bytes, which are many, and which all requests have.
    fn shared(&mut self, bytes: &Arc<[u8]>) {
        self.bytes(bytes);
    }
}

impl Sink for Vec<u8> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Counts bytes.
struct Counter(u64);

impl Sink for Counter {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

/// Compiles the templates of one request. Each placeholder has draws of its own, but those that name one file have the same line.
#[derive(Debug)]
pub(super) struct Compiler<'l, 'a> {
    /// The files.
    pub(super) library: &'l mut Library<'a>,
    /// What the steps before this one have captured.
    captured: &'l CaptureNames,
    /// Whether the request is for the first session of a client only.
    is_once: bool,
    /// Draws so far.
    draws: u64,
}

impl<'l, 'a> Compiler<'l, 'a> {
    pub(super) fn new(library: &'l mut Library<'a>, captured: &'l CaptureNames, is_once: bool) -> Self {
        Self { library, captured, is_once, draws: 0 }
    }

    /// Compiles the text that is given at `field`.
    pub(super) fn compile(
        &mut self,
        field: &str,
        text: &str,
        placing: Placing,
    ) -> Result<Template, OptionError> {
        let mut template = Template::default();
        let mut literal = Vec::new();
        let (mut at, mut is_query) = (0, false);
        while let Some(Found { start, end, inner, is_escaped }) = next(text, at) {
            literal.extend_from_slice(&text.as_bytes()[at..start]);
            at = end;
            if is_escaped {
                literal.extend_from_slice(&text.as_bytes()[start + 1..end - 1]);
                continue;
            }
            // A line at the beginning may have a query.
            is_query |= literal.contains(&b'?') || template.begins_with_target() && literal.contains(&b'&');
            template.push_text(&std::mem::take(&mut literal));
            let part = match placing {
                Placing::Target if start == 0 => Part::Target,
                Placing::Target if is_query => Part::Query,
                Placing::Target => Part::Path,
                Placing::Field => Part::Field,
                Placing::Content => Part::Content,
                // A plus sign would stand for a blank, and an ampersand would end the value, as in a query.
                Placing::Form => Part::Query,
            };
            let piece = self.piece(inner, part);
            template
                .pieces
                .push(piece.map_err(|problem| OptionError::new(field, format!("{{{inner}}}"), problem))?);
        }
        literal.extend_from_slice(&text.as_bytes()[at..]);
        template.push_text(&literal);
        Ok(template)
    }

    /// The placeholder with this between its braces.
    fn piece(&mut self, inner: &str, part: Part) -> Result<Piece, String> {
        let (name, argument) = inner.split_once(':').map_or((inner, None), |(name, rest)| (name, Some(rest)));
        match (name, argument) {
            ("client", None) => Ok(Piece::Client),
            ("request", None) => Ok(Piece::Request),
            ("uuid", None) => Ok(Piece::Uuid(self.draw(2))),
            ("int", Some(range)) => {
                let (least, most) = bounds(range)
                    .ok_or("must have two whole numbers below 2^64, the lesser first, such as {int:1-100}")?;
                Ok(Piece::Int { least, most, draw: self.draw(1) })
            }
            ("line" | "client", Some(named)) if !named.is_empty() => {
                let (file, field) = file_and_field(named);
                let lines = self.library.lines(file, field)?;
                if part != Part::Content && lines.iter().any(|line| line.len() > MOST_LINE) {
                    return Err(format!(
                        "must have lines of at most {MOST_LINE} bytes in a path or header field"
                    ));
                }
                let choice = match name {
                    "client" => Choice::Numbered,
                    _ => match self.library.drawn(file, self.is_once) {
                        (draw, true) => Choice::DrawnOnce(draw),
                        (draw, false) => Choice::Drawn(draw),
                    },
                };
                Ok(Piece::Line { lines, choice, part })
            }
            (name, None) if self.captured.places.contains_key(name) => {
                Ok(Piece::Captured { place: self.captured.places[name], name: name.into(), part })
            }
            (name, None) if self.captured.names.contains(name) => {
                Err("is captured too late: must be a value that a step before this one captures".to_owned())
            }
            ("int", None) => Err("must have two numbers, such as {int:1-100}".to_owned()),
            ("line" | "client", _) => Err(format!("must name a file, such as {{{name}:users.csv}}")),
            _ => {
                let captured: String =
                    self.captured.places.keys().map(|name| format!("{{{name}}}, ")).collect();
                Err(format!(
                    "must be {captured}{{client}}, {{request}}, {{uuid}}, {{int:1-100}}, {{line:users.csv}} or {{client:users.csv}}, or \
                     {{{{{inner}}}}} for the text {{{inner}}}"
                ))
            }
        }
    }

    /// The index of the first of so many draws.
    fn draw(&mut self, count: u64) -> u64 {
        self.draws += count;
        self.draws - count
    }
}

impl Template {
    /// These bytes as they are.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut template = Self::default();
        template.push_text(bytes);
        template
    }

    /// Appends bytes as they are.
    pub fn push_text(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            _ if bytes.is_empty() => {}
            Some(Piece::Literal(last)) if last.len() <= COPIED => *last = [last, bytes].concat().into(),
            _ => self.pieces.push(Piece::Literal(bytes.into())),
        }
    }

    /// Appends a template, with which long texts stay shared.
    pub fn push(&mut self, other: &Self) {
        for piece in &other.pieces {
            match piece {
                Piece::Literal(bytes) if bytes.len() <= COPIED => self.push_text(bytes),
                piece => self.pieces.push(piece.clone()),
            }
        }
    }

    /// Appends the line of the header field with the client's cookies.
    pub fn push_cookies(&mut self) {
        self.pieces.push(Piece::Cookies);
    }

    /// The text in pieces, if it is always the same.
    #[must_use]
    pub fn fixed(&self) -> Option<Vec<Arc<[u8]>>> {
        let literal =
            |piece: &Piece| if let Piece::Literal(bytes) = piece { Some(Arc::clone(bytes)) } else { None };
        self.pieces.iter().map(literal).collect()
    }

    /// A text of its form, with a zero for each placeholder, and a path for a line at the beginning: it may stand where all its texts may.
    #[must_use]
    pub fn sample(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Literal(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Piece::Line { part: Part::Target, .. } | Piece::Captured { part: Part::Target, .. } => {
                "/0".to_owned()
            }
            Piece::Cookies => String::new(),
            _ => "0".to_owned(),
        };
        self.pieces.iter().map(text).collect()
    }

    /// Length of the text for these values.
    #[must_use]
    pub fn length(&self, values: &Values<'_>) -> u64 {
        let mut counter = Counter(0);
        self.write(values, &mut counter);
        counter.0
    }

    /// Writes the text for these values.
    pub fn write(&self, values: &Values<'_>, sink: &mut impl Sink) {
        for piece in &self.pieces {
            piece.write(values, sink);
        }
    }

    /// A regular expression for all texts that it may give.
    #[must_use]
    pub fn pattern(&self) -> String {
        self.pieces.iter().map(Piece::pattern).collect()
    }

    /// How many of its pieces are placeholders.
    pub(super) fn placeholders(&self) -> usize {
        self.pieces.iter().filter(|piece| !matches!(piece, Piece::Literal(_))).count()
    }

    /// Whether its texts may begin with a path or a URL that is no literal.
    fn begins_with_target(&self) -> bool {
        matches!(self.pieces.first(), Some(Piece::Line { .. } | Piece::Captured { .. }))
    }

    /// Whether its texts may be targets.
    pub(super) fn is_target(&self) -> bool {
        let slash = |piece: &Piece| matches!(piece, Piece::Literal(bytes) if bytes.starts_with(b"/"));
        self.begins_with_target() || self.pieces.first().is_some_and(slash)
    }

    /// Whether a file or a response says what its texts are, so that they are not known beforehand.
    #[must_use]
    pub fn has_unknown(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Line { .. } | Piece::Captured { .. }))
    }

    /// How many bytes are the same in all its texts.
    #[must_use]
    pub fn literal_length(&self) -> usize {
        let literal = |piece: &Piece| if let Piece::Literal(bytes) = piece { bytes.len() } else { 0 };
        self.pieces.iter().map(literal).sum()
    }
}

impl Piece {
    fn write(&self, values: &Values<'_>, sink: &mut impl Sink) {
        match self {
            Self::Literal(bytes) if bytes.len() > COPIED => sink.shared(bytes),
            Self::Literal(bytes) => sink.bytes(bytes),
            Self::Client => sink.bytes(itoa::Buffer::new().format(values.client).as_bytes()),
            Self::Request => sink.bytes(itoa::Buffer::new().format(values.request).as_bytes()),
            Self::Uuid(draw) => sink.bytes(&uuid(values.key, *draw)),
            Self::Int { least, most, draw } => {
                let value = between(values.key.draw(*draw), *least, *most);
                sink.bytes(itoa::Buffer::new().format(value).as_bytes());
            }
            Self::Line { lines, choice, part } => {
                // A file that was not read has none.
                let Some(last) = lines.len().checked_sub(1) else { return };
                let line = match choice {
                    Choice::Numbered => u64::from(values.client) % lines.len() as u64,
                    Choice::Drawn(draw) => between(values.lines.draw(*draw), 0, last as u64),
                    Choice::DrawnOnce(draw) => between(values.lines_of_client.draw(*draw), 0, last as u64),
                };
                part.write(lines[line as usize].as_bytes(), sink);
            }
            Self::Captured { place, name, part } => match values.captured.get(*place) {
                // A reference may leave out the scheme (RFC 3986, section 4.2).
                Some(Some(value)) if *part == Part::Target && value.starts_with(b"//") => {
                    part.write(&[b"http:", &value[..]].concat(), sink);
                }
                Some(Some(value)) => part.write(value, sink),
                _ => [b"{", name.as_bytes(), b"}"].into_iter().for_each(|bytes| sink.bytes(bytes)),
            },
            Self::Cookies => sink.bytes(values.cookies),
        }
    }

    fn pattern(&self) -> String {
        match self {
            Self::Literal(bytes) => regex::escape(&String::from_utf8_lossy(bytes)),
            Self::Client | Self::Request => "[0-9]+".to_owned(),
            Self::Uuid(_) => "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}".to_owned(),
            Self::Int { least, most, .. } => numbers(*least, *most),
            Self::Line { .. } | Self::Captured { .. } => "[!-~]*".to_owned(),
            Self::Cookies => String::new(),
        }
    }
}

/// Two whole numbers, the lesser first.
fn bounds(range: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten()
    };
    let (least, most) = range.split_once('-')?;
    Some((number(least)?, number(most)?)).filter(|(least, most)| least <= most)
}

/// A regular expression for the decimal numbers from one to another, both included.
fn numbers(least: u64, most: u64) -> String {
    let (mut from, most) = (u128::from(least), u128::from(most));
    let mut blocks = Vec::new();
    while from <= most {
        // A block has all numbers that differ in one digit, up to its greatest value here, and in all digits behind that.
        let (mut unit, mut behind) = (1, 0);
        while from > 0 && from % (unit * 10) == 0 && from + unit * 10 - 1 <= most {
            (unit, behind) = (unit * 10, behind + 1);
        }
        let digit = from / unit % 10;
        let last = (digit + (most - from + 1) / unit - 1).min(9);
        let before = if from / unit < 10 { String::new() } else { (from / unit / 10).to_string() };
        blocks.push(format!("{before}[{digit}-{last}][0-9]{{{behind}}}"));
        from += (last - digit + 1) * unit;
    }
    format!("(?:{})", blocks.join("|"))
}

/// A number from `least` to `most`, both included, in proportion to a draw (Lemire 2019, without its rejection: the bias is below the number
/// of values over 2^64).
fn between(draw: u64, least: u64, most: u64) -> u64 {
    let span = u128::from(most - least) + 1;
    least + ((u128::from(draw) * span) >> 64) as u64
}

/// Characters of a UUID.
const UUID_LENGTH: usize = 36;

/// A random UUID (RFC 9562, version 4) from the draws at `index` and after it.
fn uuid(key: Key, index: u64) -> [u8; UUID_LENGTH] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut bits = u128::from(key.draw(index)) << 64 | u128::from(key.draw(index + 1));
    bits = bits & !(0xf << 76) | 0x4 << 76;
    bits = bits & !(0x3 << 62) | 0x2 << 62;
    let mut text = [b'-'; UUID_LENGTH];
    let places = (0..UUID_LENGTH).filter(|place| !matches!(place, 8 | 13 | 18 | 23));
    for (digit, place) in (0..32).zip(places) {
        text[place] = DIGITS[(bits >> (124 - 4 * digit)) as usize & 15];
    }
    text
}

/// What need not be encoded in text (RFC 3986, section 2.3).
const TEXT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What need not be encoded in text in a path beside that (RFC 3986, section 3.3).
const PATH: &AsciiSet = &TEXT
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');
/// What need not be encoded in a target beside that.
const TARGET: &AsciiSet = &PATH.remove(b'?').remove(b'[').remove(b']');

impl Part {
    /// Writes a line as it may stand here.
    fn write(self, line: &[u8], sink: &mut impl Sink) {
        match self {
            Self::Content => sink.bytes(line),
            Self::Field => {
                let same = |one: &u8, other: &u8| is_in_fields(*one) == is_in_fields(*other);
                for stretch in line.chunk_by(same) {
                    if is_in_fields(stretch[0]) {
                        sink.bytes(stretch);
                    } else {
                        stretch.iter().for_each(|_| sink.bytes(b"?"));
                    }
                }
            }
            Self::Query => write_encoded(line, TEXT, sink),
            Self::Path => write_encoded(line, PATH, sink),
            Self::Target => {
                let target = target_of(line.trim_ascii());
                if !target.starts_with(b"/") {
                    sink.bytes(b"/");
                }
                // What is encoded already stays so.
                let mut rest = target;
                while let Some(sign) = rest.iter().position(|byte| *byte == b'%') {
                    write_encoded(&rest[..sign], TARGET, sink);
                    let is_code = rest
                        .get(sign + 1..sign + 3)
                        .is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit));
                    sink.bytes(if is_code { b"%" } else { b"%25" });
                    rest = &rest[sign + 1..];
                }
                write_encoded(rest, TARGET, sink);
            }
        }
    }
}

fn is_in_fields(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t')
}

fn write_encoded(bytes: &[u8], encoded: &'static AsciiSet, sink: &mut impl Sink) {
    percent_encode(bytes, encoded).for_each(|stretch| sink.bytes(stretch.as_bytes()));
}

/// The target in a URL, and in other texts: without a fragment.
fn target_of(value: &[u8]) -> &[u8] {
    let value = value.split(|byte| *byte == b'#').next().unwrap_or_default();
    let schemes = [&b"http://"[..], b"https://"].into_iter();
    let mut behind = schemes.filter_map(|scheme| {
        let (begin, rest) = value.split_at_checked(scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then_some(rest)
    });
    let Some(rest) = behind.next() else { return value };
    rest.iter().position(|byte| matches!(byte, b'/' | b'?')).map_or(&[], |start| &rest[start..])
}
