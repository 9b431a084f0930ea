//! The packet scripts that Linux is said to fulfil (`kernel: yes`), and those that it is said not to (`kernel: differs`),
//! against the kernel's TCP: a test each, beside a TUN device in a network namespace of its own. Needs root; says so
//! loudly where it is not.
#![expect(clippy::disallowed_methods, reason = "tests of system calls")]

#[path = "../common/mod.rs"]
mod common;
mod kernel;

use kernel::KernelStack;
use libtest_mimic::{Arguments, Failed, Trial};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use wasp_testkit::script::{Failure, Kernel, Script, ScriptFile, files, run};

/// A script waits most of its time.
const AT_ONCE: usize = 8;
/// A busy machine may be late: how often a script is run.
const ATTEMPTS: usize = 10;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    let missing = common::missing_privilege();
    if let Some(missing) = missing {
        let _ = writeln!(std::io::stderr(), "SKIPPED every script for the kernel: {missing}");
    }
    let trials = files().into_iter().filter_map(|file| trial(file, missing.is_some()));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn trial(file: ScriptFile, ignored: bool) -> Option<Trial> {
    // Those that are no scripts fail where they run in virtual time.
    let script = Script::parse(&file.text).ok()?;
    if matches!(script.kernel, Kernel::No(_)) {
        return None;
    }
    let name = file.name;
    Some(Trial::test(name.clone(), move || check(&name, &script)).with_ignored_flag(ignored))
}

/// A script holds once for a kernel that is said to fulfil it. For one that is said to differ it never does, and what
/// does not is what the script names. Only lateness is tried again.
fn check(name: &str, script: &Script) -> Result<(), Failed> {
    let mut late = None;
    let mut as_said = false;
    for _ in 0..ATTEMPTS {
        match attempt(script)? {
            Ok(()) if script.kernel == Kernel::Yes => return Ok(()),
            Ok(()) => {
                return Err(format!("{name}: the kernel no longer differs: say \"kernel: yes\"").into());
            }
            Err(failure) if is_as_said(script, &failure) => as_said = true,
            Err(failure) if failure.may_be_lateness() => late = Some(failure),
            Err(failure) => return Err(format!("{name}:{failure}").into()),
        }
    }
    match late {
        Some(failure) if !as_said => Err(format!("{name}:{failure}").into()),
        _ => Ok(()),
    }
}

/// Whether the kernel departs where the script says that it does, and in nothing else.
fn is_as_said(script: &Script, failure: &Failure) -> bool {
    let Kernel::Differs(difference) = &script.kernel else { return false };
    script.steps[difference.statement - 1].line == failure.line()
        && failure.departures() == [difference.departure]
}

/// One run in a namespace of its own; an error outside says why there was none.
fn attempt(script: &Script) -> Result<Result<(), Failure>, String> {
    let (sender, outcome) = channel();
    let copy = script.clone();
    common::in_a_namespace(move || {
        let outcome = KernelStack::new(&copy).map(|mut stack| run(&copy, &mut stack));
        let _ = sender.send(outcome);
    });
    outcome.recv().map_err(|error| error.to_string())?
}
