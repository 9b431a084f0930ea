//! Discrete-event kernel: event order, timers, logical processes, clocks.
