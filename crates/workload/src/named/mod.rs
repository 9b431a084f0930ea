//! Named requests, as applications need them: any method, path, header fields and body, in part made anew for each request, and what is
//! expected of the responses.
//!
//! Users of other load generators have asked for several requests of a kind each (oha issue 586, fortio issue 425, wrk issue 189) and for checks of
//! what comes back (wrk issue 429).

mod answer;
mod capture;
mod expect;
mod lines;
mod options;
mod placeholder;
mod set;
mod template;

pub use answer::{Answer, AnswerTo, Answers, Contradiction};
pub use capture::{Capture, CaptureSource};
pub use expect::{Expectation, Status};
pub use lines::RequestFiles;
pub use options::{
    BodyFile, BodyOptions, CaptureOptions, ExpectOptions, RequestOptions, RequestOrder, RequestsOptions,
};
pub use placeholder::files_of;
pub use set::{Body, NamedRequest, NamedSet};
pub use template::{Sink, Template, Values};
