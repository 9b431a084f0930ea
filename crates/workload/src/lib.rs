//! What is asked for: file sets and request streams.
