"""Running many runs: what is next, in which process, and what is kept."""
