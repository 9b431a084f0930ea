"""Access profiles: named access links as their sources have them. None is here without a source.

Sources give delay in three ways: as round-trip time, for one direction, or for each direction. Here it is always the
total round-trip time. What lies between the access network and the server is not in it: ``network.shared`` may have a
delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from waspbench import _core
from waspbench.experiment.links import for_both, queue_for_both

_WPT = "WebPageTest, www/settings/connectivity.ini.sample (github.com/catchpoint/WebPageTest, commit 4e15783)"
_WPT_DOCKER = "WebPageTest, profiles of its container image (github.com/catchpoint/WebPageTest, commit 4e15783)"
_ATC = (
    "Augmented Traffic Control, utils/profiles (github.com/facebookarchive/augmented-traffic-control, commit 5757208)"
)
_LIGHTHOUSE = "Lighthouse, core/config/constants.js (github.com/GoogleChrome/lighthouse)"


@dataclass(frozen=True)
class Profile:
    """An access link."""

    down: str
    """Rate of the link towards the client."""
    up: str
    """Rate of the link from the client."""
    rtt: str
    """Round-trip time of the link: both directions together."""
    source: str
    """Publication or program that has the profile."""
    entry: str
    """Name of the profile in that source."""
    loss: str | None = None
    """Share of packets that are lost independently in each direction; None if no packet is lost."""


PROFILES: dict[str, Profile] = {
    "dial": Profile("49kbit/s", "30kbit/s", "120ms", _WPT, "Dial"),
    "dsl": Profile("1500kbit/s", "384kbit/s", "50ms", _WPT, "DSL"),
    "vdsl": Profile("15Mbit/s", "3Mbit/s", "20ms", _WPT_DOCKER, "VDSL"),
    "cable": Profile("5Mbit/s", "1Mbit/s", "28ms", _WPT, "Cable"),
    "fios": Profile("20Mbit/s", "5Mbit/s", "4ms", _WPT, "FIOS"),
    "edge": Profile("240kbit/s", "200kbit/s", "840ms", _WPT, "Edge"),
    "2g": Profile("280kbit/s", "256kbit/s", "800ms", _WPT, "2G"),
    "3g-slow": Profile("400kbit/s", "400kbit/s", "400ms", _WPT, "3GSlow"),
    "3g": Profile("1600kbit/s", "768kbit/s", "300ms", _WPT, "3G"),
    "3g-fast": Profile("1600kbit/s", "768kbit/s", "150ms", _WPT, "3GFast"),
    "4g": Profile("9Mbit/s", "9Mbit/s", "170ms", _WPT, "4G"),
    "4g-fast": Profile("10240kbit/s", "10240kbit/s", "40ms", _WPT, "4GFast"),
    "lte": Profile("12Mbit/s", "12Mbit/s", "70ms", _WPT, "LTE"),
    "lighthouse-slow-4g": Profile("1638400bit/s", "750kbit/s", "150ms", _LIGHTHOUSE, "mobileSlow4G"),
    "lighthouse-3g": Profile("700kbit/s", "700kbit/s", "300ms", _LIGHTHOUSE, "mobileRegular3G"),
    "atc-2g-rural": Profile("20kbit/s", "18kbit/s", "1300ms", _ATC, "2G-DevelopingRural", "2%"),
    "atc-2g-urban": Profile("35kbit/s", "32kbit/s", "1300ms", _ATC, "2G-DevelopingUrban"),
    "atc-edge-average": Profile("240kbit/s", "200kbit/s", "840ms", _ATC, "Edge-Average"),
    "atc-edge-good": Profile("250kbit/s", "200kbit/s", "720ms", _ATC, "Edge-Good"),
    "atc-edge-lossy": Profile("240kbit/s", "200kbit/s", "840ms", _ATC, "Edge-Lossy", "1%"),
    "atc-3g-average": Profile("780kbit/s", "330kbit/s", "200ms", _ATC, "3G-Average"),
    "atc-3g-good": Profile("850kbit/s", "420kbit/s", "190ms", _ATC, "3G-Good"),
    "atc-dsl": Profile("2Mbit/s", "256kbit/s", "10ms", _ATC, "DSL"),
    "atc-cable": Profile("6Mbit/s", "1Mbit/s", "4ms", _ATC, "Cable"),
}
"""The profiles by name; those of a source stand together."""

LEAST_QUEUE = 10
"""Full packets that a profile's queue holds at least."""


def with_profile(group: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a group with what its profile says filled in; what stands there already wins, rate by rate. A
    direction with a rate trace takes neither rate nor queue.

    The sources tell nothing of queues. A direction with a rate has room for ten full packets or for one round-trip time
    at that rate, whichever is more.
    """
    profile = PROFILES.get(str(group.get("profile")))
    if profile is None:
        return dict(group)
    filled = {"rtt": profile.rtt, **group}
    if profile.loss is not None:
        filled.setdefault("loss", {"model": "independent", "rate": profile.loss})
    given = filled.get("bandwidth", {})
    traces = for_both(filled.get("trace")) or {}
    free = [way for way in ("down", "up") if not (isinstance(traces, Mapping) and traces.get(way))]
    if isinstance(given, Mapping):
        rates = {"down": profile.down, "up": profile.up}
        filled["bandwidth"] = {**{way: rates[way] for way in free}, **given}
    queue = queue_for_both(filled.get("queue", {}))
    if isinstance(queue, Mapping):
        filled["queue"] = {**_queues(filled, free), **queue}
    return filled


def _queues(group: Mapping[str, Any], ways: Sequence[str]) -> dict[str, str]:
    """Room of the queues of some directions, as far as rate, round-trip time and MTU are valid; what is not is told
    elsewhere.
    """
    rates = group["bandwidth"]
    queues: dict[str, str] = {}
    for way in ways:
        try:
            rate = _core.parse_rate(rates[way] if isinstance(rates, Mapping) else rates)
            room = rate * Fraction(_core.parse_duration(group["rtt"]), 8 * 10**9)
            least = LEAST_QUEUE * int(group.get("mtu", 1500))
        except (TypeError, ValueError):
            continue
        queues[way] = f"{max(least, round(room))}B"
    return queues
