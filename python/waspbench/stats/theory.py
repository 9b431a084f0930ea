"""Models of TCP from the literature. Windows are in segments, times in seconds, rates in segments a second."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Path:
    """What a model is told of a path and its ends."""

    loss: float
    """p: probability that a data segment is lost."""
    rtt: float
    rto: float
    """T0: length of a first timeout."""
    segments_per_ack: int
    """b: 2 with delayed acknowledgments, 1 without."""
    max_window: float = math.inf
    """W_m: what the receiver allows."""


def pftk(path: Path) -> float:
    """Rate at which a bulk sender sends (Padhye, Firoiu, Towsley and Kurose, SIGCOMM 1998, the full model)."""
    return _pftk(path, arriving=False)


def pftk_throughput(path: Path) -> float:
    """Rate at which a bulk sender's segments arrive, by the same model."""
    return _pftk(path, arriving=True)


def _pftk(path: Path, *, arriving: bool) -> float:
    p, b = path.loss, path.segments_per_ack
    window = unlimited_window(p, b)
    limited = window >= path.max_window
    window = min(window, path.max_window)
    chance = timeout_chance(p, window)
    rounds = b / 8 * window + (1 - p) / (p * window) + 2 if limited else b / 2 * window + 1
    sent = (1 - p) / p + (window / 2 + chance if arriving else window + chance / (1 - p))
    return sent / (path.rtt * rounds + chance * back_off(p) * path.rto / (1 - p))


def unlimited_window(p: float, b: int) -> float:
    """E[W], the window at which a loss is met."""
    base = (2 + b) / (3 * b)
    return base + math.sqrt(8 * (1 - p) / (3 * b * p) + base**2)


def timeout_chance(p: float, window: float) -> float:
    """Q, the chance that a loss in such a window ends in a timeout."""
    if window <= 3:
        return 1.0
    q = 1 - p
    chance: float = (1 - q**3) * (1 + q**3 * (1 - q ** (window - 3))) / (1 - q**window)
    return min(1.0, chance)


def back_off(p: float) -> float:
    """G, what repeated timeouts make of the first one's length."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6


def cardwell(path: Path, segments: int, initial_window: int, syn_timeout: float) -> float:
    """Time from the connection's opening until the last of ``segments`` is there.

    The model of Cardwell, Savage and Anderson (INFOCOM 2000), where only what the sender sends is lost.

    The request's way to the sender and the last segment's way back make up the model's last round.
    """
    p, rtt = path.loss, path.rtt
    growth = 1 + 1 / path.segments_per_ack
    handshake = rtt + syn_timeout * ((1 - p) / (1 - 2 * p) - 1)
    first = min(segments, (1 - (1 - p) ** segments) * (1 - p) / p + 1 if p > 0 else segments)
    total = handshake + slow_start_time(path, first, initial_window, growth)
    if p == 0:
        return total
    window = min(first * (growth - 1) / growth + initial_window / growth, path.max_window)
    lossy = 1 - (1 - p) ** segments
    chance = timeout_chance(p, window)
    total += lossy * (chance * back_off(p) * path.rto / (1 - p) + (1 - chance) * rtt)
    return total + (segments - first) / pftk_throughput(path)


def slow_start_time(path: Path, segments: float, initial_window: int, growth: float) -> float:
    """Time in which slow start sends so many segments (equation 15)."""
    window = segments * (growth - 1) / growth + initial_window / growth
    if window <= path.max_window:
        return path.rtt * math.log(segments * (growth - 1) / initial_window + 1, growth)
    rounds = math.log(path.max_window / initial_window, growth) + 1
    rest = segments - (growth * path.max_window - initial_window) / (growth - 1)
    return path.rtt * (rounds + rest / path.max_window)


def doubling_rounds(segments: int, initial_window: int) -> int:
    """Round trips in which a window that doubles sends so many segments."""
    return math.ceil(math.log2(segments / initial_window + 1) - 1e-9)


def cubic_window(loss: float, rtt: float) -> float:
    """Mean window with one loss every 1/p segments (RFC 9438 section 5.1)."""
    c, beta = 0.4, 0.7
    concave: float = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25
    return float(concave * rtt**0.75 / loss**0.75)


def aimd_window(loss: float) -> float:
    """Mean window of Reno under the same losses, which CUBIC follows where its own is less (RFC 9438 4.3)."""
    return math.sqrt(1.5 / loss)
