//! Cost of a keyed draw, of a derivation, and of a draw from a stream.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use wasp_random::{Key, Purpose};

fn draws(criterion: &mut Criterion) {
    let key = Key::root(1, 0).purpose(Purpose::Loss);
    let mut index = 0_u64;
    criterion.bench_function("draw", |bencher| {
        bencher.iter(|| {
            index += 1;
            black_box(key).draw(index)
        });
    });
    // Each draw waits for the one before: the latency, where `draw` shows the rate.
    let mut last = 0_u64;
    criterion.bench_function("draw, dependent", |bencher| {
        bencher.iter(|| {
            last = key.draw(last);
            last
        });
    });
    criterion.bench_function("entity", |bencher| {
        bencher.iter(|| {
            index += 1;
            black_box(key).entity(index)
        });
    });
    let mut stream = key.stream();
    criterion.bench_function("stream", |bencher| bencher.iter(|| stream.next_u64()));
    criterion.bench_function("exponential", |bencher| bencher.iter(|| stream.exponential(1.0)));
}

criterion_group!(benches, draws);
criterion_main!(benches);
