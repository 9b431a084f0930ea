//! A network namespace for a test, and a device in it.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]
#![expect(unsafe_code, reason = "rustix marks unshare unsafe, since some flags are")]

pub mod measuring;

use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::convert::Infallible;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;
use wasp_io::{Tun, TunError};

/// The time after which a test counts as one that never ends. The longest, which measures, takes a fifth of it on a busy machine.
const HANGS: Duration = Duration::from_mins(10);

/// Who measures writes, and is alone; others read.
static MACHINE: RwLock<()> = RwLock::new(());

/// Runs a test on a thread in a fresh network namespace, where a root may make devices. Threads that it starts are in
/// there too.
pub fn in_a_namespace(test: impl FnOnce() + Send + 'static) {
    let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    isolated(test);
}

/// Waits until no test runs in a namespace, and keeps others from it as long as what is returned lasts.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// As [`in_a_namespace`], for one who is alone.
pub fn isolated(test: impl FnOnce() + Send + 'static) {
    if let Some(missing) = missing_privilege() {
        return skip(missing);
    }
    let (lasting, ended) = channel::<Infallible>();
    let thread = std::thread::spawn(|| {
        let _lasting = lasting;
        // SAFETY: only this thread's network namespace changes; no descriptor table or memory is unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("root may make a network namespace");
        test();
    });
    let Err(why) = ended.recv_timeout(HANGS);
    if why == RecvTimeoutError::Timeout {
        // Others would be measured beside it.
        tell(&format!("FAILED {}: it has not ended after {HANGS:?}", test_name()));
        std::process::abort();
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs a test that measures, alone in a namespace, until its outcome is clear.
pub fn measured_in_a_namespace(
    name: &'static str,
    mut attempt: impl FnMut() -> Option<String> + Send + 'static,
) {
    let _alone = alone();
    isolated(move || {
        if let Err(why) = measuring::conclusive(name, None, || measuring::watched(&mut attempt)) {
            panic!("{why}");
        }
    });
}

/// What a test in a namespace needs and does not have.
pub fn missing_privilege() -> Option<&'static str> {
    let root = rustix::process::geteuid().is_root();
    (!root || std::fs::metadata("/dev/net/tun").is_err()).then_some("needs root and /dev/net/tun")
}

/// Says that the present test is skipped.
fn skip(why: &str) {
    tell(&format!("SKIPPED {}: {why}", test_name()));
}

fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// Prints a line past the harness, which hides what passing tests print and writes its own lines in pieces.
pub fn tell(line: &str) {
    let _ = std::io::stderr().write_all(format!("\n{line}\n").as_bytes());
}

/// As [`in_a_namespace`], for a test that uses a program that may be missing.
pub fn in_a_namespace_with(program: &str, test: impl FnOnce() + Send + 'static) {
    if Command::new(program).arg("--version").stdout(Stdio::null()).status().is_err() {
        return skip(&format!("not installed: {program}"));
    }
    in_a_namespace(test);
}

/// `ip` runs in the namespace of the thread that starts it.
pub fn ip(arguments: &str) {
    run("ip", arguments);
}

/// Runs a program of the system in the namespace of the thread that starts it.
pub fn run(program: &str, arguments: &str) {
    let mut command = Command::new(program);
    let done = command.args(arguments.split(' ')).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let done = done.unwrap_or_else(|error| panic!("{program} is needed: {error}"));
    assert!(done.success(), "{program} {arguments}");
}

/// Makes the device, so many queues of it, also where an earlier one of the same name is just going: a program that another test is starting holds a copy of every
/// descriptor between its fork and its exec, and with it that device.
fn create_again_and_again(queues: usize) -> (Vec<Tun>, String) {
    for _ in 0..50 {
        match Tun::create_queues(Some("wasp0"), queues) {
            Err(TunError::Attach(error)) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(20));
            }
            made => return made.expect("a device"),
        }
    }
    panic!("the name wasp0 stays busy");
}

/// A device whose kernel side is 198.18.0.1 in 198.18.0.0/17.
pub fn device_that_is_up() -> Tun {
    queues_that_are_up(1).remove(0)
}

/// The queues of such a device.
pub fn queues_that_are_up(queues: usize) -> Vec<Tun> {
    let (tun, name) = create_again_and_again(queues);
    assert_eq!(name, "wasp0");
    // Router solicitations would be frames that no test asked for.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/wasp0/disable_ipv6", "1");
    ip("addr add 198.18.0.1/17 dev wasp0");
    ip("link set wasp0 up");
    tun
}
