//! Tests that measure have three outcomes, by the rule of `tests/measuring.py`: only evidence from outside excuses an attempt in which something is wrong.

use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};
use std::fs::OpenOptions;
use std::io::Write as _;
use wasp_engine::{MachineReport, Mark, Meters};
use wasp_io::cpu::read_cpus;
use wasp_io::{MachineMeters, MeterTargets};
use wasp_units::Instant;

/// How often a test makes another attempt in place of one that says nothing.
const REPEATS: usize = 3;
/// Part of the CPUs' time that the hypervisor may take, that other programs may, and of the attempt's in which its thread may wait for them: as in the
/// validity of a run.
const STEAL: f64 = 0.02;
const OTHERS: f64 = 0.03;
const RUN_DELAY: f64 = 0.01;
/// Seconds of waiting that say nothing, and of an attempt of which the kernel's ticks of 10 ms can tell what others took.
const RUN_DELAY_S: f64 = 0.01;
const LEAST: f64 = 1.0;
/// Names the file to which a test adds a line if it is inconclusive or unstable; `./run test` sets it.
const NOTES: &str = "WASP_INCONCLUSIVE";

/// What became of a test, with what was wrong in its attempts.
#[derive(Debug, Eq, PartialEq)]
enum Verdict {
    Passed,
    /// It passed in two attempts of three.
    Unstable(String),
    /// Two attempts that nothing disturbed had something wrong.
    Failed(String),
    /// The machine had no time for it.
    Inconclusive(String),
}

/// What is wrong in an attempt, and what others took meanwhile that excuses it.
#[derive(Clone, Debug)]
pub struct Wrong {
    pub what: String,
    excuse: Option<String>,
}

/// Makes an attempt, which returns what is wrong, on the thread that measures.
pub fn watched(attempt: impl FnOnce() -> Option<String>) -> Option<Wrong> {
    let watch = Watch::new();
    attempt().map(|what| Wrong { what, excuse: watch.excuse() })
}

/// Makes attempts of the test `name`, beside which no other test runs in a namespace, until it is clear whether something is wrong. An attempt without
/// anything wrong is enough; two are needed where something was wrong `before`, beside other tests. From an attempt with something wrong that others
/// disturbed nothing follows, and another is made in its place, three times at most; then the test is inconclusive, which is noted for `./run`. Two that
/// nothing disturbed fail. After one such and one good attempt a third decides.
///
/// # Errors
/// It failed; or it is inconclusive, and nobody asked for notes.
pub fn conclusive(
    name: &str,
    before: Option<String>,
    attempt: impl FnMut() -> Option<Wrong>,
) -> Result<(), String> {
    match decide(before, attempt) {
        Verdict::Passed => Ok(()),
        Verdict::Unstable(why) => {
            note("UNSTABLE", name, &why);
            Ok(())
        }
        Verdict::Failed(why) => Err(why),
        Verdict::Inconclusive(why) if note("INCONCLUSIVE", name, &why) => Ok(()),
        Verdict::Inconclusive(why) => Err(format!("inconclusive: {why}")),
    }
}

fn decide(before: Option<String>, mut attempt: impl FnMut() -> Option<Wrong>) -> Verdict {
    let (mut failed, mut said_nothing, mut good) = (Vec::new(), Vec::new(), 0);
    let mut disturbed = String::new();
    while said_nothing.len() <= REPEATS {
        match attempt() {
            None if before.is_none() && failed.is_empty() => return Verdict::Passed,
            None if good == 1 => {
                let told: Vec<_> = before.into_iter().chain(failed).collect();
                return Verdict::Unstable(told.join("; "));
            }
            None => good += 1,
            Some(Wrong { what, excuse: Some(excuse) }) => {
                said_nothing.push(what);
                disturbed = excuse;
            }
            Some(Wrong { what, excuse: None }) => {
                failed.push(what);
                if failed.len() == 2 {
                    let why = failed.join("; ");
                    return Verdict::Failed(format!("in two attempts that nothing disturbed: {why}"));
                }
            }
        }
    }
    failed.append(&mut said_nothing);
    Verdict::Inconclusive(format!("{}: {disturbed}", failed.join("; ")))
}

/// Adds a line to the notes; false where nobody asked for them, and it is only said.
fn note(outcome: &str, name: &str, why: &str) -> bool {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{outcome} {name} - {why}\n");
    let Some(path) = std::env::var_os(NOTES) else {
        // Past the harness, which hides what passing tests print.
        let _ = std::io::stderr().write_all(line.as_bytes());
        return false;
    };
    let mut notes = OpenOptions::new().create(true).append(true).open(path).expect("a file for notes");
    notes.write_all(line.as_bytes()).expect("room for notes");
    true
}

/// What others take of the CPUs, and of the time of the thread that makes it, from its making on.
struct Watch {
    meters: MachineMeters,
    began: Instant,
}

impl Watch {
    fn new() -> Self {
        let cpus: Vec<u32> = read_cpus().into_keys().collect();
        let emulator_threads = vec![gettid().as_raw_nonzero().get().unsigned_abs()];
        let mut meters = MachineMeters::new(MeterTargets {
            server_cpus: cpus.clone(),
            emulator_cpus: cpus,
            emulator_threads,
            ..MeterTargets::default()
        });
        meters.mark(Mark::MeasureStart, Instant::ZERO);
        Self { meters, began: now() }
    }

    /// How much they took, if it was more than a measurement bears.
    fn excuse(mut self) -> Option<String> {
        let passed = (now() - self.began).as_secs_f64();
        self.meters.mark(Mark::MeasureEnd, Instant::ZERO);
        excuse(&self.meters.report(), passed)
    }
}

fn now() -> Instant {
    let time = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

fn excuse(report: &MachineReport, seconds: f64) -> Option<String> {
    let ticks_tell = seconds >= LEAST;
    let of_cpus = |share: Option<f64>| share.filter(|_| ticks_tell);
    let delay = report.run_delay_by_others.filter(|share| share * seconds > RUN_DELAY_S);
    let shares = [
        (of_cpus(report.steal), STEAL, "the hypervisor took", "of the CPUs"),
        (of_cpus(report.others_emulator), OTHERS, "other programs took", "of the CPUs"),
        (delay, RUN_DELAY, "other programs kept the test waiting for", "of the time"),
    ];
    let too_much = shares.into_iter().filter_map(|(share, most, who, what)| {
        share.filter(|share| *share > most).map(|share| format!("{who} {:.1}% {what}", share * 100.0))
    });
    let told = too_much.collect::<Vec<_>>().join(" and ");
    (!told.is_empty()).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRONG: Option<(&str, Option<&str>)> = Some(("3 ms", None));
    const EXCUSED: Option<(&str, Option<&str>)> = Some(("3 ms", Some("others")));

    /// What follows from these attempts, all of which must be made.
    fn after(before: Option<&str>, attempts: &[Option<(&str, Option<&str>)>]) -> Verdict {
        let mut coming = attempts.iter();
        let verdict = decide(before.map(str::to_owned), || {
            let (what, excuse) = (*coming.next().expect("another attempt"))?;
            Some(Wrong { what: what.to_owned(), excuse: excuse.map(str::to_owned) })
        });
        assert_eq!(coming.len(), 0);
        verdict
    }

    #[test]
    fn one_good_attempt_is_enough() {
        assert_eq!(after(None, &[None]), Verdict::Passed);
        assert_eq!(after(None, &[EXCUSED, EXCUSED, EXCUSED, None]), Verdict::Passed);
    }

    #[test]
    fn two_attempts_that_nothing_disturbed_fail() {
        let failed = Verdict::Failed("in two attempts that nothing disturbed: 3 ms; 3 ms".to_owned());
        assert_eq!(after(None, &[WRONG, WRONG]), failed);
        assert_eq!(after(None, &[EXCUSED, WRONG, EXCUSED, WRONG]), failed);
        assert_eq!(after(None, &[WRONG, None, WRONG]), failed);
    }

    #[test]
    fn after_a_bad_and_a_good_attempt_a_third_decides() {
        assert_eq!(after(None, &[WRONG, None, None]), Verdict::Unstable("3 ms".to_owned()));
    }

    #[test]
    fn after_something_wrong_beside_other_tests_two_good_attempts_are_needed() {
        assert_eq!(after(Some("2 ms"), &[None, None]), Verdict::Unstable("2 ms".to_owned()));
        assert_eq!(after(Some("2 ms"), &[None, WRONG, None]), Verdict::Unstable("2 ms; 3 ms".to_owned()));
        assert!(matches!(after(Some("2 ms"), &[None, WRONG, WRONG]), Verdict::Failed(_)));
    }

    #[test]
    fn a_machine_without_time_makes_a_test_inconclusive() {
        let wrong = |times| format!("{}: others", vec!["3 ms"; times].join("; "));
        assert_eq!(after(None, &[EXCUSED; 4]), Verdict::Inconclusive(wrong(4)));
        let all = [WRONG, None, EXCUSED, EXCUSED, EXCUSED, EXCUSED];
        assert_eq!(after(None, &all), Verdict::Inconclusive(wrong(5)));
    }

    #[test]
    fn what_others_took_is_an_excuse_where_it_is_too_much() {
        let report = |steal, others, delay| MachineReport {
            steal: Some(steal),
            others_emulator: Some(others),
            run_delay_by_others: Some(delay),
            ..MachineReport::default()
        };
        assert_eq!(excuse(&MachineReport::default(), 10.0), None);
        assert_eq!(excuse(&report(0.02, 0.03, 0.01), 10.0), None);
        let told = excuse(&report(0.0, 0.04, 0.0), 10.0).expect("an excuse");
        assert_eq!(told, "other programs took 4.0% of the CPUs");
        let told = excuse(&report(0.021, 0.0, 0.011), 10.0).expect("an excuse");
        let both = "the hypervisor took 2.1% of the CPUs and other programs kept the test waiting for 1.1% of the time";
        assert_eq!(told, both);
        // A tick or two say nothing of a short attempt.
        assert_eq!(excuse(&report(0.1, 0.1, 0.04), 0.2), None);
        assert!(excuse(&report(0.1, 0.1, 0.06), 0.2).is_some());
    }
}
