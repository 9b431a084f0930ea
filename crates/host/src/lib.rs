//! Emulated machines: addresses, demultiplexing, clients and modelled servers.
