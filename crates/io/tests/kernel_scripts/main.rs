//! The packet scripts that Linux is said to fulfil (`kernel: yes`), and those that it is said not to (`kernel: differs`),
//! against the kernel's TCP: a test each, beside a TUN device in a network namespace of its own. Needs root; says so
//! loudly where it is not.
#![expect(clippy::disallowed_methods, reason = "tests of system calls")]

#[path = "../common/mod.rs"]
mod common;
mod kernel;

use common::measuring::{Wrong, conclusive, watched};
use kernel::KernelStack;
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use wasp_tcp::TimerSlack;
use wasp_testkit::script::{Failure, Kernel, Script, ScriptFile, files, run};

/// A script waits most of its time.
const AT_ONCE: usize = 8;
/// How often a script is run that the kernel is said not to fulfil.
const TIMES: usize = 10;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    let missing = common::missing_privilege();
    let scripts: Vec<_> = files().into_iter().filter_map(for_the_kernel).collect();
    let of_another: Vec<_> = scripts.iter().filter(|(_, script)| is_of_another_tick(script)).collect();
    if let Some(missing) = &missing {
        common::tell(&format!("SKIPPED [{}] scripts for the kernel: {missing}", scripts.len()));
    } else if !of_another.is_empty() {
        let tick = kernel::tick();
        common::tell(&format!(
            "SKIPPED [{}] scripts for a kernel of other ticks than {tick}",
            of_another.len()
        ));
    }
    let trials = scripts.into_iter().map(|(name, script)| {
        let ignored = missing.is_some() || is_of_another_tick(&script);
        Trial::test(name.clone(), move || check(&name, &script)).with_ignored_flag(ignored)
    });
    let trials = trials.collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The name and the script, if it is one for the kernel.
fn for_the_kernel(file: ScriptFile) -> Option<(String, Script)> {
    // Those that are no scripts fail where they run in virtual time.
    let script = Script::parse(&file.text).ok()?;
    (!matches!(script.kernel, Kernel::No(_))).then_some((file.name, script))
}

/// Whether a script tells where timers end in ticks that are not this kernel's.
fn is_of_another_tick(script: &Script) -> bool {
    let config = script.options.resolve().expect("parsing has looked at it");
    script.options.timer_slack == Some(TimerSlack::Wheel) && config.timer_granularity != kernel::tick()
}

/// A script holds once for a kernel that is said to fulfil it. For one that is said to differ it never does, and what does not is what the script names. Where
/// that seems wrong beside other scripts, which may be late, this one is tried again alone.
fn check(name: &str, script: &Script) -> Result<(), Failed> {
    let times = if script.kernel == Kernel::Yes { 1 } else { TIMES };
    let mut before = None;
    for _ in 0..times {
        before = before.or(wrong(script, common::in_a_namespace)?.map(|wrong| wrong.what));
    }
    if before.is_none() {
        return Ok(());
    }
    let _alone = common::alone();
    let mut ended = None;
    let outcome = conclusive(name, before, || {
        wrong(script, common::isolated).unwrap_or_else(|error| {
            ended = Some(error);
            None
        })
    });
    match ended {
        Some(error) => Err(error),
        None => outcome.map_err(|why| format!("{name}:{why}").into()),
    }
}

/// What is wrong in one run that may be lateness.
///
/// # Errors
/// What cannot be: there was no run, or a kernel that is said to differ does not.
fn wrong(script: &Script, place: fn(Box<dyn FnOnce() + Send>)) -> Result<Option<Wrong>, Failed> {
    let (sender, outcome) = channel();
    let copy = script.clone();
    place(Box::new(move || {
        let mut held = Ok(false);
        let found = watched(|| {
            let outcome = KernelStack::new(&copy).map(|mut stack| run(&copy, &mut stack));
            match outcome {
                Ok(Ok(())) => held = Ok(true),
                Ok(Err(failure)) if is_as_said(&copy, &failure) => {}
                Ok(Err(failure)) => return Some(failure.to_string()),
                Err(error) => held = Err(error),
            }
            None
        });
        let _ = sender.send(held.map(|held| (held, found)));
    }));
    let (held, found) = outcome.recv().map_err(|error| error.to_string())??;
    if held && script.kernel != Kernel::Yes {
        return Err("the kernel no longer differs: say \"kernel: yes\"".into());
    }
    Ok(found)
}

/// Whether the kernel departs where the script says that it does, and in nothing else.
fn is_as_said(script: &Script, failure: &Failure) -> bool {
    let Kernel::Differs(difference) = &script.kernel else { return false };
    script.steps[difference.statement - 1].line == failure.line()
        && failure.departures() == [difference.departure]
}
