//! TUN devices and the kernel's own TCP, in network namespaces of their own. Needs root; says so loudly where it is not.
#![expect(clippy::disallowed_methods, reason = "tests of system calls")]

mod common;
mod kernel_tcp;
mod steering;
mod tun;
