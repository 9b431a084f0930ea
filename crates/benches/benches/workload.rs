//! Cost of building file sets and of putting a million requests in order, and of reading a log.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write;
use std::sync::Arc;
use wasp_random::Key;
use wasp_workload::Deal;
use wasp_workload::prowgen::{ProwgenOptions, Stack};
use wasp_workload::replay::{Format, ReplayOptions};
use wasp_workload::surge::SurgeOptions;

const REQUESTS: u64 = 1_000_000;

fn building(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a million requests");
    group.sample_size(10).throughput(Throughput::Elements(REQUESTS));
    for files in [2_000, 100_000] {
        // References are counted with embedded files, the sequence has pages: this makes it about a million long.
        let options = SurgeOptions {
            requests: Some(REQUESTS * 16 / 10),
            files: Some(files),
            ..SurgeOptions::default()
        };
        let surge = options.resolve().expect("the parameters are possible");
        group.bench_function(format!("surge, {files} files"), |bencher| {
            bencher.iter(|| surge.build(1).map(|set| set.sequence(Key::root(1, 0)).len()));
        });
    }
    for stack in [Stack::Static { depth: 1_000 }, Stack::Dynamic { depth: 1_000 }] {
        let options =
            ProwgenOptions { requests: Some(REQUESTS), stack: Some(stack), ..ProwgenOptions::default() };
        let prowgen = options.resolve().expect("the parameters are possible");
        group.bench_function(format!("prowgen, {stack:?}"), |bencher| {
            bencher.iter(|| prowgen.build(1).map(|set| set.sequence(Key::root(1, 0)).len()));
        });
    }
    let mut log = String::new();
    for index in 0..REQUESTS {
        let (second, file) = (index / 1_000 % 60, index * 7_919 % 10_007);
        let _ = writeln!(
            log,
            "198.18.0.2 - - [10/Oct/2000:13:55:{second:02} +0000] \"GET /dir/{file}.html HTTP/1.1\" 200 {file} \"-\" \"agent\""
        );
    }
    let replay = ReplayOptions::new("access.log", Format::Log);
    group.bench_function("replay", |bencher| bencher.iter(|| replay.read(log.as_bytes()).is_ok()));
    group.finish();
}

fn streams(criterion: &mut Criterion) {
    let set = SurgeOptions::default()
        .resolve()
        .and_then(|surge| surge.build(1))
        .expect("the defaults are possible");
    let requests = Arc::new(set.requests(Key::root(1, 0)));
    let mut stream = requests.stream(Deal::Own, "clients", 0, 1);
    criterion.bench_function("next page", |bencher| bencher.iter(|| stream.next_page().is_some()));
    criterion.bench_function("stream", |bencher| {
        bencher.iter_batched(
            || Arc::clone(&requests),
            |requests| requests.stream(Deal::Own, "clients", 7, 4_096),
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, building, streams);
criterion_main!(benches);
