//! Cost of the event queue: one event taken and one added, beside so many that wait.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use wasp_kernel::{LogicalProcess, NodeId, Process, Scheduler};
use wasp_units::{Duration, Instant};

/// Each event leads to another one at a time that jumps about, as those of many clients do.
struct Hold;

impl Process for Hold {
    type Event = u32;

    fn handle(&mut self, node: u32, scheduler: &mut Scheduler<u32>) {
        let gap = Duration::from_nanos(1 + u64::from(node.wrapping_mul(2_654_435_761)) % 100_000_000);
        scheduler.schedule(NodeId(node), scheduler.now() + gap, node);
    }
}

fn hold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event queue, one out and one in");
    for waiting in [64, 4_096, 65_536_u32] {
        let mut process = LogicalProcess::new(Hold);
        process.inject(Instant::ZERO, |_, scheduler| {
            (0..waiting).for_each(|node| scheduler.schedule(NodeId(node), Instant::ZERO, node));
        });
        group.bench_function(BenchmarkId::from_parameter(waiting), |bencher| {
            bencher.iter(|| process.step(Instant::MAX).expect("time passes"));
        });
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);
