//! The options of a scenario: presets, overrides, and what is refused.

use wasp_tcp::{
    AckCounting, Config, CongestionKind, CubicKind, EcnMode, IdleRestart, Nagle, Options, ReceiveBuffer,
    RecoveryKind, SendBufferSize, TimerSlack,
};
use wasp_units::Duration;

fn resolve(json: &str) -> Result<Config, String> {
    let options: Options = serde_json::from_str(json).map_err(|error| error.to_string())?;
    options.resolve().map_err(|error| error.to_string())
}

#[test]
fn no_options_are_the_linux_preset() {
    assert_eq!(resolve("{}").unwrap(), Config::linux());
    assert_eq!(resolve(r#"{"preset": "linux"}"#).unwrap(), Config::linux());
    assert_eq!(resolve(r#"{"preset": "bsd1999"}"#).unwrap(), Config::bsd1999());
}

#[test]
fn each_option_overrides_its_constant() {
    let config = resolve(
        r#"{"preset": "linux", "mss": 536, "window_scaling": false, "sack": false, "timestamps": false, "ecn": true,
            "path_mtu_discovery": true, "min_path_mtu": 296, "receive_buffer": "2KiB", "send_buffer": "64KiB", "initial_window": 2, "recovery": "reno",
            "congestion": "reno", "initial_rto": "3s", "min_rto": "500ms", "max_rto": "64s",
            "timer_granularity": "10ms", "timer_slack": "ticks", "syn_linear_timeouts": 0, "syn_retries": 4, "retries": 12,
            "delayed_ack": "200ms", "delayed_ack_sweep": true, "quickack_segments": 0, "comp_sack_nr": 0, "limited_transmit": false, "segmentation_offload": false,
            "idle_restart": "keep", "ack_counting": "bytes", "abc_limit": 1, "nagle": false, "duplicate_ack_threshold": 4, "time_wait": "1s"}"#,
    );
    let expected = Config {
        mss: 536,
        window_scaling: false,
        sack: false,
        timestamps: false,
        ecn: EcnMode::Ask,
        path_mtu_discovery: true,
        min_path_mtu: 296,
        receive_buffer: ReceiveBuffer::Fixed(2_048),
        send_buffer: SendBufferSize::Fixed(65_536),
        initial_window: 2,
        recovery: RecoveryKind::Reno,
        congestion: CongestionKind::Reno,
        hystart: false,
        ack_counting: AckCounting::Bytes { limit: 1 },
        initial_rto: Duration::from_secs(3),
        min_rto: Duration::from_millis(500),
        max_rto: Duration::from_secs(64),
        max_persist: Duration::from_secs(64),
        timer_granularity: Duration::from_millis(10),
        timer_slack: TimerSlack::Ticks,
        syn_linear_timeouts: 0,
        syn_retries: 4,
        retries: 12,
        delayed_ack: Duration::from_millis(200),
        delayed_ack_sweep: true,
        quickack_segments: 0,
        comp_sack_nr: 0,
        limited_transmit: false,
        segmentation_offload: false,
        idle_restart: IdleRestart::Keep,
        nagle: Nagle::Off,
        duplicate_ack_threshold: 4,
        time_wait: Duration::from_secs(1),
        ..Config::linux()
    };
    assert_eq!(config.unwrap(), expected);
}

#[test]
fn sack_and_recovery_follow_each_other_unless_both_are_given() {
    let bsd = resolve(r#"{"preset": "bsd1999", "recovery": "sack"}"#).unwrap();
    assert!(bsd.sack);
    let linux = resolve(r#"{"preset": "linux", "sack": false}"#).unwrap();
    assert_eq!((linux.recovery, linux.sack), (RecoveryKind::Rack, false));
    let error = resolve(r#"{"recovery": "sack", "sack": false}"#).unwrap_err();
    assert_eq!(error, "recovery: sack: expected sack = true beside it, or recovery reno or newreno");
    let error = resolve(r#"{"recovery": "rack", "sack": false}"#).unwrap_err();
    assert_eq!(error, "recovery: rack: expected sack = true beside it, or recovery reno or newreno");
}

#[test]
fn options_of_the_window_contradict_each_other_where_one_would_be_ignored() {
    assert!(resolve("{}").unwrap().hystart);
    assert!(!resolve(r#"{"congestion": "reno"}"#).unwrap().hystart, "the preset's is cubic's");
    let bsd = resolve(r#"{"preset": "bsd1999", "congestion": "cubic", "hystart": true}"#).unwrap();
    assert!(bsd.hystart && !bsd.bsd_ssthresh);
    assert_eq!(resolve("{}").unwrap().cubic, CubicKind::Linux);
    assert_eq!(resolve(r#"{"cubic": "rfc9438"}"#).unwrap().cubic, CubicKind::Rfc9438);
    assert_eq!(
        resolve(r#"{"ack_counting": "bytes"}"#).unwrap().ack_counting,
        AckCounting::Bytes { limit: 2 }
    );
    for (json, expected) in [
        (
            r#"{"congestion": "reno", "hystart": true}"#,
            "hystart: true: expected congestion = cubic beside it, or false",
        ),
        (
            r#"{"congestion": "reno", "cubic": "linux"}"#,
            "cubic: linux: expected congestion = cubic beside it, or no such option",
        ),
        (r#"{"abc_limit": 2}"#, "abc_limit: 2: expected ack_counting = bytes beside it, or none"),
        (r#"{"ack_counting": "bytes", "abc_limit": 0}"#, "abc_limit: 0: expected 1 to 255"),
    ] {
        assert_eq!(resolve(json).unwrap_err(), expected);
    }
}

#[test]
fn what_is_out_of_range_is_named_with_what_would_be_valid() {
    for (json, expected) in [
        (r#"{"mss": 10}"#, "mss: 10: expected 64 to 65495"),
        (r#"{"min_path_mtu": 87}"#, "min_path_mtu: 87: expected 88 to 65535"),
        (
            r#"{"path_mtu_discovery": false, "min_path_mtu": 296}"#,
            "min_path_mtu: 296: expected none beside path_mtu_discovery = false",
        ),
        (r#"{"initial_window": 0}"#, "initial_window: 0: expected 1 to 65535"),
        (r#"{"delayed_ack": "1s"}"#, "delayed_ack: 1s: expected 0ms to 500ms"),
        (r#"{"min_rto": "0ms"}"#, "min_rto: 0ms: expected 1ns to 3600s"),
        (r#"{"min_rto": "200s"}"#, "min_rto: 200s: expected at most max_rto (120s)"),
        (r#"{"max_rto": "500ms"}"#, "initial_rto: 1s: expected at most max_rto (500ms)"),
        (r#"{"duplicate_ack_threshold": 0}"#, "duplicate_ack_threshold: 0: expected 1 to 255"),
        (
            r#"{"delayed_ack": "0ms", "delayed_ack_sweep": true}"#,
            "delayed_ack_sweep: true: expected false when delayed_ack is 0ms",
        ),
    ] {
        assert_eq!(resolve(json).unwrap_err(), expected);
    }
    let both = resolve(r#"{"receive_buffer": "1MiB", "receive_buffer_max": "2MiB"}"#).unwrap_err();
    assert_eq!(both, "receive_buffer_max: 2MiB: expected none beside receive_buffer, which is fixed");
    let fixed = resolve(r#"{"preset": "bsd1999", "receive_buffer_max": "2MiB"}"#).unwrap_err();
    assert!(fixed.starts_with("receive_buffer_max: 2MiB: expected receive_buffer in its place"), "{fixed}");
    let tuned = resolve(r#"{"receive_buffer_max": "2MiB"}"#).unwrap();
    assert_eq!(tuned.receive_buffer, ReceiveBuffer::Tuned { most: 2 << 20 });
    let error = resolve(r#"{"receive_buffer": "0B"}"#).unwrap_err();
    assert!(error.starts_with("receive_buffer: 0B: expected 1B to "), "{error}");
}

#[test]
fn a_send_buffer_is_fixed_or_sizes_itself() {
    for (field, value) in [("send_buffer_max", "2MiB"), ("send_buffer_overhead", "512B")] {
        let both = resolve(&format!(r#"{{"send_buffer": "1MiB", "{field}": "{value}"}}"#)).unwrap_err();
        assert_eq!(both, format!("{field}: {value}: expected none beside send_buffer, which is fixed"));
        let fixed = resolve(&format!(r#"{{"preset": "bsd1999", "{field}": "{value}"}}"#)).unwrap_err();
        assert!(
            fixed.starts_with(&format!("{field}: {value}: expected send_buffer in its place")),
            "{fixed}"
        );
    }
    let tuned = resolve(r#"{"send_buffer_max": "2MiB", "send_buffer_overhead": "512B"}"#).unwrap();
    assert_eq!(tuned.send_buffer, SendBufferSize::Tuned { overhead: 512, most: 2 << 20 });
    let fixed = resolve(r#"{"send_buffer": "1MiB"}"#).unwrap();
    assert_eq!(fixed.send_buffer, SendBufferSize::Fixed(1 << 20));
    for (field, value, most) in [("send_buffer_max", "0B", "1GiB"), ("send_buffer_overhead", "5000B", "4KiB")]
    {
        let error = resolve(&format!(r#"{{"{field}": "{value}"}}"#)).unwrap_err();
        assert_eq!(error, format!("{field}: {value}: expected 1B to {most}"));
    }
}

#[test]
fn unknown_names_and_wrong_units_are_refused() {
    for (json, part) in [
        (r#"{"windows": true}"#, "unknown field `windows`"),
        (r#"{"preset": "bsd44"}"#, "expected `linux` or `bsd1999`"),
        (r#"{"recovery": "fack"}"#, "unknown variant `fack`"),
        (r#"{"initial_rto": 3}"#, "expected"),
        (r#"{"initial_rto": "3 s"}"#, "a duration such as"),
        (r#"{"mss": -1}"#, "expected u16"),
    ] {
        let error = resolve(json).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn options_print_as_they_were_given() {
    let json = r#"{"preset":"bsd1999","mss":536,"initial_rto":"3s"}"#;
    let options: Options = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&options).unwrap(), json);
}

fn complete(json: &str) -> Options {
    serde_json::from_str::<Options>(json).unwrap().complete().unwrap()
}

#[test]
fn complete_options_say_every_constant_and_mean_the_same() {
    for json in [
        "{}",
        r#"{"preset": "bsd1999"}"#,
        r#"{"congestion": "reno", "ack_counting": "bytes"}"#,
        r#"{"preset": "bsd1999", "congestion": "cubic", "cubic": "rfc9438", "recovery": "rack"}"#,
        r#"{"receive_buffer": "64KiB", "send_buffer_overhead": "576B", "nagle": false, "idle_restart": "keep"}"#,
        r#"{"preset": "bsd1999", "delayed_ack": "0ms"}"#,
    ] {
        let said = complete(json);
        assert_eq!(said.resolve().unwrap(), resolve(json).unwrap(), "{json}");
        assert_eq!(said.complete().unwrap(), said);
    }
    // Without selective acknowledgments the preset's recovery is that which recovers.
    let said = complete(r#"{"sack": false}"#);
    let meant = Config { recovery: RecoveryKind::NewReno, ..resolve(r#"{"sack": false}"#).unwrap() };
    assert_eq!(said.resolve().unwrap(), meant);
}

#[test]
fn complete_options_leave_out_what_would_contradict_another() {
    let names = |json| {
        let said = serde_json::to_value(complete(json)).unwrap();
        said.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let common = |name: &str| {
        let varying = ["receive_buffer", "send_buffer", "cubic", "abc_limit"];
        !varying.iter().any(|start| name.starts_with(start))
    };
    let (linux, bsd) = (names("{}"), names(r#"{"preset": "bsd1999"}"#));
    let varying = |names: &[String]| names.iter().filter(|name| !common(name)).cloned().collect::<Vec<_>>();
    assert_eq!(varying(&linux), ["cubic", "receive_buffer_max", "send_buffer_max", "send_buffer_overhead"]);
    assert_eq!(varying(&bsd), ["receive_buffer", "send_buffer"]);
    assert_eq!(complete(r#"{"ack_counting": "bytes"}"#).abc_limit, Some(2));
    // What recovers without selective acknowledgments, and what is acknowledged at once, say so.
    assert_eq!(complete(r#"{"sack": false}"#).recovery, Some(RecoveryKind::NewReno));
    assert_eq!(complete(r#"{"preset": "bsd1999", "delayed_ack": "0ms"}"#).delayed_ack_sweep, Some(false));
}
