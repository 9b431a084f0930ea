//! A TCP server of the kernel's: a listener, and a thread for each connection.
//!
//! A connection opens with a command, [`Command::encode`]; how each ended is told over a channel.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Longer than any test waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a slow reader reads at once, bytes, and how often a second.
pub(crate) const SLOW_PIECE: usize = 1_000;
pub(crate) const SLOW_PIECES: u64 = 10;

/// What the server does on a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// Sends content, then closes first.
    Send,
    /// Reads content until the end, answers whether it was right, closes second.
    Receive,
    /// As `Receive`, but begins to read only after 700 ms.
    ReceiveLate,
    /// Reads 10 KB a second, in pieces, and never answers.
    ReceiveSlowly,
    /// Sends every byte back as it comes.
    Echo,
    /// Closes without having read all that has come: a reset.
    Reset,
    /// Waits for the end of the connection, whatever it is.
    Hold,
}

impl Action {
    const ALL: [Self; 7] = [
        Self::Send,
        Self::Receive,
        Self::ReceiveLate,
        Self::ReceiveSlowly,
        Self::Echo,
        Self::Reset,
        Self::Hold,
    ];
}

/// The first bytes of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub(crate) action: Action,
    /// Bytes of content.
    pub(crate) size: usize,
    /// Which content.
    pub(crate) seed: u64,
}

impl Command {
    const LEN: usize = 17;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.action as u8];
        bytes.extend((self.size as u64).to_be_bytes());
        bytes.extend(self.seed.to_be_bytes());
        bytes
    }

    fn read(stream: &mut TcpStream) -> std::io::Result<Self> {
        let mut bytes = [0; Self::LEN];
        stream.read_exact(&mut bytes)?;
        let number = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
        Ok(Self { action: Action::ALL[usize::from(bytes[0])], size: number(1) as usize, seed: number(9) })
    }
}

/// Bytes in which no part is like another (xorshift64).
pub(crate) fn content(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

/// What the kernel said at the end of a connection, with the command's seed (0 if none came).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Ending {
    pub(crate) seed: u64,
    pub(crate) error: Option<ErrorKind>,
}

/// Listens on port 80 of this thread's namespace and serves so many connections.
pub(crate) fn listen(connections: usize) -> Receiver<Ending> {
    let listener = TcpListener::bind("198.18.0.1:80").expect("the port is free in a new namespace");
    // All come at once. With a full queue the kernel falls back to SYN cookies, which end in resets under loss.
    rustix::net::listen(&listener, 4_096).expect("a longer queue");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let (stream, sender) = (stream.expect("a connection"), sender.clone());
            std::thread::spawn(move || serve(stream, &sender));
        }
    });
    receiver
}

fn serve(mut stream: TcpStream, sender: &Sender<Ending>) {
    for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
        set(&stream, Some(PATIENCE)).expect("a timeout");
    }
    let (seed, result) = match Command::read(&mut stream) {
        Ok(command) => (command.seed, act(command, &mut stream)),
        Err(error) => (0, Err(error)),
    };
    drop(stream);
    // The test may be over.
    let _ = sender.send(Ending { seed, error: result.err().map(|error| error.kind()) });
}

fn act(command: Command, stream: &mut TcpStream) -> std::io::Result<()> {
    let Command { action, size, seed } = command;
    let mut rest = Vec::new();
    match action {
        Action::Send => {
            stream.write_all(&content(size, seed))?;
            stream.shutdown(Shutdown::Write)?;
            stream.read_to_end(&mut rest)?;
        }
        Action::Receive | Action::ReceiveLate => {
            if action == Action::ReceiveLate {
                std::thread::sleep(Duration::from_millis(700));
            }
            stream.read_to_end(&mut rest)?;
            stream.write_all(if rest == content(size, seed) { b"right" } else { b"wrong" })?;
        }
        Action::ReceiveSlowly => {
            let mut piece = [0; SLOW_PIECE];
            loop {
                stream.read_exact(&mut piece)?;
                std::thread::sleep(Duration::from_secs(1) / SLOW_PIECES as u32);
            }
        }
        Action::Echo => {
            let mut buffer = [0; 16_384];
            let mut left = size;
            while left > 0 {
                let length = stream.read(&mut buffer)?;
                stream.write_all(&buffer[..length])?;
                left -= length;
            }
            stream.shutdown(Shutdown::Write)?;
            stream.read_to_end(&mut rest)?;
        }
        Action::Reset => {
            // Not read, but there.
            stream.peek(&mut [0; 1])?;
        }
        Action::Hold => {
            stream.read_to_end(&mut rest)?;
        }
    }
    Ok(())
}
