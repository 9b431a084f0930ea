//! Keyed random streams and the distributions drawn from them.
