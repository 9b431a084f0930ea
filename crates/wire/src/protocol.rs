//! Numbers of the protocols above IPv4 (IANA "Assigned Internet Protocol Numbers").

pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
