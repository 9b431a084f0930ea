//! Access logs and lists of URLs: what is read, what is left out, and what is refused.

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::io::{BufReader, Write};
use std::sync::Arc;
use wasp_random::Key;
use wasp_units::{Bytes, Probability};
use wasp_workload::Deal;
use wasp_workload::replay::{Format, Problem, ReadError, Replay, ReplayOptions};

const LOG: &str = r#"192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326
192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] "GET /logo.png HTTP/1.0" 200 100 "http://example.com/" "Mozilla/4.08"
192.0.2.8 - - [10/Oct/2000:13:55:37 -0700] "GET /index.html HTTP/1.1" 304 -
192.0.2.8 - - [10/Oct/2000:13:55:38 -0700] "POST /form HTTP/1.1" 200 12
192.0.2.8 - - [10/Oct/2000:13:55:38 -0700] "GET /missing HTTP/1.1" 404 512
192.0.2.9 - - [10/Oct/2000:13:55:40 -0700] "GET http://example.com/logo.png?v=\"2\" HTTP/1.1" 206 50 "-" "a \"b\""
"#;

fn log() -> ReplayOptions {
    ReplayOptions::new("access.log", Format::Log)
}

fn list() -> ReplayOptions {
    ReplayOptions::new("urls.txt", Format::Urls)
}

fn read(options: &ReplayOptions, text: &str) -> Result<Replay, ReadError> {
    options.read(text.as_bytes())
}

/// The targets that one client asks for.
fn targets(replay: &Replay) -> Vec<String> {
    let requests = Arc::new(replay.requests(Key::root(1, 0)));
    let files = replay.files().files();
    requests.pages().map(|page| files[page.base.0 as usize].path.clone()).collect()
}

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn an_access_log_gives_its_answered_gets() {
    let replay = read(&log(), LOG).unwrap();
    assert_eq!(targets(&replay), ["/index.html", "/logo.png", "/index.html", r#"/logo.png?v=\"2\""#]);
    let reading = replay.reading();
    assert_eq!((reading.lines, reading.requests, reading.bad), (6, 4, 0));
    assert_eq!((reading.other_methods, reading.other_statuses), (1, 1));
}

#[test]
fn a_file_has_the_largest_size_logged_for_it_and_else_the_size_for_unknown_ones() {
    let short = LOG.replace("200 2326", "200 26") + LOG;
    let replay = read(&log(), &short).unwrap();
    let size = |path| replay.files().get(replay.files().find(path).unwrap()).unwrap().size.get();
    assert_eq!((size("/index.html"), size("/logo.png")), (2326, 100));
    // A part of it was sent: that is no size.
    assert_eq!(size(r#"/logo.png?v=\"2\""#), 10_000);
    assert_eq!(replay.reading().unknown_sizes, 1);
}

#[test]
fn compressed_logs_are_read_directly_even_in_several_members() {
    let (first, second) = LOG.split_at(100);
    let members = [compressed(first), compressed(second)].concat();
    let replay = log().read(BufReader::with_capacity(1, members.as_slice())).unwrap();
    assert_eq!(targets(&replay), targets(&read(&log(), LOG).unwrap()));
}

#[test]
fn a_compressed_log_that_is_cut_off_is_an_error() {
    let whole = compressed(LOG);
    let error = log().read(&whole[..whole.len() - 20]).unwrap_err();
    assert!(matches!(error, ReadError::Read { .. }), "{error}");
    assert!(error.to_string().starts_with("after line "), "{error}");
}

#[test]
fn bad_lines_are_counted_with_their_numbers_and_left_out() {
    let text =
        format!("garbage\n{LOG}\n{}\n", r#"h - - [10/Oct/2000:13:55:36 -0700] "GET /x HTTP/1.0" 2OO 1"#);
    let options = ReplayOptions { max_bad_lines: Probability::from_f64(0.5).unwrap(), ..log() };
    let replay = read(&options, &text).unwrap();
    assert_eq!(targets(&replay).len(), 4);
    let bad: Vec<(u64, Problem)> =
        replay.reading().first_bad.iter().map(|bad| (bad.number, bad.problem)).collect();
    assert_eq!(bad, [(1, Problem::NoTime), (9, Problem::NoStatus)]);
    assert_eq!((replay.reading().lines, replay.reading().bad), (8, 2));
}

#[test]
fn too_many_bad_lines_are_an_error_that_shows_the_first() {
    let error = read(&log(), &format!("garbage\n{LOG}")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "1 of 7 lines make no sense, more than 1%; the first is line 1: no time such as [10/Oct/2000:13:55:36 -0700]: \
         \"garbage\""
    );
}

#[test]
fn each_kind_of_bad_line_is_told() {
    for (line, problem) in [
        (r#"h - - "GET / HTTP/1.0" 200 1"#, Problem::NoTime),
        (r#"h - - [10/Oct/2000:13:55:36] "GET / HTTP/1.0" 200 1"#, Problem::NoTime),
        (r#"h - - [10/Oct/2000:13:55:36 -0700] GET / HTTP/1.0 200 1"#, Problem::NoRequest),
        (r#"h - - [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 1"#, Problem::NoRequest),
        (r#"h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0 200 1"#, Problem::NoRequest),
        (r#"h - - [10/Oct/2000:13:55:36 -0700] "GET / one two" 200 1"#, Problem::NoRequest),
        (r#"h - - [10/Oct/2000:13:55:36 -0700] "GET index.html HTTP/1.0" 200 1"#, Problem::BadTarget),
        ("h - - [10/Oct/2000:13:55:36 -0700] \"GET /\u{e9} HTTP/1.0\" 200 1", Problem::BadTarget),
        (r#"h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 99 1"#, Problem::NoStatus),
        (r#"h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200"#, Problem::NoBytes),
        (r#"h - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 -1"#, Problem::NoBytes),
    ] {
        match read(&log(), line).unwrap_err() {
            ReadError::TooManyBadLines { first, .. } => assert_eq!(first.problem, problem, "{line}"),
            other => panic!("{line}: {other}"),
        }
    }
}

#[test]
fn a_line_without_end_is_bad_and_costs_no_memory() {
    let text = format!("{LOG}{}\n{LOG}", "x".repeat(10_000_000));
    let options = ReplayOptions { max_bad_lines: Probability::ONE, ..log() };
    let replay = read(&options, &text).unwrap();
    assert_eq!((replay.reading().requests, replay.reading().first_bad[0].problem), (8, Problem::TooLong));
    assert_eq!(replay.reading().first_bad[0].number, 7);
}

#[test]
fn a_log_without_anything_to_ask_for_is_an_error() {
    let line = r#"h - - [10/Oct/2000:13:55:36 -0700] "POST / HTTP/1.0" 200 1"#;
    assert_eq!(
        read(&log(), line).unwrap_err().to_string(),
        "no request to replay: 1 lines, 0 of which make no sense, 1 have another method than GET, and 0 were not answered \
         200, 206 or 304"
    );
    assert!(matches!(read(&log(), "").unwrap_err(), ReadError::Nothing { .. }));
}

#[test]
fn requests_of_one_second_are_spread_over_it() {
    let options = ReplayOptions { times: true, ..log() };
    let requests = Arc::new(read(&options, LOG).unwrap().requests(Key::root(1, 0)));
    let mut stream = requests.stream(Deal::Modulo, "any", 0, 1);
    let at: Vec<u64> = (0..4).map(|_| stream.next_page().unwrap().at.unwrap().as_millis()).collect();
    assert_eq!(at, [0, 500, 1_000, 4_000]);
}

#[test]
fn a_list_has_urls_times_and_sizes() {
    let text =
        "# urls\r\n\r\nhttp://example.com/a?b#c 0\r\n/d 0.25 1234\r\nhttps://example.com 1.5\r\n/d - \n";
    let options = ReplayOptions { max_bad_lines: Probability::ONE, ..list() };
    let replay = read(&options, text).unwrap();
    assert_eq!(targets(&replay), ["/a?b", "/d", "/"]);
    assert_eq!(replay.files().files()[1].size, Bytes::new(1234));
    assert_eq!(replay.reading().first_bad[0].problem, Problem::MixedTimes);
    assert_eq!(replay.reading().first_bad[0].number, 6);
}

#[test]
fn bad_lines_of_a_list_are_told() {
    for (text, problem) in [
        ("index.html", Problem::BadTarget),
        ("ftp://example.com/", Problem::BadTarget),
        ("http:///a", Problem::BadTarget),
        ("/a 1s", Problem::BadSeconds),
        ("/a -1", Problem::BadSeconds),
        ("/a 1.", Problem::BadSeconds),
        ("/a 1 2k", Problem::NoBytes),
        ("/a 1 2 3", Problem::TooManyFields),
        ("/a 2\n/b 1", Problem::Backwards),
        ("/a\n/b 1", Problem::MixedTimes),
    ] {
        match read(&list(), text).unwrap_err() {
            ReadError::TooManyBadLines { first, .. } => assert_eq!(first.problem, problem, "{text}"),
            other => panic!("{text}: {other}"),
        }
    }
}

#[test]
fn times_of_a_list_without_times_are_an_error() {
    let options = ReplayOptions { times: true, ..list() };
    assert_eq!(
        read(&options, "/a\n/b\n").unwrap_err().to_string(),
        "times = true, but the list tells no times"
    );
}

/// What a log line says.
#[derive(Clone, Debug)]
struct Said {
    path: String,
    second: u32,
    status: u16,
    bytes: Option<u64>,
    combined: bool,
}

fn said() -> impl Strategy<Value = Said> {
    let status = prop::sample::select(vec![200_u16, 206, 301, 304, 404, 500]);
    ("/[!-~&&[^\"\\\\#]]{0,20}", 0_u32..60, status, prop::option::of(0_u64..1 << 40), any::<bool>())
        .prop_map(|(path, second, status, bytes, combined)| Said { path, second, status, bytes, combined })
}

impl Said {
    fn line(&self) -> String {
        let Self { path, second, status, bytes, combined } = self;
        let bytes = bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
        let more = if *combined { r#" "http://example.com/[x] \"y\"" "Mozilla/5.0 (X11)""# } else { "" };
        format!(
            "198.18.0.2 - - [01/Jan/2001:00:00:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} {bytes}{more}\n"
        )
    }
}

proptest! {
    #[test]
    fn what_a_log_says_is_read(said in prop::collection::vec(said(), 1..50)) {
        let text: String = said.iter().map(Said::line).collect();
        let answered: Vec<String> =
            said.iter().filter(|said| [200, 206, 304].contains(&said.status)).map(|said| said.path.clone()).collect();
        match read(&log(), &text) {
            Err(ReadError::Nothing { lines, bad, .. }) => {
                prop_assert!(answered.is_empty());
                prop_assert_eq!((lines, bad), (said.len() as u64, 0));
            }
            Err(other) => prop_assert!(false, "{}", other),
            Ok(replay) => {
                prop_assert_eq!(targets(&replay), answered);
                for file in replay.files().files() {
                    let told = said.iter().filter(|said| said.path == file.path && said.status == 200);
                    let largest = told.filter_map(|said| said.bytes).max();
                    prop_assert_eq!(file.size.get(), largest.unwrap_or(10_000));
                }
            }
        }
    }

    #[test]
    fn what_a_list_says_is_read(
        said in prop::collection::vec(("/[!-~&&[^#]]{0,20}", 0_u64..1_000_000_000, 0_u64..1 << 40), 1..50),
    ) {
        let mut said = said;
        said.sort_by_key(|(_, micros, _)| *micros);
        let line = |(path, micros, size): &(String, u64, u64)| {
            format!("{path}\t{}.{:06} {size}\n", micros / 1_000_000, micros % 1_000_000)
        };
        let text: String = said.iter().map(line).collect();
        let replay = read(&ReplayOptions { times: true, ..list() }, &text).unwrap();
        prop_assert_eq!(targets(&replay), said.iter().map(|(path, ..)| path.clone()).collect::<Vec<_>>());
        let requests = Arc::new(replay.requests(Key::root(1, 0)));
        let mut stream = requests.stream(Deal::Modulo, "any", 0, 1);
        for (_, micros, _) in &said {
            let at = stream.next_page().unwrap().at.unwrap();
            prop_assert_eq!(at.as_nanos(), (micros - said[0].1) * 1_000);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..300), urls in any::<bool>(), times in any::<bool>(),
    ) {
        let format = if urls { Format::Urls } else { Format::Log };
        let options =
            ReplayOptions { times, max_bad_lines: Probability::ONE, ..ReplayOptions::new("any", format) };
        if let Ok(replay) = options.read(bytes.as_slice()) {
            prop_assert!(replay.reading().requests > 0);
        }
    }

    #[test]
    fn a_damaged_log_is_read_or_refused(place in 0..LOG.len(), byte in any::<u8>()) {
        let mut bytes = LOG.as_bytes().to_vec();
        bytes[place] = byte;
        let options = ReplayOptions { max_bad_lines: Probability::ONE, ..log() };
        let whole = options.read(bytes.as_slice()).map(|replay| replay.reading().clone());
        let pieces =
            options.read(BufReader::with_capacity(3, bytes.as_slice())).map(|replay| replay.reading().clone());
        match (whole, pieces) {
            (Ok(whole), Ok(pieces)) => prop_assert_eq!(whole, pieces),
            (Err(_), Err(_)) => (),
            (whole, pieces) => prop_assert!(false, "{:?} {:?}", whole, pieces),
        }
    }
}
