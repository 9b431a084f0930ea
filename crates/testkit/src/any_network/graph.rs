//! Small graphs out of bytes: two to six routers with hosts at each, and links with options of every kind.

use arbitrary::{Result, Unstructured};
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::sync::Arc;
use wasp_net::queue::{
    CodelConfig, DropTailConfig, FqCodelConfig, PieConfig, QueueConfig, RedConfig, Threshold,
};
use wasp_net::topology::{
    AccessConfig, Block, RouteTo, RouterConfig, RouterLink, ServerConfig, Subnet, Topology,
};
use wasp_net::{
    ArrivalOrder, Corrupt, Duplicate, ErrorRate, Jitter, LinkConfig, Loss, Pair, RateTrace, Reorder, Scope,
    Start, Trace, TraceOptions, TraceStart,
};
use wasp_random::Key;
use wasp_units::{Bytes, Duration, Frequency, Probability, Rate};
use wasp_wire::Address;

/// The third number in the addresses of routers.
pub(super) const ROUTERS: u8 = 100;
/// The third number in the addresses of ports at the first end of a link; the next one is for those at the second.
pub(super) const PORTS: u8 = 110;

/// An address of the prefix in which all of them lie. Its third number is 0 for the server, and 1 to 6 for the hosts at a router.
pub(super) fn address(third: u8, last: u8) -> Address {
    Address::from(Ipv4Addr::new(198, 18, third, last))
}

/// A graph, and the bytes that its packets may have together.
pub(super) fn network(bytes: &mut Unstructured<'_>) -> Result<(Topology, usize)> {
    let room = if bytes.ratio(1, 8)? { 128 << 10 } else { 32 << 20 };
    Ok((topology(bytes)?, room))
}

/// A graph whose routers stand in a row, with up to three links more. `Topology::build` refuses it where links that take no time join routers in a cycle,
/// and where static routes lead in a loop.
fn topology(bytes: &mut Unstructured<'_>) -> Result<Topology> {
    let count = bytes.int_in_range(2..=6_usize)?;
    let mut ends: Vec<_> = (1..count).map(|number| (number - 1, number)).collect();
    for _ in 0..bytes.int_in_range(0..=3)? {
        let pair = (bytes.choose_index(count)?, bytes.choose_index(count)?);
        ends.extend(Some(pair).filter(|(first, second)| first != second));
    }
    // Only a link beyond the row closes a cycle. It has a delay, without which few graphs could be built.
    let links = (0..)
        .zip(ends)
        .map(|(number, ends)| router_link(number, ends, usize::from(number) + 1 >= count, bytes));
    let links = links.collect::<Result<Vec<_>>>()?;
    let mut routers = (0..count).map(|at| router(at, count, &links, bytes)).collect::<Result<Vec<_>>>()?;
    let server = ServerConfig {
        at: 0,
        address: address(0, 1),
        directions: directions(bytes, false)?,
        key: Key::root(9, 0),
    };
    if bytes.arbitrary()? {
        routers[server.at].subnets.push(Subnet { first: address(0, 0), last: address(255, 255) });
    }
    let blocks = (0..count).map(|at| block(at, bytes)).collect::<Result<_>>()?;
    let rate = NonZeroU32::MIN.saturating_add(bytes.int_in_range(0..=999)?);
    let errors = ErrorRate { rate: Frequency::of_second(rate), burst: bytes.int_in_range(0..=8)? };
    Ok(Topology { routers, errors, links, server, blocks })
}

fn router(
    at: usize,
    count: usize,
    links: &[RouterLink],
    bytes: &mut Unstructured<'_>,
) -> Result<RouterConfig> {
    let third = at as u8 + 1;
    let own: Vec<usize> =
        (0..links.len()).filter(|link| [links[*link].ends.0, links[*link].ends.1].contains(&at)).collect();
    // One router in four has a static route.
    let routes = (0..bytes.int_in_range(0..=3)? / 3).map(|_| {
        let to = bytes.choose_index(count + 1)?;
        Ok((if to == count { RouteTo::Server } else { RouteTo::Block(to) }, *bytes.choose(&own)?))
    });
    let routes = routes.collect::<Result<_>>()?;
    let subnet = Subnet { first: address(third, 0), last: address(third, 255) };
    let address = if bytes.ratio(7, 8)? { Some(address(ROUTERS, third)) } else { None };
    Ok(RouterConfig { name: format!("n{at}"), address, subnets: vec![subnet], routes })
}

fn router_link(
    number: u8,
    ends: (usize, usize),
    has_delay: bool,
    bytes: &mut Unstructured<'_>,
) -> Result<RouterLink> {
    let mut port = |side| Ok(bytes.arbitrary::<bool>()?.then(|| address(PORTS + side, number)));
    let addresses = (port(0)?, port(1)?);
    let key = Key::root(7, 0).entity(number.into());
    Ok(RouterLink {
        name: format!("l{number}"),
        ends,
        directions: directions(bytes, has_delay)?,
        addresses,
        key,
    })
}

/// One or two hosts at a router.
fn block(at: usize, bytes: &mut Unstructured<'_>) -> Result<Block> {
    let hosts = (0..bytes.int_in_range(1..=2)?).map(|host| {
        let scope = *bytes.choose(&[Scope::Direction, Scope::Connection, Scope::Link])?;
        let key = Key::root(8, 0).entity((10 * at + host) as u64);
        Ok(AccessConfig { directions: directions(bytes, false)?, scope, key })
    });
    Ok(Block { at, first: address(at as u8 + 1, 2), hosts: hosts.collect::<Result<_>>()? })
}

fn directions(bytes: &mut Unstructured<'_>, has_delay: bool) -> Result<Pair<Arc<LinkConfig>>> {
    let forward = Arc::new(link(bytes, has_delay)?);
    let backward = if bytes.arbitrary()? { Arc::clone(&forward) } else { Arc::new(link(bytes, has_delay)?) };
    Ok(Pair { forward, backward })
}

/// One direction of a link, which has each option or not. Those that the experiment file refuses are left out.
fn link(bytes: &mut Unstructured<'_>, has_delay: bool) -> Result<LinkConfig> {
    let mut config = LinkConfig { by_queue: bytes.ratio(1, 8)?, ..LinkConfig::default() };
    if bytes.arbitrary()? {
        config.mtu = Some(bytes.int_in_range(68..=1_500)?);
    }
    if bytes.ratio(1, 4)? {
        config.loss = loss(bytes)?;
    }
    if bytes.ratio(1, 4)? {
        config.corrupt = Some(Corrupt { share: share(bytes, 128)? });
    }
    if bytes.ratio(1, 4)? {
        config.duplicate = Some(Duplicate { share: share(bytes, 32)? });
    }
    match bytes.int_in_range(0..=3)? {
        0 => config.trace = Some(trace(bytes)?).filter(|trace| trace.check().is_ok()),
        1 | 2 => config.rate = Some(rate(bytes)?),
        _ => {}
    }
    if config.mean_rate().is_some() && bytes.arbitrary()? {
        config.queue = Some(queue(bytes)?).filter(|queue| queue.check().is_ok());
    }
    if bytes.ratio(1, 4)? {
        config.reorder = Some(reorder(bytes)?).filter(|reorder| reorder.check().is_ok());
    }
    if has_delay || bytes.arbitrary()? {
        config.delay = Duration::from_nanos(1) + time(bytes)?;
    }
    if bytes.ratio(1, 4)? {
        config.jitter = Some(jitter(bytes)?).filter(|jitter| jitter.check().is_ok());
    }
    Ok(config)
}

/// A share of at most `most` in 256.
fn share(bytes: &mut Unstructured<'_>, most: u16) -> Result<Probability> {
    let parts = f64::from(bytes.int_in_range(0..=most)?);
    Ok(Probability::from_f64(parts / 256.0).expect("a share"))
}

/// A time from a microsecond to 131 ms. Each power of two is as likely as the others.
fn time(bytes: &mut Unstructured<'_>) -> Result<Duration> {
    let least = 1_u64 << bytes.int_in_range(0..=16)?;
    Ok(Duration::from_micros(bytes.int_in_range(least..=2 * least - 1)?))
}

/// A rate from 16 kbit/s to 1 Gbit/s, each double the one before.
fn rate(bytes: &mut Unstructured<'_>) -> Result<Rate> {
    let bits = 16_000_u64 << bytes.int_in_range(0..=16)?;
    Ok(Rate::from_bits_per_second(bits).expect("above zero"))
}

fn trace(bytes: &mut Unstructured<'_>) -> Result<RateTrace> {
    let mut time = 1;
    let mut text = String::new();
    for _ in 0..bytes.int_in_range(1..=8)? {
        time += u32::from(bytes.arbitrary::<u8>()?);
        text += &format!("{time}\n");
    }
    let options = TraceOptions {
        repeat: bytes.ratio(15, 16)?,
        start: if bytes.arbitrary()? { TraceStart::Random } else { TraceStart::default() },
        opportunity: Bytes::new(bytes.int_in_range(40..=3_000)?),
        overhead: Bytes::new(bytes.int_in_range(0..=39)?),
    };
    Ok(RateTrace { trace: Trace::parse(&text).expect("a trace"), options })
}

fn loss(bytes: &mut Unstructured<'_>) -> Result<Loss> {
    Ok(match bytes.int_in_range(0..=2)? {
        0 => Loss::Independent { rate: share(bytes, 128)? },
        1 => Loss::Periodic { every: bytes.int_in_range(2..=64)? },
        _ => {
            let start = if bytes.arbitrary()? { Start::Good } else { Start::Stationary };
            Loss::TwoState { p: share(bytes, 128)?, r: share(bytes, 256)?, start }
        }
    })
}

fn reorder(bytes: &mut Unstructured<'_>) -> Result<Reorder> {
    Ok(Reorder { share: share(bytes, 128)?, distance: bytes.int_in_range(1..=8)?, wait: time(bytes)? })
}

fn jitter(bytes: &mut Unstructured<'_>) -> Result<Jitter> {
    let order = if bytes.arbitrary()? { ArrivalOrder::Kept } else { ArrivalOrder::Free };
    Ok(match bytes.int_in_range(0..=2)? {
        0 => Jitter::Normal { deviation: time(bytes)?, order },
        1 => Jitter::Pareto {
            mean: time(bytes)?,
            shape: 1.01 + f64::from(bytes.arbitrary::<u8>()?) / 50.0,
            order,
        },
        _ => {
            let min = time(bytes)?;
            Jitter::Uniform { min, max: min + time(bytes)?, order }
        }
    })
}

fn queue(bytes: &mut Unstructured<'_>) -> Result<QueueConfig> {
    let packets = if bytes.arbitrary()? { Some(bytes.int_in_range(0..=32)?) } else { None };
    let room = Bytes::new(bytes.arbitrary::<u16>()?.into());
    let some = bytes.arbitrary::<bool>()?.then_some(room);
    let ecn = bytes.arbitrary()?;
    let (target, interval) = (time(bytes)?, time(bytes)?);
    Ok(match bytes.int_in_range(0..=4)? {
        0 => QueueConfig::DropTail(DropTailConfig { packets, bytes: some }),
        1 => QueueConfig::Red(RedConfig {
            packets,
            bytes: room,
            min: Threshold::Share(share(bytes, 128)?),
            max: Threshold::Share(share(bytes, 256)?),
            weight: share(bytes, 256)?,
            max_probability: share(bytes, 256)?,
            gentle: bytes.arbitrary()?,
            ecn,
            ..RedConfig::default()
        }),
        2 => QueueConfig::Codel(CodelConfig {
            packets,
            bytes: some,
            target,
            interval,
            ecn,
            ..CodelConfig::default()
        }),
        3 => QueueConfig::FqCodel(FqCodelConfig {
            packets,
            bytes: some,
            flows: bytes.int_in_range(1..=64)?,
            target,
            interval,
            ecn,
            ce_threshold: if ecn && bytes.arbitrary()? { Some(time(bytes)?) } else { None },
            ..FqCodelConfig::default()
        }),
        _ => QueueConfig::Pie(PieConfig {
            packets,
            bytes: some,
            target,
            update: interval,
            ecn,
            derandomize: bytes.arbitrary()?,
            cap_adjustment: bytes.arbitrary()?,
            ..PieConfig::default()
        }),
    })
}
