//! Named requests as they come in JSON.

use super::lines::{Library, RequestFiles};
use super::set::NamedRequest;
use crate::OptionError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use wasp_units::Bytes;

/// Most requests of a workload.
const MOST_REQUESTS: usize = 1_000;
/// Most bytes of the texts and files that these send.
const MOST_TEXTS: usize = 64 << 20;

/// Named requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestsOptions {
    /// The requests, of which each one that a client makes is one at random by weight.
    pub requests: Vec<RequestOptions>,
    /// The folder in which files are that the requests name by relative paths.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}

/// A request.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestOptions {
    /// Its name in results.
    pub name: String,
    /// The token of its method.
    #[serde(default = "get")]
    pub method: String,
    /// Its target: a template.
    pub path: String,
    /// How often it is made, in proportion to the others: from 0 to 1,000,000.
    #[serde(default = "one")]
    pub weight: f64,
    /// Header fields beside those of the group, which they replace: templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyOptions>,
    /// What its response must be.
    #[serde(default)]
    pub expect: ExpectOptions,
    /// Size of the answer of the modelled and of the built-in server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
}

fn get() -> String {
    "GET".to_owned()
}

fn one() -> f64 {
    1.0
}

/// The content of a request.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyOptions {
    /// This text: a template.
    Text(String),
    /// This text as it is.
    Plain(String),
    /// What is in a file.
    File(BodyFile),
    /// So many bytes that mean nothing.
    Size(Bytes),
}

/// A body that is in a file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BodyFile {
    /// Its path, which may be relative to the folder of the workload.
    pub name: String,
    /// Whether it is a template. Otherwise it is sent as it is.
    #[serde(default)]
    pub template: bool,
}

/// What a response must be. What is not given is not looked at.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectOptions {
    /// Status codes, or classes such as `2xx`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Vec<String>>,
    /// A text in its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// A condition on the length of its body, such as `>= 10` or `< 1MiB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<String>,
}

impl RequestsOptions {
    /// Checks the requests, and fills in what is not given. `contents` are those of files by their paths; without them no request can be made,
    /// but the options and the answers can be had.
    ///
    /// # Errors
    /// The first option that is impossible, by itself or beside the others.
    pub fn resolve(&self, contents: Option<&RequestFiles>) -> Result<Vec<NamedRequest>, OptionError> {
        if self.requests.is_empty() || self.requests.len() > MOST_REQUESTS {
            let valid = format!("must be from 1 to {MOST_REQUESTS} requests");
            return Err(OptionError::new("requests", self.requests.len(), valid));
        }
        let mut library = Library::new(&self.folder, contents);
        let (mut names, mut texts) = (BTreeSet::new(), 0);
        let mut resolved = Vec::with_capacity(self.requests.len());
        for request in &self.requests {
            let within = |error: OptionError| error.within(&format!("requests.{}", request.name));
            let checked = NamedRequest::new(request, &mut library).map_err(within)?;
            texts += checked.text_length();
            if texts > MOST_TEXTS {
                let valid = "the texts and files of all bodies together must have at most 64MiB; give the size of a body whose content does not matter";
                return Err(OptionError::new("requests", format!("at least {texts} bytes"), valid));
            }
            resolved.push(checked);
            if !names.insert(&request.name) {
                let valid = "two requests have this name; names must differ";
                return Err(within(OptionError::new("name", &request.name, valid)));
            }
        }
        if resolved.iter().all(|request| request.weight == 0.0) {
            return Err(OptionError::new("requests", "no weight", "at least one weight must be above 0"));
        }
        Ok(resolved)
    }
}
