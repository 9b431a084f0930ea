//! Named requests as they come in JSON.

use super::lines::RequestFiles;
use super::set::NamedSet;
use crate::{Delay, OptionError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wasp_units::Bytes;

/// Named requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestsOptions {
    /// Which request a client makes next.
    #[serde(default)]
    pub order: RequestOrder,
    /// Whether each client keeps the cookies that it is given, and sends them back.
    #[serde(default)]
    pub cookies: bool,
    /// The requests; those of a session in their order.
    pub requests: Vec<RequestOptions>,
    /// The folder in which files are that the requests name by relative paths.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}

/// Which request a client makes next.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestOrder {
    /// Any of them, at random by weight.
    #[default]
    Weights,
    /// One after the other, each when it has the response to the one before; then all of them again.
    Session,
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
    /// How often it is made, in proportion to the others: from 0 to 1,000,000, and 1 unless given. No step of a session has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
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
    /// Values that a session takes from its response, by the names of their placeholders.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, CaptureOptions>,
    /// The pause after it, in a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Delay>,
    /// Whether only the first session of a client has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
}

fn get() -> String {
    "GET".to_owned()
}

/// Where in a response a value is: `header`, or `after` and `before`.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureOptions {
    /// The name of a header field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The text before it in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The text behind it in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
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
    pub fn resolve(&self, contents: Option<&RequestFiles>) -> Result<NamedSet, OptionError> {
        NamedSet::new(self, contents)
    }
}
