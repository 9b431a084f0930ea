//! Cost of the event queue: one event taken and one added, beside so many that wait.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use wasp_kernel::{LogicalProcess, NodeId, Process, Scheduler};
use wasp_units::{Duration, Instant};

/// Each event leads to another one at a time that jumps about, as those of many clients do, so many nanoseconds ahead at most.
struct Hold(u64);

impl Process for Hold {
    type Event = u32;

    fn handle(&mut self, node: u32, scheduler: &mut Scheduler<u32>) {
        let gap = Duration::from_nanos(1 + u64::from(node.wrapping_mul(2_654_435_761)) % self.0);
        scheduler.schedule(NodeId(node), scheduler.now() + gap, node);
    }
}

fn hold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event queue, one out and one in");
    // Few or many, and as far ahead as a link in a data centre or as one across an ocean.
    for (waiting, ahead_ms) in
        [(1, 100), (64, 1), (64, 100), (4_096, 1), (4_096, 100), (65_536_u32, 1), (65_536, 100)]
    {
        let mut process = LogicalProcess::new(Hold(ahead_ms * 1_000_000));
        process.inject(Instant::ZERO, |_, scheduler| {
            (0..waiting).for_each(|node| scheduler.schedule(NodeId(node), Instant::ZERO, node));
        });
        let name = BenchmarkId::from_parameter(format!("{waiting}, up to {ahead_ms} ms ahead"));
        group.bench_function(name, |bencher| {
            bencher.iter(|| process.step(Instant::MAX).expect("time passes"));
        });
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);
