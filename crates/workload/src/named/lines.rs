//! Files that named requests use: whose lines are values, or that are bodies.

use super::template::Lines;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use csv_core::ReadRecordResult;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Contents of files by their paths. In JSON each is a text in base64 (RFC 4648, section 4).
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RequestFiles(BTreeMap<String, Content>);

#[derive(Clone, Debug, PartialEq)]
struct Content(Vec<u8>);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl FromIterator<(String, Vec<u8>)> for RequestFiles {
    fn from_iter<I: IntoIterator<Item = (String, Vec<u8>)>>(files: I) -> Self {
        Self(files.into_iter().map(|(path, content)| (path, Content(content))).collect())
    }
}

/// The files that the requests of one workload name.
#[derive(Debug)]
pub(super) struct Library<'a> {
    /// The folder to which their paths are relative.
    folder: &'a str,
    /// Contents by path; none, if nothing is to be sent.
    contents: Option<&'a RequestFiles>,
    /// The lines of files, or a field of each, that were looked up.
    lines: BTreeMap<(String, Option<usize>), Lines>,
    /// The paths of files whose lines are drawn, in the order in which they were looked up, and whether that is done once for a client.
    drawn: Vec<(String, bool)>,
}

impl<'a> Library<'a> {
    pub(super) fn new(folder: &'a str, contents: Option<&'a RequestFiles>) -> Self {
        Self { folder, contents, lines: BTreeMap::new(), drawn: Vec::new() }
    }

    /// The path of a file that is named.
    fn path(&self, name: &str) -> String {
        let is_whole = self.folder.is_empty() || name.starts_with('/');
        if is_whole { name.to_owned() } else { format!("{}/{name}", self.folder) }
    }

    /// The number of the draw for a line of a file, and whether it is drawn once for a client: in the steps that are made once, which come first, and
    /// where these have named the file.
    pub(super) fn drawn(&mut self, name: &str, is_once: bool) -> (u64, bool) {
        let path = self.path(name);
        let known = self.drawn.iter().position(|(drawn, _)| *drawn == path);
        let place = known.unwrap_or_else(|| {
            self.drawn.push((path, is_once));
            self.drawn.len() - 1
        });
        (place as u64, self.drawn[place].1)
    }

    /// The content of a file; nothing, if none is known.
    pub(super) fn content(&self, name: &str) -> Result<&'a [u8], String> {
        let Some(contents) = self.contents else { return Ok(&[]) };
        contents
            .0
            .get(&self.path(name))
            .map(|content| &content.0[..])
            .ok_or_else(|| format!("must name a file that was read, unlike {name}"))
    }

    /// The lines of a file, or the field with this number, from 1, of each.
    pub(super) fn lines(&mut self, file: &str, field: Option<usize>) -> Result<Lines, String> {
        let key = (file.to_owned(), field);
        if let Some(lines) = self.lines.get(&key) {
            return Ok(Lines::clone(lines));
        }
        let lines = self.read(file, field)?;
        self.lines.insert(key, Lines::clone(&lines));
        Ok(lines)
    }

    fn read(&self, file: &str, field: Option<usize>) -> Result<Lines, String> {
        if self.contents.is_none() {
            return Ok(Lines::default());
        }
        let text = std::str::from_utf8(self.content(file)?);
        let text =
            text.map_err(|_| format!("must be of a file that is text in UTF-8, which {file} is not"))?;
        // Some programs begin each text with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let values: Vec<Box<str>> = match field {
            None => lines.map(|(_, line)| line.into()).collect(),
            Some(field) => {
                lines.map(|(place, line)| value_in(file, place + 1, line, field)).collect::<Result<_, _>>()?
            }
        };
        if values.is_empty() {
            Err(format!("must be of a file with lines, which {file} has not"))
        } else {
            Ok(values.into())
        }
    }
}

/// The field with this number, from 1, of a line of comma-separated values (RFC 4180).
fn value_in(file: &str, number: usize, line: &str, field: usize) -> Result<Box<str>, String> {
    // An end of the line makes the record whole.
    let input = [line.as_bytes(), b"\n"].concat();
    let (mut values, mut ends) = (vec![0; input.len()], vec![0; input.len() + 1]);
    let (result, _, _, count) = csv_core::Reader::new().read_record(&input, &mut values, &mut ends);
    if result != ReadRecordResult::Record {
        return Err(format!(
            "must be of a file whose quotes end in their lines, unlike line {number} of {file}"
        ));
    }
    if field == 0 || field > count {
        return Err(format!(
            "must name a field from 1 to {count}: line {number} of {file} has so many, with commas between them"
        ));
    }
    let start = if field == 1 { 0 } else { ends[field - 2] };
    Ok(String::from_utf8_lossy(&values[start..ends[field - 1]]).into())
}
