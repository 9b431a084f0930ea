"""What a person may have meant by a word that is not known where it stands."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import takewhile

OTHER_WORDS: dict[str, tuple[str, ...]] = {
    "clients": ("users", "vus", "concurrency", "num-clients"),
    "count": ("users", "vus", "concurrency", "number"),
    "rtt": ("latency", "delay", "ping", "round-trip-time"),
    "loss": ("packet-loss", "plr", "loss-rate", "drop", "drops"),
    "bandwidth": ("bw", "speed", "link-rate", "rate-limit"),
    "down": ("downlink", "download", "bw", "bandwidth", "speed"),
    "up": ("uplink", "upload"),
    "queue": ("buffer", "queue-length"),
    "trace": ("rate-trace", "mahimahi", "mm-link"),
    "rate": ("rps", "qps", "arrival-rate", "requests-per-second"),
    "arrivals": ("open-loop",),
    "think": ("think-time", "pause", "sleep"),
    "duration": ("time", "length", "seconds"),
    "warmup": ("ramp-up", "ramp"),
    "runs": ("repeats", "repeat", "repetitions", "iterations", "rounds"),
    "size": ("file-size", "bytes", "body"),
    "file-size": ("size", "bytes", "body"),
    "path": ("uri",),
    "timeout": ("max-time", "request-timeout"),
    "congestion": ("cc", "congestion-control", "tcp-congestion-control"),
    "tcp": ("stack",),
    "requests-per-connection": ("keepalive", "keep-alive"),
    "connections": ("connection-count", "parallel"),
    "profile": ("throttling",),
    "output": ("dir", "directory", "results"),
    "mode": ("sim", "simulate"),
    "set": ("override", "param", "define"),
    "slo": ("objective", "objectives", "sla", "target-latency"),
    "assert": ("threshold", "thresholds", "check", "checks", "fail-if"),
    "at-least": ("min", "minimum", "expect"),
    "until": ("ci", "precision"),
    "percentiles": ("quantiles",),
    "jobs": ("parallel", "workers", "threads", "processes"),
    "quiet": ("silent", "no-progress"),
    "dry-run": ("plan", "list-points"),
    "fail-on": ("threshold", "fail-if", "max-regression"),
    "throughput": ("rps", "qps", "requests-per-second"),
    "p50": ("median",),
    "mean": ("average", "avg", "latency"),
    "errors": ("failures", "error-rate", "failed", "fails"),
    "server-cpu": ("cpu",),
    "kind": ("type",),
    "server": ("servers",),
    "measure": ("measurement", "options"),
    "workload": ("load", "traffic"),
    "network": ("topology",),
    "apache": ("httpd", "apache2"),
    "builtin": ("wasp", "internal", "built-in"),
    "sim": ("simulation", "simulated", "model"),
    "live": ("real",),
    "two-state": ("gilbert", "gilbert-elliott", "bursty", "markov"),
    "independent": ("bernoulli", "random", "uniform"),
    "bench": ("benchmark", "measure", "load", "test"),
    "run": ("start", "execute", "sweep", "experiment"),
    "capacity": ("search", "find", "max"),
    "compare": ("diff", "regression"),
    "list": ("ls", "history"),
    "show": ("cat", "print", "summary", "view", "info", "results", "inspect"),
    "report": ("html", "page", "export"),
    "doctor": ("check", "preflight", "env"),
    "init": ("new", "template", "example", "create"),
}
"""Other tools' words for ours."""


_ALIKE = 0.75
"""How much alike two spellings are at least (twice the letters that match, over all letters)."""

_LEAST = 3
"""Letters of a word that may stand for a longer one that begins so, or for one that differs in one letter."""


def meant(word: str, valid: Iterable[str]) -> str | None:
    """The one of the ``valid`` words that was meant: the same but for hyphens and capitals, another word for it, or one
    that is spelt much like it.
    """
    choices = {_plain(choice): choice for choice in valid}
    plain = _plain(word)
    for ours, others in OTHER_WORDS.items():
        if ours in choices and plain not in choices and {plain, f"{plain}s"} & set(others):
            return choices[ours]
    return spelt_like(word, choices.values())


def spelt_like(word: str, valid: Iterable[str]) -> str | None:
    """The one of the ``valid`` words, which may be names that people gave, that is spelt much like it."""
    choices = {_plain(choice): choice for choice in valid}
    plain = _plain(word)
    if plain in choices:
        return choices[plain]
    if not any(letter.isalpha() for letter in plain):
        return None  # a number is not meant for another
    longer = [choice for choice in choices if choice.startswith(plain)]
    if len(longer) == 1 and len(plain) >= _LEAST:
        return choices[longer[0]]
    near = [choice for choice in choices if len(plain) >= _LEAST and _one_apart(plain, choice)]
    near = near or difflib.get_close_matches(plain, list(choices), n=1, cutoff=_ALIKE)
    return choices[near[0]] if near else None


def _one_apart(word: str, other: str) -> bool:
    """Whether one letter that is wrong, missing, too much, or in its neighbour's place makes one of the other."""
    begin = _shared(word, other)
    end = _shared(word[begin:][::-1], other[begin:][::-1])
    mine, theirs = word[begin : len(word) - end], other[begin : len(other) - end]
    return max(len(mine), len(theirs)) == 1 or (len(mine) == 2 and mine == theirs[::-1])


def _shared(word: str, other: str) -> int:
    """Letters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))


def _plain(word: str) -> str:
    return word.lstrip("-").lower().replace("_", "-")


def hint(word: object, valid: Iterable[str]) -> str:
    """What was meant as part of a message; empty where nothing is near."""
    found = meant(word, valid) if isinstance(word, str) else None
    return "" if found is None else f"did you mean {found}? "
