//! The kernel's TCP as a script meets it: sockets on the application's side, a TUN device on that of the wire.

use crate::common::device_that_is_up;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, send, socket_with, sockopt};
use rustix::time::{ClockId, clock_getres};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration as WallDuration;
use wasp_engine::PacketPort;
use wasp_io::{MAX_FRAME, Stopper, Tun, WallClock};
use wasp_kernel::Clock;
use wasp_packet::{Body, Checksums, Packet, Payload, PayloadPool, View, cut, emit, frame};
use wasp_tcp::State;
use wasp_testkit::script::{Obstacle, Quantity, Script, Sent, Stack, Value};
use wasp_units::{Duration, Instant};
use wasp_wire::icmp::kind::DESTINATION_UNREACHABLE;
use wasp_wire::{Address, Ecn, IpHeader, TcpHeader};

/// How long a call may take that should not have to wait.
const PATIENCE: WallDuration = WallDuration::from_secs(1);
/// Fields of a stack that the kernel has too, with their setting.
const SETTINGS: [(&str, &str); 4] = [
    ("sack", "tcp_sack"),
    ("timestamps", "tcp_timestamps"),
    ("window_scaling", "tcp_window_scaling"),
    ("ecn", "tcp_ecn"),
];

/// The time between two ticks of this kernel (1/HZ): what its coarse clocks advance by.
pub(crate) fn tick() -> Duration {
    Duration::from_nanos(clock_getres(ClockId::MonotonicCoarse).tv_nsec as u64)
}

/// What each socket of a script is told.
struct Settings {
    no_delay: bool,
    congestion: String,
}

/// The TCP of the calling thread's namespace.
pub(crate) struct KernelStack {
    tun: Tun,
    clock: WallClock,
    listener: Option<TcpListener>,
    connection: Option<TcpStream>,
    /// Bytes that wait for room in the send buffer, of a write that a thread goes on with.
    unwritten: Arc<AtomicUsize>,
    settings: Settings,
    sent: VecDeque<Sent>,
    pool: PayloadPool,
    buffer: Vec<u8>,
    identification: u16,
}

impl KernelStack {
    /// Makes the device and sets the kernel up as `script` says, or says what it cannot.
    pub(crate) fn new(script: &Script) -> Result<Self, String> {
        let tun = device_that_is_up();
        let settings = configure(script)?;
        let stopper = Stopper::new().expect("descriptors");
        let clock = WallClock::new(&tun, &stopper, Duration::ZERO).expect("a clock");
        Ok(Self {
            tun,
            clock,
            listener: None,
            connection: None,
            unwritten: Arc::default(),
            settings,
            sent: VecDeque::new(),
            pool: PayloadPool::new(16 << 20),
            buffer: vec![0; MAX_FRAME],
            identification: 0,
        })
    }

    /// Takes in what the device has.
    fn drain(&mut self) {
        while let Some(length) = self.tun.receive(&mut self.buffer).expect("a device") {
            let at = self.now();
            let mut packets = Vec::new();
            // What is no TCP is nobody's business here.
            let _ = cut(&self.buffer[..length], None, &mut self.pool, &mut |packet| packets.push(packet));
            for packet in packets {
                let payload = match self.pool.view(&packet.payload) {
                    View::Bytes(bytes) => bytes.to_vec(),
                    View::Virtual(len) => vec![0; len as usize],
                };
                self.pool.release(packet.payload);
                if let Body::Tcp(header) = packet.body {
                    let ecn = Ecn::of(packet.ip.traffic_class);
                    self.sent.push_back(Sent { at, header, ecn, payload });
                }
            }
        }
    }

    /// A packet reaches the kernel from its peer.
    fn transmit(&mut self, body: Body, ecn: Ecn, payload: &[u8]) {
        self.identification = self.identification.wrapping_add(1);
        let payload = if payload.is_empty() { Some(Payload::Empty) } else { self.pool.store(payload) };
        let ip = IpHeader {
            dont_fragment: true,
            traffic_class: ecn.bits(),
            ..IpHeader::new(peer(), kernel(), self.identification)
        };
        let packet = Packet { ip, body, payload: payload.expect("room"), flipped: None };
        let length = frame(&packet, &self.pool, &mut self.buffer);
        self.pool.release(packet.payload);
        self.tun.transmit(&self.buffer[..length]).expect("a device");
    }

    /// The connection, accepted when it is first wanted.
    fn connection(&mut self) -> Result<&mut TcpStream, String> {
        if let (None, Some(listener)) = (&self.connection, &self.listener) {
            let stream = accept(listener)?;
            self.prepare(&stream);
            self.connection = Some(stream);
        }
        self.connection.as_mut().ok_or_else(|| "there is no connection".to_owned())
    }

    fn unwritten(&self) -> usize {
        self.unwritten.load(Ordering::Acquire)
    }

    /// The connection, where no write waits for room in the send buffer.
    fn writable(&mut self) -> Result<&mut TcpStream, String> {
        match self.unwritten() {
            0 => self.connection(),
            left => Err(format!("an earlier write waits for room for {left} bytes")),
        }
    }

    /// Sets it on the socket, since a namespace refuses what ordinary users may not choose. Connections have their listener's.
    fn set_congestion(&self, socket: impl AsFd) -> Result<(), String> {
        sockopt::set_tcp_congestion(socket, &self.settings.congestion).map_err(|error| error.to_string())
    }

    fn prepare(&self, stream: &TcpStream) {
        stream.set_nonblocking(false).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(self.settings.no_delay).expect("a socket");
    }
}

/// Sets what the script's stack says; returns what its sockets are to be told.
fn configure(script: &Script) -> Result<Settings, String> {
    let fields = serde_json::to_value(&script.options).expect("options");
    let mut settings = Settings { no_delay: false, congestion: "reno".to_owned() };
    for (field, value) in fields.as_object().expect("options are an object") {
        let setting = SETTINGS.iter().find(|(name, _)| name == field);
        match (field.as_str(), value.as_bool(), setting) {
            ("preset" | "cubic", ..) if value == "linux" => {}
            ("timer_slack", ..) if value == "wheel" => {}
            ("congestion", ..) => settings.congestion = value.as_str().unwrap_or_default().to_owned(),
            ("nagle", Some(held_back), _) => settings.no_delay = !held_back,
            (_, Some(on), Some((_, name))) => set(name, if on { "1" } else { "0" }),
            _ => return Err(format!("tcp: {field} = {value} has no counterpart in the kernel")),
        }
    }
    Ok(settings)
}

fn set(name: &str, value: &str) {
    let path = format!("/proc/sys/net/ipv4/{name}");
    std::fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
}

fn accept(listener: &TcpListener) -> Result<TcpStream, String> {
    for _ in 0..PATIENCE.as_millis() {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(WallDuration::from_millis(1));
            }
            Err(error) => return Err(format!("no connection can be accepted: {error}")),
        }
    }
    Err("no connection can be accepted".to_owned())
}

impl Drop for KernelStack {
    /// Ends a write that waits for room.
    fn drop(&mut self) {
        if let Some(connection) = &self.connection
            && self.unwritten() > 0
        {
            // It fails where the peer has ended the connection.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Stack for KernelStack {
    fn now(&mut self) -> Instant {
        self.clock.now()
    }

    fn tolerance(&self, script: &Script) -> Duration {
        script.tolerance.unwrap_or(Script::TOLERANCE)
    }

    fn leeway(&self) -> u32 {
        1
    }

    fn run_until(&mut self, until: Instant) -> Option<Sent> {
        loop {
            self.drain();
            if let Some(sent) = self.sent.pop_front() {
                return Some(sent);
            }
            if self.clock.now() >= until {
                return None;
            }
            self.clock.wait_until(Some(until));
        }
    }

    fn inject(&mut self, header: &TcpHeader, ecn: Ecn, payload: &[u8]) {
        self.transmit(Body::Tcp(*header), ecn, payload);
    }

    fn report(&mut self, obstacle: Obstacle, quoted: &TcpHeader) {
        let (code, mtu) = match obstacle {
            Obstacle::Network => (0, 0),
            Obstacle::Host => (1, 0),
            Obstacle::Port => (3, 0),
            Obstacle::TooBig(mtu) => (4, mtu),
        };
        let [high, low] = mtu.to_be_bytes();
        let body = Body::Icmp { kind: DESTINATION_UNREACHABLE, code, rest: [0, 0, high, low] };
        let segment = Packet {
            ip: IpHeader::new(kernel(), peer(), 0),
            body: Body::Tcp(*quoted),
            payload: Payload::Empty,
            flipped: None,
        };
        let mut bytes = vec![0; segment.wire_len() as usize];
        emit(&segment, &self.pool, &mut bytes, Checksums::Complete);
        self.transmit(body, Ecn::NotEct, &bytes);
    }

    fn open(&mut self, active: bool) -> Result<(), String> {
        if !active {
            let listener = TcpListener::bind("198.18.0.1:80").map_err(|error| error.to_string())?;
            listener.set_nonblocking(true).map_err(|error| error.to_string())?;
            self.set_congestion(&listener)?;
            self.listener = Some(listener);
            return Ok(());
        }
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP));
        let socket = socket.map_err(|error| error.to_string())?;
        self.set_congestion(&socket)?;
        let to = "198.18.0.2:40000".parse::<SocketAddrV4>().expect("an address");
        match rustix::net::connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.to_string()),
        }
        let stream = TcpStream::from(socket);
        self.prepare(&stream);
        self.connection = Some(stream);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut stream = self.writable()?.try_clone().map_err(|error| error.to_string())?;
        let written = write_some(&mut stream, bytes)?;
        let rest = bytes[written..].to_vec();
        self.unwritten.store(rest.len(), Ordering::Release);
        if !rest.is_empty() {
            let unwritten = Arc::clone(&self.unwritten);
            std::thread::spawn(move || write_on(&mut stream, &rest, &unwritten));
        }
        Ok(())
    }

    fn read(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; count];
        self.connection()?.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn close(&mut self) -> Result<(), String> {
        self.writable()?.shutdown(Shutdown::Write).map_err(|error| error.to_string())
    }

    fn abort(&mut self) -> Result<(), String> {
        let connection = self.writable()?;
        sockopt::set_socket_linger(&*connection, Some(WallDuration::ZERO))
            .map_err(|error| error.to_string())?;
        self.connection = None;
        Ok(())
    }

    fn observe(&mut self, quantity: Quantity) -> Option<Value> {
        match quantity {
            Quantity::State => Some(Value::State(state())),
            Quantity::Unwritten => Some(Value::Count(self.unwritten() as u64)),
            _ => None,
        }
    }
}

/// Writes what there is room for; returns how much.
fn write_some(stream: &mut TcpStream, bytes: &[u8]) -> Result<usize, String> {
    match send(stream, bytes, SendFlags::DONTWAIT) {
        Ok(count) => Ok(count),
        Err(Errno::AGAIN) => Ok(0),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes the `rest` whenever there is room, until the connection has ended.
fn write_on(stream: &mut TcpStream, mut rest: &[u8], unwritten: &AtomicUsize) {
    while !rest.is_empty() {
        match poll(&mut [PollFd::new(&*stream, PollFlags::OUT)], None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => panic!("a connection cannot be waited for: {error}"),
        }
        let Ok(count) = write_some(stream, rest) else { return };
        rest = &rest[count..];
        unwritten.store(rest.len(), Ordering::Release);
    }
}

fn kernel() -> Address {
    "198.18.0.1".parse().expect("an address")
}

fn peer() -> Address {
    "198.18.0.2".parse().expect("an address")
}

/// The state of the connection with the peer's port, of which there is at most one.
fn state() -> State {
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp").expect("a table of connections");
    // Columns: number, local address, remote address, state, ...
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let state = rows
        .filter(|row| row.get(2).is_some_and(|remote| remote.ends_with(":9C40")))
        .map(|row| row[3].to_owned());
    match state.last().as_deref() {
        Some("01") => State::Established,
        Some("02") => State::SynSent,
        Some("03" | "0C") => State::SynReceived,
        Some("04") => State::FinWait1,
        Some("05") => State::FinWait2,
        Some("06") => State::TimeWait,
        Some("08") => State::CloseWait,
        Some("09") => State::LastAck,
        Some("0B") => State::Closing,
        None | Some("07") => State::Closed,
        Some(other) => panic!("an unknown state: {other}"),
    }
}
