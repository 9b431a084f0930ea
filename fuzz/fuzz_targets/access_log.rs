//! A log means the same whole and in pieces, compressed or not; what is replayed of it can be sent as a request; nothing in
//! it makes the reader panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::BufReader;
use std::sync::Arc;
use wasp_random::Key;
use wasp_units::Probability;
use wasp_workload::Deal;
use wasp_workload::replay::{Format, Reading, ReplayOptions};

/// All that a caller can see of a log: how it was read, the files, and when each is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    reading: Reading,
    files: Vec<wasp_workload::File>,
    order: Vec<(u32, Option<u64>)>,
}

fn read(options: &ReplayOptions, log: &[u8], piece: usize) -> Result<Seen, String> {
    let replay = options.read(BufReader::with_capacity(piece, log)).map_err(|error| error.to_string())?;
    let requests = Arc::new(replay.requests(Key::root(1, 0)));
    let mut stream = requests.stream(Deal::Modulo, "any", 0, 1);
    // Once around and back to the beginning.
    let order = (0..=requests.len().unwrap_or(0))
        .map_while(|_| stream.next_page().map(|page| (page.base.0, page.at.map(|at| at.as_nanos()))))
        .collect();
    Ok(Seen { reading: replay.reading().clone(), files: replay.files().files().to_vec(), order })
}

fuzz_target!(|data: &[u8]| {
    let [choice, piece, log @ ..] = data else { return };
    let format = if choice & 1 == 0 { Format::Log } else { Format::Urls };
    let options = ReplayOptions {
        times: choice & 2 != 0,
        repeat: choice & 4 != 0,
        max_bad_lines: Probability::ONE,
        ..ReplayOptions::new("log", format)
    };
    let whole = read(&options, log, log.len().max(1));
    let pieces = read(&options, log, usize::from(*piece).max(1));
    // How far damaged compressed data gets before it is refused depends on the pieces.
    if log.first() != Some(&0x1f) {
        assert_eq!(whole, pieces);
    }
    let Ok(seen) = whole else { return };
    assert_eq!(seen.order.len() as u64, seen.reading.requests + u64::from(options.repeat));
    assert!(seen.order.is_sorted_by_key(|&(_, at)| at));
    for file in &seen.files {
        assert!(file.path.starts_with('/') && file.path.bytes().all(|byte| byte.is_ascii_graphic()));
    }
});
