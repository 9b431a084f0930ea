//! Why runs must not be trusted, and what would help.

use serde::Serialize;

/// Why a run, or all runs of a point, must not be trusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// A short name.
    pub code: &'static str,
    /// The group of clients that it is said of, if it is said of one of several.
    pub group: Option<String>,
    /// What was seen, and what it should have been.
    pub message: String,
    /// What would help.
    #[serde(flatten)]
    pub enough: Lengths,
}

/// Lengths with which something would not be said again, in seconds: both together where there are two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// Of the warm-up; none where that is not it, or no length of up to two hours does.
    #[serde(rename = "enough_warmup_s")]
    pub warmup: Option<f64>,
    /// Of the measured interval; likewise.
    #[serde(rename = "enough_s")]
    pub duration: Option<f64>,
}

impl Lengths {
    /// A warm-up of so many seconds.
    pub(super) fn warmup(seconds: Option<f64>) -> Self {
        Self { warmup: seconds, duration: None }
    }

    /// An interval of so many seconds.
    pub(super) fn duration(seconds: Option<f64>) -> Self {
        Self { warmup: None, duration: seconds }
    }
}

/// What is said of some clients, and what would help.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    message: String,
    enough: Lengths,
}

impl Said {
    /// What a longer run may show otherwise.
    pub(super) const fn with(message: String, enough: Lengths) -> Self {
        Self { message, enough }
    }

    /// What some length helps against.
    pub(super) fn too_short(message: String, enough: Lengths) -> Self {
        let none = enough == Lengths::default();
        let message = if none { format!("{message}; even 2 h are not enough") } else { message };
        Self { message, enough }
    }
}

impl From<String> for Said {
    /// What no length helps against.
    fn from(message: String) -> Self {
        Self { message, enough: Lengths::default() }
    }
}

impl Reason {
    /// A reason that is said of all clients.
    pub(super) fn of_all(code: &'static str, said: impl Into<Said>) -> Self {
        let Said { message, enough } = said.into();
        Self { code, group: None, message, enough }
    }

    /// A reason that is said of one group of several; the message begins with its name.
    pub(super) fn of_group(code: &'static str, group: &str, said: impl Into<Said>) -> Self {
        let Said { message, enough } = said.into();
        Self { code, group: Some(group.to_owned()), message: format!("group {group}: {message}"), enough }
    }
}

/// What is said of groups by their names; what is said of all together where there is one group only, or nothing is said of any.
pub(super) fn groups_or_all<'a, S: Into<Said>>(
    code: &'static str,
    groups: impl IntoIterator<Item = (&'a str, Option<S>)>,
    all: impl FnOnce() -> Option<S>,
) -> Vec<Reason> {
    let groups: Vec<_> = groups.into_iter().collect();
    let several = groups.len() > 1;
    let said = if several { each(code, groups) } else { Vec::new() };
    if said.is_empty() { all().map(|said| Reason::of_all(code, said)).into_iter().collect() } else { said }
}

/// What is said of groups, by name if there are several.
pub(super) fn of_each<'a, S: Into<Said>>(
    code: &'static str,
    groups: impl IntoIterator<Item = (&'a str, Option<S>)>,
) -> Vec<Reason> {
    let groups: Vec<_> = groups.into_iter().collect();
    if groups.len() > 1 {
        return each(code, groups);
    }
    groups.into_iter().filter_map(|(_, said)| Some(Reason::of_all(code, said?))).collect()
}

fn each<S: Into<Said>>(code: &'static str, groups: Vec<(&str, Option<S>)>) -> Vec<Reason> {
    groups.into_iter().filter_map(|(name, said)| Some(Reason::of_group(code, name, said?))).collect()
}
