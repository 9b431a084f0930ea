//! Why runs must not be trusted, and what would help.

use serde::Serialize;

/// The short name of a reason; `docs/concepts.md` explains each.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(into = "&'static str")]
pub enum ReasonCode {
    /// The device, the engine or the server failed.
    Failed,
    /// The run was stopped before its end.
    Stopped,
    /// Too many transactions were not `ok`.
    Errors,
    /// Too few transactions were `ok`.
    TooFew,
    /// No transaction of a group is in any figure.
    Silent,
    /// Throughput had not settled.
    Warmup,
    /// Kept connections were opened in the interval.
    Opening,
    /// Congestion windows had not settled.
    Windows,
    /// The interval has too few cycles of clients in step.
    Cycles,
    /// The offered load was not achieved.
    Overload,
    /// The offered load is nearly all that can be taken.
    NearCapacity,
    /// The intervals were too short for the longest transactions.
    Censored,
    /// Injected loss was not what was asked for.
    Loss,
    /// Packets left too late.
    Lag,
    /// Frames may have waited too long before they were read.
    Unread,
    /// The emulator's thread had too little time left.
    EmulatorBusy,
    /// The packet device had no room.
    DeviceFull,
    /// Packets were lost outside the emulated network.
    DeviceDrops,
    /// The server's kernel turned connections away.
    ServerQueue,
    /// The emulator had no memory left for packets.
    Pool,
    /// Other programs took the CPUs.
    Others,
    /// The emulator's thread waited for its CPU.
    RunDelay,
    /// The hypervisor took the CPUs.
    Steal,
}

impl ReasonCode {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Failed,
        Self::Stopped,
        Self::Errors,
        Self::TooFew,
        Self::Silent,
        Self::Warmup,
        Self::Opening,
        Self::Windows,
        Self::Cycles,
        Self::Overload,
        Self::NearCapacity,
        Self::Censored,
        Self::Loss,
        Self::Lag,
        Self::Unread,
        Self::EmulatorBusy,
        Self::DeviceFull,
        Self::DeviceDrops,
        Self::ServerQueue,
        Self::Pool,
        Self::Others,
        Self::RunDelay,
        Self::Steal,
    ];

    /// As results have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Errors => "errors",
            Self::TooFew => "too_few",
            Self::Silent => "silent",
            Self::Warmup => "warmup",
            Self::Opening => "opening",
            Self::Windows => "windows",
            Self::Cycles => "cycles",
            Self::Overload => "overload",
            Self::NearCapacity => "near_capacity",
            Self::Censored => "censored",
            Self::Loss => "loss",
            Self::Lag => "lag",
            Self::Unread => "unread",
            Self::EmulatorBusy => "emulator_busy",
            Self::DeviceFull => "device_full",
            Self::DeviceDrops => "device_drops",
            Self::ServerQueue => "server_queue",
            Self::Pool => "pool",
            Self::Others => "others",
            Self::RunDelay => "run_delay",
            Self::Steal => "steal",
        }
    }
}

impl From<ReasonCode> for &'static str {
    fn from(code: ReasonCode) -> Self {
        code.name()
    }
}

/// Why a run, or all runs of a point, must not be trusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// Its short name.
    pub code: ReasonCode,
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
    pub(super) fn of_all(code: ReasonCode, said: impl Into<Said>) -> Self {
        let Said { message, enough } = said.into();
        Self { code, group: None, message, enough }
    }

    /// A reason that is said of one group of several; the message begins with its name.
    pub(super) fn of_group(code: ReasonCode, group: &str, said: impl Into<Said>) -> Self {
        let Said { message, enough } = said.into();
        Self { code, group: Some(group.to_owned()), message: format!("group {group}: {message}"), enough }
    }
}

/// What is said of groups by their names; what is said of all together where there is one group only, or nothing is said of any.
pub(super) fn groups_or_all<'a, S: Into<Said>>(
    code: ReasonCode,
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
    code: ReasonCode,
    groups: impl IntoIterator<Item = (&'a str, Option<S>)>,
) -> Vec<Reason> {
    let groups: Vec<_> = groups.into_iter().collect();
    if groups.len() > 1 {
        return each(code, groups);
    }
    groups.into_iter().filter_map(|(_, said)| Some(Reason::of_all(code, said?))).collect()
}

fn each<S: Into<Said>>(code: ReasonCode, groups: Vec<(&str, Option<S>)>) -> Vec<Reason> {
    groups.into_iter().filter_map(|(name, said)| Some(Reason::of_group(code, name, said?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_code_is_missing_and_each_has_a_name_of_its_own() {
        assert_eq!(ReasonCode::ALL.len(), ReasonCode::Steal as usize + 1);
        let names: BTreeSet<_> = ReasonCode::ALL.into_iter().map(ReasonCode::name).collect();
        assert_eq!(names.len(), ReasonCode::ALL.len());
    }
}
