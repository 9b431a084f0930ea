//! The built-in web server under test: one thread, HTTP/1.x over hyper. It shares no code with the client that measures
//! it, and its content is noise of any size that is asked for:
//!
//! | path | answer to GET and HEAD |
//! | --- | --- |
//! | `/<n>` | n bytes with `Content-Length` |
//! | `/chunked/<n>` | n bytes with the chunked transfer coding |
//! | `/close/<n>` | n bytes in HTTP/1.0, delimited by the connection's end |
//!
//! | a path of [`Config::files`] | as many bytes as it says, with `Content-Length` |
//!
//! [`Config::answers`] go before the table, but those to all targets of a form do not go before a file.
//!
//! `<n>` is a decimal number below 2^64. Other paths are 404. A POST is answered as a GET, after its body has come; other methods
//! are 405.

mod content;
mod serve;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use regex::{RegexSet, RegexSetBuilder};
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

pub use serve::serve;

/// Where to listen, and how.
#[derive(Debug, Clone)]
pub struct Config {
    /// The local address.
    pub address: IpAddr,
    /// The port; 0 lets the kernel choose.
    pub port: u16,
    /// Connections that may wait to be accepted. The kernel lowers it to `net.core.somaxconn`.
    pub backlog: u32,
    /// How long responses in progress may go on after the shutdown.
    pub grace: Duration,
    /// Sizes of the files of a site by their paths, as in requests but without a query. Their content is made up.
    pub files: BTreeMap<String, u64>,
    /// What is answered to requests beside that.
    pub answers: Answers,
}

/// What is answered to single targets, and to all targets of a form.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// By target, query included, then by method.
    fixed: BTreeMap<String, BTreeMap<String, Answer>>,
    /// By method.
    patterns: BTreeMap<String, Patterns>,
}

/// Answers to requests whose targets regular expressions describe.
#[derive(Clone, Debug, Default)]
struct Patterns {
    targets: RegexSet,
    answers: Vec<Answer>,
}

/// Bytes of memory for the regular expressions of one method.
const MOST_PATTERNS: usize = 1 << 30;

impl Answers {
    /// Each answer in `fixed` is for one method and target, query included; each in `patterns` is for one method and all targets that a regular
    /// expression describes as a whole. Of several that do, the first counts, and only where nothing in `fixed` is for the target, and it is the path
    /// of no file.
    ///
    /// # Errors
    /// One is no regular expression.
    pub fn new(
        fixed: impl IntoIterator<Item = (String, String, Answer)>,
        patterns: impl IntoIterator<Item = (String, String, Answer)>,
    ) -> Result<Self, regex::Error> {
        let mut made = Self::default();
        for (method, target, answer) in fixed {
            made.fixed.entry(target).or_default().insert(method, answer);
        }
        let mut by_method: BTreeMap<String, Vec<(String, Answer)>> = BTreeMap::new();
        for (method, pattern, answer) in patterns {
            by_method.entry(method).or_default().push((pattern, answer));
        }
        for (method, found) in by_method {
            let whole = found.iter().map(|(pattern, _)| format!("^(?:{pattern})$"));
            let targets = RegexSetBuilder::new(whole).size_limit(MOST_PATTERNS).build()?;
            let answers = found.into_iter().map(|(_, answer)| answer).collect();
            made.patterns.insert(method, Patterns { targets, answers });
        }
        Ok(made)
    }

    /// The answer to a request with just this target.
    pub(crate) fn of_target(&self, method: &str, target: &str) -> Option<&Answer> {
        self.fixed.get(target)?.get(method)
    }

    /// The answer to a request whose target a regular expression describes.
    pub(crate) fn of_pattern(&self, method: &str, target: &str) -> Option<&Answer> {
        let Patterns { targets, answers } = self.patterns.get(method)?;
        targets.matches(target).iter().next().map(|place| &answers[place])
    }
}

/// What one kind of request is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status, from 100 to 999.
    pub status: u16,
    /// Header fields, beside those that say where it ends. A name or value that cannot be sent is left out.
    pub headers: Vec<(String, String)>,
    /// What the body begins with. Noise follows.
    pub text: String,
    /// Bytes of the body; at least as many as the text has.
    pub size: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 8080,
            backlog: 65_535,
            grace: Duration::from_secs(1),
            files: BTreeMap::new(),
            answers: Answers::default(),
        }
    }
}

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on: it is taken, not local, or needs privileges.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel gave no event queue, or no signals.
    #[error("cannot set up the server: {0}")]
    Setup(#[source] io::Error),
}

/// Serves on the calling thread until SIGTERM or SIGINT arrives. `on_listening` gets the address once connections are
/// accepted. From this call on neither signal ends the process by itself, not even after it returns.
///
/// # Errors
/// As [`serve`]; and the runtime could not be made.
pub fn blocking_serve(config: Config, on_listening: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::Setup)?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Setup)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Setup)?;
        let stop = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        serve(config, on_listening, stop).await
    })
}
