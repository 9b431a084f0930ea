//! Pair driver, packet scripts and topology builders for tests.
