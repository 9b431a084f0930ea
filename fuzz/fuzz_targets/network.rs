//! Whatever the links of a small graph do, and whatever packets and frames enter it: each packet made has one fate or is on its way, on each link and in
//! all, every packet ends, and nothing panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wasp_testkit::any_network;

fuzz_target!(|input: &[u8]| {
    let _ = any_network::check(input);
});
