//! The wall clock, and how its wait is ended early: by a frame on the device, or by a request to stop.

use crate::cpu::parse_schedstat;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasp_kernel::Clock;
use wasp_units::{Duration, Instant};

/// The slack in nanoseconds that the kernel may add to this thread's timers; its default is 50,000.
const TIMER_SLACK: NonZeroU64 = NonZeroU64::MIN;

/// How long frames and due events gather, least and most. To be woken for each costs server and emulator more CPU time than the rest of its
/// way through the device.
const GATHER: (Duration, Duration) = (Duration::from_micros(20), Duration::from_micros(60));
/// A pause lasts so many times as long as what was done before it took, on the wall: a thread with little to do wakes often and is punctual,
/// and one with much to do wakes seldom.
const REST: u64 = 4;
/// Waits up to this are not looked into: what came in one has waited so long at most.
const SHORT: Duration = Duration::from_micros(100);

/// The wall clock could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the clock cannot wait for the device: {0}")]
pub struct ClockError(#[from] io::Error);

/// Asks a run to stop, from any thread or signal handler. Clones ask the same run.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Stop>);

#[derive(Debug)]
struct Stop {
    requested: AtomicBool,
    wake: OwnedFd,
}

impl Stopper {
    /// A stopper that nobody has used.
    ///
    /// # Errors
    /// The process is out of descriptors.
    pub fn new() -> Result<Self, ClockError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(io::Error::from)?;
        Ok(Self(Arc::new(Stop { requested: AtomicBool::new(false), wake })))
    }

    /// Asks the run to stop and wakes its clock.
    pub fn stop(&self) {
        self.0.requested.store(true, Ordering::Release);
        // It can only fail when the counter is full, and then the clock is awake.
        let _ = rustix::io::write(&self.0.wake, &1_u64.to_ne_bytes());
    }

    /// Whether the run was asked to stop: one atomic load.
    #[must_use]
    pub fn stop_requested(&self) -> bool {
        self.0.requested.load(Ordering::Acquire)
    }
}

/// `CLOCK_MONOTONIC` since the start of the run.
///
/// Call order: make it, `restart` when the run begins, then as [`Clock`] says, all on the thread that waits. What gathers does so for 20 to 60 us.
/// Once a stop is requested every wait returns at once: look at [`Stopper::stop_requested`] after each.
#[derive(Debug)]
pub struct WallClock {
    epoch: u64,
    epoll: OwnedFd,
    stopper: Stopper,
    spin_below: Duration,
    prepared: bool,
    /// When the last wait began and ended.
    waited_since: Instant,
    resumed: Instant,
    /// How long this thread has waited for a CPU, as the kernel counts it.
    run_delay: RunDelay,
}

/// The time that the calling thread was ready to run and waited for its CPU.
#[derive(Debug, Default)]
struct RunDelay {
    /// `schedstat` of the thread; none where the kernel does not show it.
    file: Option<OwnedFd>,
    known: u64,
}

impl RunDelay {
    fn of_this_thread() -> Self {
        let path = "/proc/thread-self/schedstat";
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        let mut made = Self { file, known: 0 };
        made.growth();
        made
    }

    /// By how much it has grown since the last call; nothing where it cannot be read.
    fn growth(&mut self) -> Duration {
        let mut text = [0; 96];
        let read = self.file.as_ref().and_then(|file| rustix::io::pread(file, &mut text, 0).ok());
        let stat = read.and_then(|len| parse_schedstat(std::str::from_utf8(&text[..len]).ok()?));
        let Some(stat) = stat else { return Duration::ZERO };
        Duration::from_nanos(stat.waiting.saturating_sub(std::mem::replace(&mut self.known, stat.waiting)))
    }
}

impl WallClock {
    /// A clock that starts now and whose wait ends when `device` has something to read or `stopper` is used.
    ///
    /// Waits shorter than `spin_below`, and the last stretch of longer ones, are spent looking at clock and device without
    /// sleeping; zero never spins.
    ///
    /// # Errors
    /// The device cannot be waited for.
    pub fn new(device: impl AsFd, stopper: &Stopper, spin_below: Duration) -> Result<Self, ClockError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        for (fd, number) in [(device.as_fd(), 0), (stopper.0.wake.as_fd(), 1)] {
            epoll::add(&epoll, fd, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
                .map_err(io::Error::from)?;
        }
        Ok(Self {
            epoch: monotonic_nanos(),
            epoll,
            stopper: stopper.clone(),
            spin_below,
            prepared: false,
            waited_since: Instant::ZERO,
            resumed: Instant::ZERO,
            run_delay: RunDelay::default(),
        })
    }

    /// Lets waits end also when another device has something to read.
    pub fn wait_for_frames(&self, device: impl AsFd) -> Result<(), ClockError> {
        let number = epoll::EventData::new_u64(2);
        Ok(epoll::add(&self.epoll, device, number, epoll::EventFlags::IN).map_err(io::Error::from)?)
    }

    /// Makes `epoch`, in nanoseconds of `CLOCK_MONOTONIC`, zero.
    pub(crate) fn begin_at(&mut self, epoch: u64) {
        self.epoch = epoch;
        (self.waited_since, self.resumed) = (Instant::ZERO, Instant::ZERO);
    }

    /// Makes the present instant zero.
    pub fn restart(&mut self) {
        self.begin_at(monotonic_nanos());
    }

    /// Waits for input at most so long; true if there is some.
    fn wait_for_input(&self, timeout: Option<Duration>) -> bool {
        let timeout = timeout.map(timespec);
        let mut events =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 2];
        match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok(count) => count > 0,
            // A signal may mean anything: let the caller look around.
            Err(Errno::INTR) => true,
            Err(error) => unreachable!("epoll_pwait2 on two open descriptors failed: {error}"),
        }
    }

    /// Waits for input at most until `deadline`; if that has passed it looks for some all the same.
    fn wait_for_input_until(&mut self, deadline: Instant) {
        let left = deadline.saturating_since(self.now());
        if self.wait_for_input(Some(left.saturating_sub(self.spin_below))) {
            return;
        }
        while self.now() < deadline && !self.wait_for_input(Some(Duration::ZERO)) {
            std::hint::spin_loop();
        }
    }

    /// Lets the kernel end this thread's waits on time, and finds what it counts. Done on the thread that waits, since both are a thread's.
    fn prepare(&mut self) {
        if !self.prepared {
            self.prepared = true;
            // Refused only under a seccomp filter; lateness is measured and shows it.
            let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK));
            self.run_delay = RunDelay::of_this_thread();
        }
    }
}

impl Clock for WallClock {
    fn now(&mut self) -> Instant {
        Instant::from_nanos(monotonic_nanos() - self.epoch)
    }

    fn gather(&mut self, deadline: Instant) {
        self.prepare();
        let now = self.now();
        if self.spin_below.is_zero() && now < deadline && !self.stopper.stop_requested() {
            let (least, most) = GATHER;
            let pause = now.saturating_since(self.resumed).saturating_mul(REST).clamp(least, most);
            // Cut short only by a signal, and then there is no harm in looking.
            let _ = rustix::thread::nanosleep(&timespec(pause));
            self.resumed = self.now();
        }
    }

    fn wait_until(&mut self, deadline: Option<Instant>) {
        self.prepare();
        if self.stopper.stop_requested() {
            return;
        }
        self.waited_since = self.now();
        match deadline {
            Some(deadline) => self.wait_for_input_until(deadline),
            None => _ = self.wait_for_input(None),
        }
        self.resumed = self.now();
    }

    fn woken_late(&mut self) -> Duration {
        let waited = self.resumed.saturating_since(self.waited_since);
        // A short wait is a bound that costs nothing.
        if waited <= SHORT { waited } else { self.run_delay.growth().min(waited) }
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds: the machine's, not a run's.
pub(crate) fn monotonic_nanos() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// The CPU time of the calling thread in nanoseconds.
pub(crate) fn thread_cpu_nanos() -> u64 {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn timespec(duration: Duration) -> Timespec {
    let nanos = duration.as_nanos();
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test stops the clock from another thread")]
mod tests {
    use super::*;
    use rustix::pipe::pipe;

    fn clock(spin_below: Duration) -> (WallClock, OwnedFd, OwnedFd, Stopper) {
        let (reader, writer) = pipe().unwrap();
        let stopper = Stopper::new().unwrap();
        let clock = WallClock::new(&reader, &stopper, spin_below).unwrap();
        (clock, reader, writer, stopper)
    }

    /// Lateness of the best of several waits: what the clock can do, whatever else this machine is doing.
    fn best_lateness(clock: &mut WallClock, wait: Duration) -> Duration {
        let once = |clock: &mut WallClock| {
            let deadline = clock.now() + wait;
            while clock.now() < deadline {
                clock.wait_until(Some(deadline));
            }
            clock.now().saturating_since(deadline)
        };
        (0..200).map(|_| once(clock)).min().unwrap()
    }

    #[test]
    fn a_wait_ends_within_a_fraction_of_a_millisecond() {
        let (mut clock, _reader, _writer, _) = clock(Duration::ZERO);
        let late = best_lateness(&mut clock, Duration::from_micros(300));
        assert!(late < Duration::from_micros(40), "{late:?} late: slack or whole milliseconds");
    }

    #[test]
    fn frames_gather_for_a_moment_but_not_when_something_is_due() {
        let (mut clock, _reader, writer, _) = clock(Duration::ZERO);
        rustix::io::write(&writer, b"frame").unwrap();
        // Work before the first pause, and none before the second.
        std::thread::sleep(std::time::Duration::from_millis(1));
        for least in [GATHER.1, GATHER.0] {
            let before = clock.now();
            clock.gather(before + Duration::from_secs(60));
            let gathered = clock.now().saturating_since(before);
            assert!(gathered >= least && gathered < Duration::from_secs(30), "{gathered:?}");
        }
        let fastest = (0..200).map(|_| {
            let before = clock.now();
            clock.gather(before);
            clock.now().saturating_since(before)
        });
        assert!(fastest.min().unwrap() < GATHER.0);
    }

    #[test]
    fn a_spinning_wait_is_not_late() {
        let (mut clock, _reader, _writer, _) = clock(Duration::from_micros(100));
        let late = best_lateness(&mut clock, Duration::from_micros(300));
        assert!(late < Duration::from_micros(10), "{late:?} late");
    }

    #[test]
    fn a_wait_never_spins_past_a_deadline_that_has_passed() {
        let (mut clock, _reader, _writer, _) = clock(Duration::from_secs(1));
        let before = thread_cpu_nanos();
        for _ in 0..20 {
            clock.wait_until(Some(Instant::ZERO));
        }
        // Spinning costs CPU time, which nobody else can add to this thread's.
        let spun = Duration::from_nanos(thread_cpu_nanos() - before);
        assert!(spun < Duration::from_millis(100), "{spun:?}");
    }

    #[test]
    fn waiting_input_ends_a_wait() {
        for spin_below in [Duration::ZERO, Duration::from_secs(3_600)] {
            let (mut clock, _reader, writer, _) = clock(spin_below);
            rustix::io::write(&writer, b"frame").unwrap();
            clock.wait_until(Some(Instant::from_nanos(60_000_000_000)));
            clock.wait_until(None);
            assert!(clock.now() < Instant::from_nanos(30_000_000_000));
        }
    }

    #[test]
    fn a_stop_from_another_thread_ends_a_wait_and_every_later_one() {
        let (mut clock, _reader, _writer, stopper) = clock(Duration::ZERO);
        assert!(!stopper.stop_requested());
        let other = stopper.clone();
        let thread = std::thread::spawn(move || other.stop());
        clock.wait_until(None);
        thread.join().unwrap();
        assert!(stopper.stop_requested());
        clock.wait_until(None);
        clock.wait_until(Some(Instant::MAX));
    }

    #[test]
    fn what_came_in_a_wait_is_as_old_as_the_thread_waited_for_its_cpu_or_as_the_wait() {
        let (mut clock, _reader, _writer, _) = clock(Duration::ZERO);
        let file = rustix::fs::memfd_create("schedstat", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let show = |waiting: &str| {
            rustix::io::pwrite(&file, format!("1 {waiting} 2\n").as_bytes(), 0).unwrap();
        };
        clock.run_delay = RunDelay { file: Some(file.try_clone().unwrap()), known: 100_000 };
        let mut late = |waited: u64, waiting: &str| {
            clock.resumed = clock.waited_since + Duration::from_nanos(waited);
            show(waiting);
            clock.woken_late().as_nanos()
        };
        assert_eq!(late(2_000_000, "500000"), 400_000);
        assert_eq!(late(2_000_000, "500000"), 0);
        assert_eq!(late(300_000, "900000"), 300_000, "no longer than the wait");
        assert_eq!(late(90_000, "950000"), 90_000, "a short wait is not looked into");
        assert_eq!(late(2_000_000, "960000"), 60_000);
        assert_eq!(late(2_000_000, "nonsense"), 0);
        assert!(RunDelay::of_this_thread().file.is_some());
    }

    #[test]
    fn a_restart_makes_the_present_zero() {
        let (mut clock, _reader, _writer, _) = clock(Duration::ZERO);
        clock.wait_until(Some(Instant::from_nanos(20_000_000)));
        let before = clock.now();
        clock.restart();
        assert!(clock.now() < before);
    }
}
