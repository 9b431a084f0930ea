//! The order of events, lazy timers and channels.

use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use wasp_kernel::{Channel, LogicalProcess, NodeId, Process, Scheduler, Stage};
use wasp_units::{Duration, Instant, Wakeup};

/// Writes down every event it is given.
#[derive(Default)]
struct Log(Vec<(Instant, u32)>);

impl Process for Log {
    type Event = u32;
    fn handle(&mut self, event: u32, scheduler: &mut Scheduler<u32>) {
        self.0.push((scheduler.now(), event));
    }
}

/// Sees to it that every event was announced before it comes, in two stages; schedules nothing.
#[derive(Default)]
struct Told {
    handled: usize,
    told: RefCell<BTreeMap<u32, Vec<Stage>>>,
}

impl Process for Told {
    type Event = u32;
    fn handle(&mut self, event: u32, _: &mut Scheduler<u32>) {
        assert_eq!(self.told.borrow_mut().remove(&event), Some(vec![Stage::First, Stage::Second]));
        self.handled += 1;
    }
    fn prepare(&self, event: u32, stage: Stage) {
        self.told.borrow_mut().entry(event).or_default().push(stage);
    }
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

proptest! {
    #[test]
    fn events_happen_in_the_order_of_time_node_and_sequence(events in prop::collection::vec((0..50_u64, 0..5_u32), 0..300)) {
        let mut kernel = LogicalProcess::new(Log::default());
        kernel.inject(Instant::ZERO, |_, scheduler| {
            for (index, (time, node)) in events.iter().enumerate() {
                scheduler.schedule(NodeId(*node), at(*time), index as u32);
            }
        });
        kernel.advance(Instant::MAX).unwrap();
        let mut expected: Vec<_> = events.iter().enumerate().map(|(index, (time, node))| (*time, *node, index as u32)).collect();
        expected.sort_unstable();
        let expected: Vec<_> = expected.into_iter().map(|(time, _, index)| (at(time), index)).collect();
        prop_assert_eq!(&kernel.process.0, &expected);
    }

    #[test]
    fn events_keep_their_order_however_far_apart_they_are(
        acts in prop::collection::vec((prop::option::weighted(0.6, (0..50_u32, any::<u64>())), 0..40_u32), 1..400),
    ) {
        // Each act schedules an event up to 2^bits nanoseconds ahead, or lets so much time pass.
        let mut kernel = LogicalProcess::new(Log::default());
        let (mut pending, mut expected, mut now) = (BTreeMap::new(), Vec::new(), 0_u64);
        for (number, (event, step)) in (0..).zip(acts) {
            if let Some((bits, draw)) = event {
                let time = now + draw % (1 << bits);
                kernel.inject(at(now), |_, scheduler| scheduler.schedule(NodeId(0), at(time), number));
                pending.insert((time, number), ());
            } else {
                now += 1 << step;
                kernel.advance(at(now)).unwrap();
                let later = pending.split_off(&(now + 1, 0));
                expected.extend(std::mem::replace(&mut pending, later).into_keys());
            }
            prop_assert_eq!(kernel.next_event(), pending.keys().next().map(|(time, _)| at(*time)));
        }
        kernel.advance(Instant::MAX).unwrap();
        expected.extend(pending.into_keys());
        let expected: Vec<_> = expected.into_iter().map(|(time, number)| (at(time), number)).collect();
        prop_assert_eq!(&kernel.process.0, &expected);
    }

    #[test]
    fn a_model_is_told_of_what_is_due_and_of_nothing_else(times in prop::collection::vec(0..50_u64, 1..16), safe in 0..50_u64) {
        let mut kernel = LogicalProcess::new(Told::default());
        kernel.inject(Instant::ZERO, |_, scheduler| {
            for (index, time) in times.iter().enumerate() {
                scheduler.schedule(NodeId(0), at(*time), index as u32);
            }
        });
        kernel.advance(at(safe)).unwrap();
        let Told { handled, told } = kernel.process;
        prop_assert_eq!(handled, times.iter().filter(|time| **time <= safe).count());
        prop_assert!(told.borrow().is_empty());
    }

    #[test]
    fn the_order_does_not_depend_on_which_node_schedules_first(a in prop::collection::vec(0..20_u64, 0..40), b in prop::collection::vec(0..20_u64, 0..40)) {
        let run = |b_first: bool| {
            let mut kernel = LogicalProcess::new(Log::default());
            kernel.inject(Instant::ZERO, |_, scheduler| {
                let mut nodes = [(1_u32, &a), (2, &b)];
                if b_first { nodes.reverse(); }
                for (node, times) in nodes {
                    for (index, time) in times.iter().enumerate() {
                        scheduler.schedule(NodeId(node), at(*time), node * 1000 + index as u32);
                    }
                }
            });
            kernel.advance(Instant::MAX).unwrap();
            kernel.process.0
        };
        prop_assert_eq!(run(false), run(true));
    }
}

#[test]
fn nothing_happens_after_the_safe_time() {
    let mut kernel = LogicalProcess::new(Log::default());
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for time in [1, 5, 9] {
            scheduler.schedule(NodeId(0), at(time), time as u32);
        }
    });
    kernel.advance(at(5)).unwrap();
    assert_eq!(kernel.process.0, [(at(1), 1), (at(5), 5)]);
    assert_eq!(kernel.next_event(), Some(at(9)));
}

/// Sends itself an event without delay, for ever.
struct Loop;

impl Process for Loop {
    type Event = ();
    fn handle(&mut self, (): (), scheduler: &mut Scheduler<()>) {
        scheduler.schedule(NodeId(7), scheduler.now(), ());
    }
}

#[test]
fn a_run_whose_time_stands_still_fails_and_names_the_nodes() {
    let mut kernel = LogicalProcess::new(Loop);
    kernel.inject(at(3), |_, scheduler| scheduler.schedule(NodeId(7), at(3), ()));
    let stalled = kernel.advance(Instant::MAX).unwrap_err();
    assert_eq!((stalled.at, stalled.nodes), (at(3), vec![7]));
}

/// One timer whose deadline moves later at each event of kind 1.
#[derive(Default)]
struct Lazy {
    deadline: Option<Instant>,
    wakeup: Wakeup,
    fired: Vec<Instant>,
    events: u32,
}

impl Process for Lazy {
    type Event = u8;
    fn handle(&mut self, event: u8, scheduler: &mut Scheduler<u8>) {
        let now = scheduler.now();
        self.events += 1;
        if event == 1 {
            self.deadline = Some(now + Duration::from_nanos(100));
        } else if self.wakeup.fired(now) && self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.fired.push(now);
        }
        scheduler.wake(&mut self.wakeup, self.deadline, NodeId(0), 0);
    }
}

#[test]
fn a_deadline_that_moves_later_costs_one_rearm() {
    let mut kernel = LogicalProcess::new(Lazy::default());
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for time in 0..50 {
            scheduler.schedule(NodeId(1), at(time), 1);
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    assert_eq!(kernel.process.fired, [at(149)]);
    assert_eq!(kernel.process.events, 50 + 2, "fifty moves, the old event, the timer itself");
}

/// A channel that delivers what was sent 10 ns before, into a log.
struct Pipe(Channel<u32>, Vec<(Instant, u32)>);

impl Process for Pipe {
    type Event = Option<u32>;
    fn handle(&mut self, event: Option<u32>, scheduler: &mut Scheduler<Option<u32>>) {
        match event {
            Some(message) => {
                let arrival = scheduler.now() + Duration::from_nanos(10);
                self.0.send(arrival, message, |_| None, scheduler);
            }
            None => {
                let message = self.0.receive(|_| None, scheduler).expect("an arrival has a message");
                self.1.push((scheduler.now(), message));
            }
        }
    }
}

#[test]
fn a_channel_delivers_in_order_with_one_event_in_the_queue() {
    let mut kernel = LogicalProcess::new(Pipe(Channel::new(NodeId(0), Duration::from_nanos(10)), Vec::new()));
    kernel.inject(Instant::ZERO, |_, scheduler| {
        for (index, time) in [0, 0, 3, 8, 20].into_iter().enumerate() {
            scheduler.schedule(NodeId(1), at(time), Some(index as u32));
        }
    });
    kernel.advance(Instant::MAX).unwrap();
    assert_eq!(kernel.process.1, [(at(10), 0), (at(10), 1), (at(13), 2), (at(18), 3), (at(30), 4)]);
}
