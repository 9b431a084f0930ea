//! Named requests as they come in JSON.

use super::set::NamedRequest;
use crate::OptionError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use wasp_units::Bytes;

/// Most requests of a workload.
const MOST_REQUESTS: usize = 1_000;
/// Most bytes of the texts that these send.
const MOST_TEXTS: usize = 16 << 20;

/// Named requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestsOptions {
    /// The requests, of which each one that a client makes is one at random by weight.
    pub requests: Vec<RequestOptions>,
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
    /// Its target, with the leading slash.
    pub path: String,
    /// How often it is made, in proportion to the others: from 0 to 1,000,000.
    #[serde(default = "one")]
    pub weight: f64,
    /// Header fields beside those of the group, which they replace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
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
pub enum Body {
    /// This text.
    Text(String),
    /// So many bytes that mean nothing.
    Size(Bytes),
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
    /// Checks the requests, and fills in what is not given.
    ///
    /// # Errors
    /// The first option that is impossible, by itself or beside the others.
    pub fn resolve(&self) -> Result<Vec<NamedRequest>, OptionError> {
        if self.requests.is_empty() || self.requests.len() > MOST_REQUESTS {
            let valid = format!("must be from 1 to {MOST_REQUESTS} requests");
            return Err(OptionError::new("requests", self.requests.len(), valid));
        }
        let mut names = BTreeSet::new();
        let mut resolved = Vec::with_capacity(self.requests.len());
        for request in &self.requests {
            let within = |error: OptionError| error.within(&format!("requests.{}", request.name));
            resolved.push(NamedRequest::new(request).map_err(within)?);
            if !names.insert(&request.name) {
                let valid = "two requests have this name; names must differ";
                return Err(within(OptionError::new("name", &request.name, valid)));
            }
        }
        let text =
            |request: &NamedRequest| if let Some(Body::Text(text)) = &request.body { text.len() } else { 0 };
        let texts: usize = resolved.iter().map(text).sum();
        if texts > MOST_TEXTS {
            let valid = "the texts of all bodies together must have at most 16MiB; give the size of a body whose content does not matter";
            return Err(OptionError::new("requests", format!("{texts} bytes"), valid));
        }
        if resolved.iter().all(|request| request.weight == 0.0) {
            return Err(OptionError::new("requests", "no weight", "at least one weight must be above 0"));
        }
        Ok(resolved)
    }
}
