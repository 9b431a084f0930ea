//! Any text is a rate trace or an error; packets leave a trace in order, not before they came, and never more than its opportunities carry.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wasp_net::{RateTrace, Trace, TraceOptions, TraceStart, TraceTransmitter};
use wasp_units::{Bytes, Duration, Instant};

fuzz_target!(|input: (&str, bool, u16, u8, Option<u64>, Vec<(u64, u32)>)| {
    let (text, repeat, opportunity, overhead, place, packets) = input;
    let Ok(trace) = Trace::parse(text) else { return };
    assert_eq!(trace.opportunities(), text.lines().count());
    let (opportunity, overhead) = (Bytes::new(u64::from(opportunity)), Bytes::new(u64::from(overhead)));
    let start = if place.is_some() { TraceStart::Random } else { TraceStart::default() };
    let options = TraceOptions { repeat, start, opportunity, overhead };
    let (period, each) = (trace.period(), trace.opportunities() as u64);
    let trace = RateTrace { trace, options };
    if trace.check().is_err() {
        return;
    }
    assert!(trace.mean_rate().bits_per_second() > 0);
    let random = Duration::from_nanos(place.unwrap_or_default());
    // Nanoseconds of the trace that are over at time zero.
    let ahead = random.as_nanos() % period.as_nanos();
    let mut transmitter = TraceTransmitter::new(&trace, random);
    let (mut now, mut free, mut dead, mut bytes) = (Instant::ZERO, Instant::ZERO, false, 0_u128);
    for (gap, size) in packets {
        // Gaps from nanoseconds to centuries.
        now = now.saturating_add(Duration::from_nanos(gap >> (gap % 64)));
        let start = now.max(free);
        let finish = transmitter.finish(start, size);
        let Some(finish) = finish else {
            // Only the end of time ends a repeating trace.
            let needed =
                (u128::from(size) + u128::from(overhead.get())).div_ceil(u128::from(opportunity.get()));
            let from = u128::from(start.as_nanos()) + u128::from(ahead);
            let reach = from + (needed / u128::from(each) + 2) * u128::from(period.as_nanos());
            assert!(dead || !repeat || reach > u128::from(u64::MAX));
            dead = true;
            continue;
        };
        assert!(!dead && finish >= start);
        let of_trace = finish.as_nanos() + ahead;
        assert_eq!(of_trace % 1_000_000, 0);
        free = finish;
        bytes += u128::from(size) + u128::from(overhead.get());
        let rounds = u128::from(of_trace / period.as_nanos()) + 1;
        assert!(bytes <= rounds * u128::from(each) * u128::from(opportunity.get()));
    }
});
