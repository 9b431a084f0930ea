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
use wasp_testkit::script::{Kernel, Script, ScriptFile, files, run};

/// A script waits most of its time.
const AT_ONCE: usize = 8;
/// A busy machine may be late.
const ATTEMPTS: usize = 5;

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

fn check(name: &str, script: &Script) -> Result<(), Failed> {
    let mut outcomes = (0..ATTEMPTS).map(|_| attempt(name, script));
    if script.kernel == Kernel::Yes {
        let first = match outcomes.next() {
            Some(Err(failure)) => failure,
            _ => return Ok(()),
        };
        return if outcomes.any(|outcome| outcome.is_ok()) { Ok(()) } else { Err(first.into()) };
    }
    if outcomes.any(|outcome| outcome.is_ok()) {
        return Err(format!("{name}: the kernel no longer differs: say \"kernel: yes\"").into());
    }
    Ok(())
}

/// One run in a namespace of its own.
fn attempt(name: &str, script: &Script) -> Result<(), String> {
    let (sender, outcome) = channel();
    let copy = script.clone();
    common::in_a_namespace(move || {
        let outcome = KernelStack::new(&copy)
            .and_then(|mut stack| run(&copy, &mut stack).map_err(|failure| failure.to_string()));
        let _ = sender.send(outcome);
    });
    outcome.recv().map_err(|error| error.to_string())?.map_err(|failure| format!("{name}:{failure}"))
}
