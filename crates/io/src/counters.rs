//! Counters of the kernel: devices, protocols, softnet. Parsers of text, and differences of two readings.
//!
//! The files are read below `/proc/PID/net`, which shows the network namespace of that process: the engine does not have
//! to enter it.

use wasp_engine::Counters;

/// Names of the columns of `/proc/net/dev` after the device's name (`net/core/net-procfs.c`). `rx` is what the emulator
/// writes to a TUN device, `tx` what it reads from it.
const DEVICE_COLUMNS: [&str; 16] = [
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "rx_fifo_errors",
    "rx_frame_errors",
    "rx_compressed",
    "multicast",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
    "tx_fifo_errors",
    "collisions",
    "tx_carrier_errors",
    "tx_compressed",
];

/// Parses one device's line of `/proc/net/dev`; `None` when it has none.
#[must_use]
pub fn parse_device(text: &str, device: &str) -> Option<Counters> {
    let values = text.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    DEVICE_COLUMNS
        .iter()
        .zip(values.split_whitespace().map(Some).chain(std::iter::repeat(None)))
        .map(|(name, value)| Some(((*name).to_owned(), value?.parse().ok()?)))
        .collect()
}

/// Parses one table (such as `TcpExt`) of `/proc/net/netstat` or `/proc/net/snmp`: a line of names, then one of values.
/// `None` when the table is missing or the lines do not match. Negative values (`Tcp` has one that is no counter) are left out.
fn parse_table(text: &str, table: &str) -> Option<Counters> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(table)?.strip_prefix(':'));
    let names = lines.next()?.split_whitespace().collect::<Vec<_>>();
    let values =
        lines.next()?.split_whitespace().map(str::parse::<i128>).collect::<Result<Vec<_>, _>>().ok()?;
    if names.len() != values.len() {
        return None;
    }
    let counters = names.into_iter().zip(values);
    Some(counters.filter_map(|(name, value)| Some((name.to_owned(), u64::try_from(value).ok()?))).collect())
}

/// Values of the table `Tcp` that do not count but say what is (RFC 4022).
const GAUGES: [&str; 5] = ["RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab"];

/// The counters of TCP: the table `Tcp` of `/proc/net/snmp`, and `TcpExt` of `/proc/net/netstat`. `None` where one is missing.
#[must_use]
pub fn parse_tcp(snmp: &str, netstat: &str) -> Option<Counters> {
    let mut counters = parse_table(snmp, "Tcp")?;
    counters.retain(|name, _| !GAUGES.contains(&name.as_str()));
    counters.extend(parse_table(netstat, "TcpExt")?);
    Some(counters)
}

/// Columns of `/proc/net/softnet_stat` and their places: packets received; dropped because a CPU's backlog (`netdev_max_backlog`) was full;
/// times that a CPU had work left when its budget ended; interrupts by which another CPU told a CPU of packets (RPS).
const SOFTNET_COLUMNS: [(usize, &str); 4] =
    [(0, "processed"), (1, "dropped"), (2, "time_squeeze"), (9, "received_rps")];

/// Parses `/proc/net/softnet_stat`, a line of hexadecimal columns for each CPU, and sums over the CPUs: the whole machine's packet backlog
/// belongs to no network namespace. `None` when a line is not such.
#[must_use]
pub fn parse_softnet(text: &str) -> Option<Counters> {
    let mut total = [0_u64; SOFTNET_COLUMNS.len()];
    for line in text.lines() {
        let columns = line.split_whitespace().collect::<Vec<_>>();
        for (sum, (place, _)) in total.iter_mut().zip(SOFTNET_COLUMNS) {
            *sum = sum.checked_add(u64::from_str_radix(columns.get(place)?, 16).ok()?)?;
        }
    }
    Some(SOFTNET_COLUMNS.map(|(_, name)| name.to_owned()).into_iter().zip(total).collect())
}

/// How far each counter grew between two readings; one that is new grew from zero, one that went back did not grow.
#[must_use]
pub fn increase(before: &Counters, after: &Counters) -> Counters {
    let grown = |(name, &value): (&String, &u64)| {
        (name.clone(), value.saturating_sub(before.get(name).copied().unwrap_or_default()))
    };
    after.iter().map(grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0
 wasp0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
";

    #[test]
    fn a_device_is_found_by_its_whole_name() {
        let counters = parse_device(DEV, "wasp0").unwrap();
        assert_eq!((counters["rx_bytes"], counters["tx_packets"], counters["tx_dropped"]), (1, 10, 12));
        assert_eq!(parse_device(DEV, "wasp"), None);
        assert_eq!(parse_device(DEV, "eth0"), None);
    }

    #[test]
    fn a_table_is_read_and_its_namesake_is_not() {
        let text = "TcpExt: SyncookiesSent ListenDrops\nTcpExt: 1 2\nTcp: MaxConn ActiveOpens\nTcp: -1 7\n";
        assert_eq!(parse_table(text, "TcpExt").unwrap()["ListenDrops"], 2);
        let tcp = parse_table(text, "Tcp").unwrap();
        assert_eq!((tcp.get("MaxConn"), tcp["ActiveOpens"]), (None, 7));
        assert_eq!(parse_table(text, "MPTcpExt"), None);
        assert_eq!(parse_table("Tcp: A B\nTcp: 1\n", "Tcp"), None);
    }

    #[test]
    fn counters_of_tcp_are_those_of_both_tables_without_gauges() {
        let snmp = "Ip: A\nIp: 1\nTcp: RtoMin MaxConn CurrEstab RetransSegs\nTcp: 200 -1 4 9\n";
        let found = parse_tcp(snmp, "TcpExt: TCPTimeouts\nTcpExt: 3\n").unwrap();
        let expected = Counters::from([("RetransSegs".to_owned(), 9), ("TCPTimeouts".to_owned(), 3)]);
        assert_eq!(found, expected);
        assert_eq!(parse_tcp(snmp, ""), None);
        assert_eq!(parse_tcp("", "TcpExt: TCPTimeouts\nTcpExt: 3\n"), None);
    }

    #[test]
    fn softnet_is_hexadecimal_and_summed() {
        let text = "0000000a 00000001 00000002 0 0 0 0 0 0 00000011 0\n00000010 00000002 00000003 0 0 0 0 0 0 00000002 0\n";
        let total = parse_softnet(text).unwrap();
        assert_eq!(SOFTNET_COLUMNS.map(|(_, name)| total[name]), [26, 3, 5, 19]);
        assert_eq!(parse_softnet("0000000a\n"), None);
    }

    #[test]
    fn an_increase_is_never_negative() {
        let before = Counters::from([("a".to_owned(), 5), ("b".to_owned(), 5)]);
        let after = Counters::from([("a".to_owned(), 7), ("b".to_owned(), 1), ("c".to_owned(), 2)]);
        assert_eq!(increase(&before, &after).into_values().collect::<Vec<_>>(), [2, 0, 2]);
    }

    proptest! {
        #[test]
        fn no_text_upsets_the_parsers(text in any::<String>(), name in "[a-zA-Z0-9]{0,5}") {
            let _ = (parse_device(&text, &name), parse_table(&text, &name), parse_softnet(&text));
        }

        #[test]
        fn every_column_of_a_device_is_kept(values in prop::array::uniform16(any::<u64>())) {
            let line = values.map(|value| value.to_string()).join("  ");
            let counters = parse_device(&format!("{DEV}  tun7:{line}\n"), "tun7").unwrap();
            for (name, value) in DEVICE_COLUMNS.iter().zip(values) {
                prop_assert_eq!(counters[*name], value);
            }
        }

        #[test]
        fn every_counter_of_a_table_is_kept(table in prop::collection::btree_map("[A-Za-z]{1,12}", any::<u64>(), 1..60)) {
            let names = table.keys().cloned().collect::<Vec<_>>().join(" ");
            let values = table.values().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(parse_table(&format!("TcpExt: {names}\nTcpExt: {values}\n"), "TcpExt"), Some(table));
        }
    }
}
