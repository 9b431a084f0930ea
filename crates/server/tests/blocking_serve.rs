//! Signals reach the whole process, so this is the only test in its file.

use rustix::process::{Signal, getpid, kill_process};
use wasp_server::{Config, blocking_serve};

#[test]
fn blocking_serve_returns_on_sigterm_and_on_sigint() {
    for signal in [Signal::TERM, Signal::INT] {
        let config = Config { port: 0, ..Config::default() };
        let mut port = 0;
        let served = blocking_serve(config, |address| {
            port = address.port();
            kill_process(getpid(), signal).unwrap();
        });
        assert!(served.is_ok() && port != 0, "{served:?}");
    }
}
