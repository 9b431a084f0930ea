//! The internetwork: links, queues, loss, topologies.
