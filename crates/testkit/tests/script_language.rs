//! The language of packet scripts: whatever is written is read again, and what cannot be read is told where.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::Config;
use wasp_tcp::{Event, Options, State, TimerSlack};
use wasp_testkit::script::{
    Action, Call, Condition, Departure, Difference, Failure, Fields, Handshake, Kernel, Obstacle, Quantity,
    Report, Said, Script, Segment, Simulated, Step, Time, Value, files, kernel_table, run,
};
use wasp_units::Duration;
use wasp_wire::{Ecn, Flags};

const HEAD: &str = "title: t\nrfc: r\nkernel: yes\ntcp: linux\n";

fn config() -> Config {
    Config { cases: 500, ..Config::default() }
}

fn time() -> impl Strategy<Value = Time> {
    (any::<bool>(), 0..100_000_u64, Just(0_u64)).prop_map(|(relative, from, more)| Time {
        relative,
        from: Duration::from_micros(from),
        to: Duration::from_micros(from + more),
    })
}

fn number() -> impl Strategy<Value = i64> {
    -(1_i64 << 30)..1_i64 << 29
}

fn said<T: Clone + std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Said<T>> {
    option::of(value).prop_map(|value| value.map_or(Said::Nothing, Said::Present))
}

fn fields() -> impl Strategy<Value = Fields> {
    (
        option::of(any::<u16>()),
        said(any::<u16>()),
        said(any::<u8>()),
        said(Just(())),
        prop_oneof![said(any::<(Option<u32>, Option<u32>)>()), Just(Said::Absent)],
        vec((number(), number()), 0..=4),
        option::of(any::<u8>().prop_map(Ecn::of)),
    )
        .prop_map(|(win, mss, scale, sackok, ts, sack, ecn)| Fields {
            win,
            mss,
            scale,
            sackok,
            ts,
            sack,
            ecn,
        })
}

fn segment() -> impl Strategy<Value = Segment> {
    (any::<u8>(), number(), 0..60_000_i64, 1..2_000_u32, any::<bool>(), number(), fields()).prop_map(
        |(flags, from, len, cut, train, ack, fields)| {
            let flags = Flags(flags);
            let train = train && len > 0 && len / i64::from(cut) < 10_000;
            let ack = flags.contains(Flags::ACK).then_some(ack);
            Segment { flags, from, to: from + len, cut: train.then_some(cut), ack, fields }
        },
    )
}

fn condition() -> impl Strategy<Value = Condition> {
    use Quantity::{Cwnd, Events, Rto, State as StateOf};
    prop_oneof![
        any::<u64>().prop_map(|count| Condition { quantity: Cwnd, value: Value::Count(count) }),
        (0..1_000_000_u64).prop_map(|micros| Condition {
            quantity: Rto,
            value: Value::Time(Duration::from_micros(micros)),
        }),
        Just(Condition { quantity: StateOf, value: Value::State(State::FinWait1) }),
        vec(prop_oneof![Just(Event::Connected), Just(Event::TimedOut)], 0..3)
            .prop_map(|events| Condition { quantity: Events, value: Value::Events(events) }),
    ]
}

fn handshake() -> impl Strategy<Value = Handshake> {
    (any::<bool>(), 0..1_000_u64, fields()).prop_map(|(active, rtt, fields)| Handshake {
        active,
        rtt: Duration::from_millis(rtt),
        peer: Fields { sack: Vec::new(), ..fields },
    })
}

fn report() -> impl Strategy<Value = Report> {
    let others = [Obstacle::Network, Obstacle::Host, Obstacle::Port];
    let obstacle =
        prop_oneof![any::<u16>().prop_map(Obstacle::TooBig), prop::sample::select(others.to_vec())];
    (obstacle, number()).prop_map(|(obstacle, number)| Report { obstacle, number })
}

fn step() -> impl Strategy<Value = Step> {
    let action = prop_oneof![
        segment().prop_map(Action::Inject),
        segment().prop_map(Action::Expect),
        handshake().prop_map(Action::Handshake),
        (1..1_u32 << 30).prop_map(|count| Action::Call(Call::Write(count))),
        prop_oneof![Just(Call::Connect), Just(Call::Listen), Just(Call::Close), Just(Call::Abort)]
            .prop_map(Action::Call),
        vec(condition(), 1..4).prop_map(Action::Check),
        any::<u32>().prop_map(Action::Count),
        report().prop_map(Action::Report),
    ];
    (option::of(time()), time(), action).prop_map(|(time, moment, action)| match action {
        // A count has a time, which is one moment.
        Action::Count(_) => Step { line: 0, time: Some(Time { to: moment.from, ..moment }), action },
        _ => Step { line: 0, time, action },
    })
}

fn script() -> impl Strategy<Value = Script> {
    let kernel = prop_oneof![
        Just(Kernel::Yes),
        ("[a-z]{1,9}( [a-z]{1,9}){0,3}", prop_oneof![Just(Departure::Time), Just(Departure::Numbers)])
            .prop_map(|(how, departure)| Kernel::Differs(Difference { statement: 1, departure, how })),
        "[a-z]{1,9}( [a-z]{1,9}){0,3}".prop_map(Kernel::No),
    ];
    ("[A-Z][a-z, ]{0,40}[a-z]", kernel, vec(step(), 1..20)).prop_map(|(title, kernel, steps)| Script {
        title,
        source: "RFC 9293".to_owned(),
        kernel,
        stack: vec!["linux".to_owned(), "sack=off".to_owned()],
        options: Options { sack: Some(false), ..Options::default() },
        tolerance: None,
        steps,
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_printed_is_read_again(script in script()) {
        let text = script.to_string();
        let mut read = Script::parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        read.steps.iter_mut().for_each(|step| step.line = 0);
        prop_assert_eq!(read, script);
    }

    #[test]
    fn an_error_points_into_the_text(script in script(), at in any::<prop::sample::Index>(), with in ".{0,3}") {
        let mut text = script.to_string();
        let places = text.char_indices().map(|(place, _)| place).collect::<Vec<_>>();
        text.insert_str(places[at.index(places.len())], &with);
        if let Err(error) = Script::parse(&text) {
            let line = text.lines().nth(error.line - 1).expect("the line exists");
            prop_assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}\n{text}");
            prop_assert!(error.message.contains("expected "), "{error}");
        }
    }
}

/// The complaint about a text.
fn complaint(text: &str) -> String {
    Script::parse(text).expect_err("it is no script").to_string()
}

#[test]
fn errors_say_where_and_what_would_be_valid() {
    let after_head = |line: &str| complaint(&format!("{HEAD}{line}\n"));
    let cases = [
        ("> SYN,AKC 0", "5:7: \"AKC\": expected flags, each once, with commas between (SYN, FIN, RST"),
        ("< ACK 1", "5:3: \"ACK\": expected ack=NUMBER exactly where the flags have ACK"),
        ("< ACK 1 ack=x", "5:13: \"x\": expected a sequence number"),
        ("< ACK 5:5 ack=1", "5:9: \"5\": expected a later number than the one before the colon"),
        ("< ACK 1:100000 ack=1", "5:9: \"100000\": expected at most 65495 bytes"),
        ("< ACK 1 ack=1 ecn=none", "5:15: \"ecn=none\": expected no such field"),
        ("> ACK 1 ack=1 ecn=ect", "5:19: \"ect\": expected one of not-ect, ect0, ect1, ce"),
        ("< ACK 1 ack=1 windw=7", "5:15: \"windw=7\": expected ack=N, win=N"),
        ("+10ms..20ms write 5", "5:1: \"+10ms..20ms\": expected a single time"),
        ("+20ms..10ms > SYN 0", "5:8: \"10ms\": expected a later time"),
        ("+10 quiet", "5:2: \"10\": expected a time such as 200ms"),
        ("quiet", "5:1: \"quiet\": expected a time before it"),
        ("count 3", "5:1: \"count\": expected a time before it"),
        ("+1s count some", "5:11: \"some\": expected a number of segments"),
        ("wriet 5", "5:1: \"wriet\": expected <, >, report, handshake"),
        ("report too-big=99999 1", "5:16: \"99999\": expected an MTU below 65536"),
        ("report too-small 1", "5:8: \"too-small\": expected too-big=MTU, or one of network-unreachable, "),
        ("report too-big=576", "5:19: the line ends: expected a sequence number"),
        ("write", "5:6: the line ends: expected a number of bytes"),
        ("write 5 6", "5:9: \"6\": expected the end of the line"),
        ("check stat=closed", "5:7: \"stat\": expected QUANTITY=VALUE with state, events, cwnd"),
        ("check state=open", "5:13: \"open\": expected one of syn-sent"),
        ("check events=opened", "5:14: \"opened\": expected events with commas between (connected"),
        ("handshake sideways", "5:11: \"sideways\": expected \"active\""),
        ("", "4:1: the script ends: expected a statement"),
    ];
    for (line, expected) in cases {
        let said = after_head(line);
        assert!(said.starts_with(expected), "{line}: {said}");
    }
}

#[test]
fn errors_of_the_headers_say_where() {
    let with = |tcp: &str| complaint(&format!("title: t\nrfc: r\nkernel: yes\ntcp: {tcp}\nconnect\n"));
    let cases = [
        ("linx", "4:6: \"linx\": expected a preset (unknown variant `linx`, expected `linux`"),
        (
            "linux sak=off",
            "4:12: \"sak=off\": expected an option of the stack (unknown field `sak`, expected",
        ),
        ("linux min_rto=5", "4:12: \"min_rto=5\": expected an option of the stack"),
        ("linux sack", "4:12: \"sack\": expected field=value"),
        ("linux sack=on sack=off", "4:20: \"sack\": expected each field once"),
        ("linux min_rto=200s", "4:6: \"linux\": expected a stack, but min_rto is"),
    ];
    for (tcp, expected) in cases {
        let said = with(tcp);
        assert!(said.starts_with(expected), "{tcp}: {said}");
    }
    assert!(complaint("title: t\nconnect").contains("no \"tcp:\" line: expected one before"));
    assert!(complaint("titel: t\nconnect").starts_with("1:1: \"titel:\": expected title, rfc, kernel"));
    assert!(complaint("title: a\ntitle: b\n").starts_with("2:1: \"title:\": expected each header once"));
    assert!(complaint("kernel: no\n").starts_with("1:9: \"no\": expected \"yes\", \"differs at STATEMENT"));
    let kernel =
        |kernel: &str| complaint(&format!("title: t\nrfc: r\nkernel: {kernel}\ntcp: linux\nconnect\n"));
    let cases = [
        ("differs, it does", "3:9: \"differs,\": expected \"yes\""),
        ("differs at x in time, it does", "3:20: \"x\": expected the number of a statement"),
        ("differs at 1 of time, it does", "3:22: \"of\": expected \"in\""),
        ("differs at 1 in tims, it does", "3:25: \"tims,\": expected one of time, flags,"),
        ("differs at 1 in time it does", "3:25: \"time\": expected one of time, flags,"),
        ("differs at 2 in time, it does", "5:1: kernel: there is no statement 2: expected 1 to 1"),
    ];
    for (header, expected) in cases {
        let said = kernel(header);
        assert!(said.starts_with(expected), "{header}: {said}");
    }
}

/// What is said of a script that does not hold.
fn refuted(body: &str) -> Failure {
    let script = Script::parse(&format!("{HEAD}{body}")).expect("a script");
    let mut stack = Simulated::new(&script).expect("a stack");
    run(&script, &mut stack).expect_err("it does not hold")
}

fn failure(body: &str) -> String {
    refuted(body).to_string()
}

#[test]
fn a_failure_says_in_what_the_endpoint_departed() {
    let cases = [
        ("connect\n+5ms > SYN 0\n", Departure::Time),
        ("connect\n> SYN 0\n> SYN 0\n", Departure::Missing),
        ("connect\n> SYN 1\n", Departure::Numbers),
        ("connect\n> SYN 0\n+1s quiet\n", Departure::Unexpected),
        ("connect\n+3.5s count 3\n", Departure::Count),
        ("connect\n> SYN 0\ncheck state=established\n", Departure::Check),
        ("write 5\n", Departure::Call),
    ];
    for (body, departure) in cases {
        assert_eq!(refuted(body).departures(), [departure], "{body}");
    }
    let both = refuted("connect\n+5ms > SYN 1\n");
    assert_eq!(both.departures(), [Departure::Time, Departure::Numbers]);
}

#[test]
fn a_failure_shows_the_line_and_both_segments() {
    let said = failure("connect\n> SYN 0\n< SYN,ACK 0 ack=1\n> ACK 1 ack=2 win=7\n");
    assert!(
        said.starts_with("8: > ACK 1 ack=2 win=7\n    the endpoint sent at 0ms: > ACK 1 ack=1 "),
        "{said}"
    );
    assert!(said.contains("differs in: ack, win\n"), "{said}");
    assert!(said.contains("before that:\n        0.000000s  connect\n"), "{said}");
}

#[test]
fn a_failure_tells_what_is_wrong() {
    let cases = [
        ("connect\n> SYN 0 mss=500\n", "differs in: mss\n"),
        ("connect\n> SYN 0 ts=none\n", "differs in: ts\n"),
        ("connect\n> SYN 0 ecn=ect0\n", "differs in: ecn\n"),
        ("connect\n> SYN,ACK 0 ack=1\n", "differs in: flags, ack\n"),
        ("connect\n> SYN 1\n", "differs in: numbers\n"),
        ("connect\n+5ms > SYN 0\n", "differs in: time (expected 5ms)\n"),
        ("connect\n> SYN 0\n+1s quiet\n", "the endpoint sent, unexpectedly, at 1s: > SYN 0"),
        ("connect\n", "after this, the endpoint sent, unexpectedly, at 0ms: > SYN 0"),
        ("connect\n> SYN 0\n> SYN 0\n", "nothing was sent until 0ms"),
        ("connect\n> SYN 0\ncheck state=established\n", "expected state=established, but state=syn-sent"),
        ("connect\n> SYN 0\ncheck events=connected\n", "expected events=connected, but events=none"),
        ("write 5\n", "there is no connection"),
        ("handshake active\nread 5\n", "only 0 bytes can be read"),
        ("connect\n> SYN 0\n+10ms quiet\n5ms quiet\n", "5ms is past: the statement before happened at 10ms"),
    ];
    for (body, expected) in cases {
        let said = failure(body);
        assert!(said.contains(expected), "{body}: {said}");
    }
}

#[test]
fn a_train_is_its_segments_with_the_end_on_the_last() {
    let script = format!(
        "{HEAD}handshake active mss=1000\nwrite 2500\n> PSH,ACK 1:2501/1000 ack=1\n< FIN,PSH,ACK 1:2501/1000 ack=2501\n\
         > ACK 2501 ack=1001\n> ACK 2501 ack=2001\n> ACK 2501 ack=2502\nread 2500\ncheck state=close-wait\n"
    );
    let script = Script::parse(&script).expect("a script");
    run(&script, &mut Simulated::new(&script).expect("a stack"))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// How late a timer of the kernel may be that is set for so long: Linux keeps it in a wheel of ticks, each of whose levels is eight times as coarse as
/// the one before (kernel/time/timer.c), and has 100 to 1,000 ticks a second. A script about that wheel is about 250 of them, and says when a timer
/// ends at the earliest.
fn lateness(timer: Duration, script: &Script) -> Duration {
    let of_ticks = |hertz: u64, before: u64| {
        let (tick, mut coarse) = (1_000_000_000 / hertz, 1);
        while timer.as_nanos() / tick >= 64 * coarse {
            coarse *= 8;
        }
        Duration::from_nanos((coarse + before) * tick)
    };
    if script.options.timer_slack == Some(TimerSlack::Wheel) {
        return of_ticks(250, 0);
    }
    [100, 250, 300, 1_000].into_iter().map(|hertz| of_ticks(hertz, 1)).max().expect("there are four")
}

#[test]
fn a_script_that_waits_for_a_timer_of_the_kernel_lets_it_be_late() {
    let mut waits = 0;
    for file in files() {
        let script = Script::parse(&file.text).expect("a script");
        if matches!(script.kernel, Kernel::No(_)) {
            continue;
        }
        let tolerance = script.tolerance.unwrap_or(Script::TOLERANCE);
        for step in &script.steps {
            if let (Some(Time { relative: true, from, to }), Action::Expect(_)) = (step.time, &step.action) {
                let (late, allowed) = (lateness(from, &script), (to - from) + tolerance);
                assert!(late <= allowed, "{}:{}: {late} late at most, not {allowed}", file.name, step.line);
                waits += 1;
            }
        }
    }
    assert!(waits > 50, "{waits}");
}

#[test]
fn the_documentation_says_what_the_scripts_say_of_linux() {
    let page = include_str!("../../../docs/packet-scripts.md");
    let table = kernel_table(&files()).expect("scripts");
    let said = page.split_once("## Linux\n\n").map(|(_, end)| end);
    let how = "replace what follows \"## Linux\" by: cargo run -q -p wasp-testkit --example kernel_table";
    assert_eq!(said, Some(table.as_str()), "{how}");
}

#[test]
fn the_documentation_begins_with_a_script_that_holds() {
    let page = include_str!("../../../docs/packet-scripts.md");
    let text = page.split("```\n").nth(1).expect("an example");
    let script = Script::parse(text).expect("a script");
    run(&script, &mut Simulated::new(&script).expect("a stack"))
        .unwrap_or_else(|failure| panic!("{failure}"));
}
