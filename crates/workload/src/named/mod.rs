//! Named requests, as applications need them: any method, path, header fields and body, and what is expected of the responses.
//!
//! Users of other load generators have asked for several requests of a kind each (oha issue 586, fortio issue 425, wrk issue 189) and for checks of
//! what comes back (wrk issue 429).

mod answer;
mod expect;
mod options;
mod set;

pub use answer::{Answer, Answers, Contradiction};
pub use expect::{Expectation, Status};
pub use options::{Body, ExpectOptions, RequestOptions, RequestsOptions};
pub use set::{NamedRequest, NamedSet};
