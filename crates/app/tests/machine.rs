//! The CPU alone against queueing theory: M/M/1, M/G/1 (Pollaczek and Khinchine) and two classes (Cobham 1954).

use proptest::prelude::*;
use wasp_app::{Class, Costs, Cpu, Machine};
use wasp_random::{Key, Purpose, Stream};
use wasp_units::{Duration, Instant};

const JOBS: usize = 400_000;
const REPLICATIONS: u64 = 10;
/// Student's t at 99 %, nine degrees of freedom, two-sided.
const T: f64 = 3.25;

/// A source of jobs: the mean time between two, seconds, and how long each takes.
struct Source {
    class: Class,
    between: f64,
    service: fn(&mut Stream) -> f64,
}

struct Job {
    source: usize,
    came: Instant,
    cost: Duration,
}

/// Mean waiting time of the jobs of each source, seconds, and the machine's busy part.
fn waits(sources: &[Source], seed: u64) -> (Vec<f64>, f64) {
    let key = |number: usize, purpose| Key::root(seed, 0).purpose(purpose).entity(number as u64).stream();
    let mut streams: Vec<_> = (0..sources.len())
        .map(|number| (key(number, Purpose::Arrival), key(number, Purpose::Start)))
        .collect();
    let mut next: Vec<f64> =
        sources.iter().zip(&mut streams).map(|(s, (a, _))| a.exponential(s.between)).collect();
    let mut machine = Machine::new(1);
    let mut sums = vec![(0.0, 0_u64); sources.len()];
    let mut now = Instant::ZERO;
    for _ in 0..JOBS {
        let source = (0..next.len()).min_by(|a, b| next[*a].total_cmp(&next[*b])).unwrap();
        let came = Instant::from_nanos((next[source] * 1e9) as u64);
        next[source] += streams[source].0.exponential(sources[source].between);
        run(&mut machine, &mut sums, Some(came));
        now = came;
        let cost = Duration::from_nanos(((sources[source].service)(&mut streams[source].1) * 1e9) as u64);
        machine.submit(sources[source].class, Job { source, came, cost });
        start(&mut machine, &mut sums, now);
    }
    let busy = machine.used(now).as_nanos() as f64 / now.as_nanos() as f64;
    run(&mut machine, &mut sums, None);
    (sums.iter().map(|(sum, count)| sum / *count as f64).collect(), busy)
}

/// Lets the machine work up to this moment, or until nothing is left.
fn run(machine: &mut Machine<Job>, sums: &mut [(f64, u64)], until: Option<Instant>) {
    while let Some(at) = machine.poll_timeout().filter(|at| until.is_none_or(|until| *at <= until)) {
        while machine.poll_done(at).is_some() {}
        start(machine, sums, at);
    }
}

fn start(machine: &mut Machine<Job>, sums: &mut [(f64, u64)], now: Instant) {
    while let Some((core, job)) = machine.poll_start() {
        sums[job.source].0 += (now - job.came).as_nanos() as f64 / 1e9;
        sums[job.source].1 += 1;
        machine.begin(core, job.cost, job, now);
    }
}

/// The theory lies within the interval over replications, whose half is 2 % at most.
fn held(sources: &[Source], theory: &[f64], busy: f64) {
    let runs: Vec<_> = (0..REPLICATIONS).map(|seed| waits(sources, seed)).collect();
    for (source, expected) in theory.iter().enumerate() {
        let values: Vec<f64> = runs.iter().map(|(waits, _)| waits[source]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let half = T * (square / (values.len() - 1) as f64 / values.len() as f64).sqrt();
        assert!(half <= 0.02 * mean, "source {source}: {mean} +- {half}");
        assert!((mean - expected).abs() <= half, "source {source}: {mean} +- {half}, theory {expected}");
    }
    let measured = runs.iter().map(|(_, busy)| busy).sum::<f64>() / runs.len() as f64;
    assert!((measured / busy - 1.0).abs() < 0.01, "busy {measured}, theory {busy}");
}

#[test]
fn exponential_jobs_wait_as_in_a_queue_of_one_server() {
    let source =
        Source { class: Class::Application, between: 1.0 / 600.0, service: |s| s.exponential(0.001) };
    // W = rho / (mu - lambda).
    held(&[source], &[0.6 / (1000.0 - 600.0)], 0.6);
}

#[test]
fn jobs_of_two_lengths_wait_as_pollaczek_and_khinchine_say() {
    let service = |s: &mut Stream| if s.unit() < 0.9 { 0.0005 } else { 0.0055 };
    let source = Source { class: Class::Network(7), between: 1.0 / 600.0, service };
    let second = 0.9 * 0.0005_f64.powi(2) + 0.1 * 0.0055_f64.powi(2);
    // W = lambda E[S^2] / 2 (1 - rho), rho = 600 x 1 ms.
    held(&[source], &[600.0 * second / (2.0 * 0.4)], 0.6);
}

#[test]
fn the_network_goes_first_as_cobham_says() {
    let network =
        Source { class: Class::Network(0), between: 1.0 / 3000.0, service: |s| s.exponential(0.0001) };
    let application =
        Source { class: Class::Application, between: 1.0 / 400.0, service: |s| s.exponential(0.001) };
    let residual = (3000.0 * 2.0 * 0.0001_f64.powi(2) + 400.0 * 2.0 * 0.001_f64.powi(2)) / 2.0;
    let (first, rho) = (0.3, 0.7);
    let theory = [residual / (1.0 - first), residual / ((1.0 - first) * (1.0 - rho))];
    held(&[network, application], &theory, rho);
}

#[test]
fn flows_keep_to_their_cores_and_applications_take_any() {
    let mut machine = Machine::new(2);
    let now = Instant::ZERO;
    for (class, job) in [(Class::Network(0), 'a'), (Class::Network(2), 'b'), (Class::Application, 'c')] {
        machine.submit(class, job);
    }
    let cost = Duration::from_micros(10);
    let mut begun = Vec::new();
    while let Some((core, job)) = machine.poll_start() {
        begun.push((core, job));
        machine.begin(core, cost, job, now);
    }
    assert_eq!(begun, [(0, 'a'), (1, 'c')], "the second packet of the core waits");
    let later = now + cost;
    assert_eq!(machine.poll_timeout(), Some(later));
    assert_eq!(machine.used(now + cost / 2), cost);
    assert_eq!(machine.poll_done(later), Some((0, 'a')));
    assert_eq!(machine.poll_start(), Some((0, 'b')));
}

/// The time for which the cores of a machine were busy, counted from outside: how many of them have a job, from one event to the next.
#[derive(Default)]
struct Watched {
    running: u64,
    since: Instant,
    busy: Duration,
}

impl Watched {
    fn advance(&mut self, to: Instant) {
        self.busy += (to - self.since) * self.running;
        self.since = to;
    }
}

/// Jobs in the order of their arrival: the time since the one before, whose they are, and what they cost, in nanoseconds.
fn jobs() -> impl Strategy<Value = Vec<(u64, Option<u64>, u64)>> {
    prop::collection::vec((0..2_000_u64, prop::option::of(0..9_u64), 0..3_000_u64), 0..200)
}

proptest! {
    #[test]
    fn cores_are_busy_for_what_jobs_cost_to_the_nanosecond(cores in 1..6_usize, jobs in jobs()) {
        let mut machine = Machine::new(cores);
        let mut watched = Watched::default();
        let (mut now, mut begun, mut done) = (Instant::ZERO, Duration::ZERO, 0);
        let last = (u64::MAX, None, 0);
        for (gap, flow, cost) in jobs.iter().copied().chain([last]) {
            let arrival = now.saturating_add(Duration::from_nanos(gap));
            // Whatever ends before the next job arrives.
            while let Some(at) = machine.poll_timeout().filter(|at| *at <= arrival) {
                watched.advance(at);
                prop_assert_eq!(machine.used(at), watched.busy);
                while machine.poll_done(at).is_some() {
                    watched.running -= 1;
                    done += 1;
                }
                begin(&mut machine, &mut watched, &mut begun, at);
            }
            if gap == u64::MAX {
                break;
            }
            now = arrival;
            watched.advance(now);
            prop_assert_eq!(machine.used(now), watched.busy);
            let class = flow.map_or(Class::Application, Class::Network);
            machine.submit(class, Duration::from_nanos(cost));
            begin(&mut machine, &mut watched, &mut begun, now);
            // No core is idle while the application waits.
            prop_assert!(machine.waiting() == 0 || watched.running == cores as u64);
        }
        let all: Duration = jobs.iter().map(|(_, _, cost)| Duration::from_nanos(*cost)).sum();
        prop_assert_eq!((done, watched.running), (jobs.len(), 0));
        prop_assert_eq!((begun, watched.busy, machine.used(watched.since)), (all, all, all));
    }

    #[test]
    fn a_flat_cpu_is_busy_for_what_work_costs_to_the_nanosecond(cores in 1..6_usize, jobs in jobs()) {
        let none = Costs { per_connection: Duration::ZERO, per_request: Duration::ZERO, per_kib: Duration::ZERO, per_packet: Duration::ZERO };
        let mut cpu = Cpu::new(cores, none);
        let mut now = Instant::ZERO;
        let mut worked: Vec<(Instant, Instant)> = Vec::new();
        for (gap, _, cost) in jobs {
            now += Duration::from_nanos(gap);
            let busy: Duration = worked.iter().map(|(from, to)| (*to).min(now).saturating_since(*from)).sum();
            prop_assert_eq!(cpu.used(now), busy);
            let cost = Duration::from_nanos(cost);
            let end = cpu.work(now, cost);
            prop_assert!(end - cost >= now, "work does not begin before it arrives");
            worked.push((end - cost, end));
        }
        // At any moment as many are worked on as there are cores, at most.
        for (from, _) in worked.iter().filter(|(from, to)| from < to) {
            let together = worked.iter().filter(|(other, to)| other <= from && from < to).count();
            prop_assert!(together <= cores, "{} at {:?}", together, from);
        }
    }
}

fn begin(machine: &mut Machine<Duration>, watched: &mut Watched, begun: &mut Duration, now: Instant) {
    while let Some((core, cost)) = machine.poll_start() {
        machine.begin(core, cost, cost, now);
        watched.running += 1;
        *begun += cost;
    }
}
