//! Numbers of the protocols above IPv4 (IANA "Assigned Internet Protocol Numbers").

/// ICMP.
pub const ICMP: u8 = 1;
/// TCP.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
