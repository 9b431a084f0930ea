"""Kernel settings (sysctls) of the server's network namespace.

Only settings that belong to a network namespace may be changed: nothing here touches the machine.
"""

import errno
import re
from collections.abc import Mapping
from pathlib import Path

from waspbench.testbed.errors import TestbedError

BENCH_DEFAULTS: Mapping[str, str] = {
    # A queue of new connections that is shorter than the clients are many would measure the queue.
    "net.core.somaxconn": "65535",
    "net.ipv4.tcp_max_syn_backlog": "65535",
    # Otherwise a run would start from the ssthresh and RTT that the run before it left behind.
    "net.ipv4.tcp_no_metrics_save": "1",
    # Thousands of short connections a second fill the default table within seconds; a busy site raises it too.
    "net.ipv4.tcp_max_tw_buckets": "4000000",
}
"""Set in every testbed, before what the user asks for."""

_NAME = re.compile(r"net(\.[A-Za-z0-9_-]+)+")
_ROOT = Path("/proc/sys")


def path_of(name: str) -> Path:
    """The file of a setting.

    Raises:
        TestbedError: the name is not one of a network setting.
    """
    if not _NAME.fullmatch(name):
        message = f"{name!r} is not a network setting: a name such as 'net.ipv4.tcp_sack' would be valid"
        raise TestbedError.at("server.sysctl", message)
    return _ROOT.joinpath(*name.split("."))


def check(settings: Mapping[str, str | int]) -> dict[str, str]:
    """Checks names and values before anything is started; returns the values as text.

    Raises:
        TestbedError: names the setting that this kernel does not have, or the value that cannot be one.
    """
    checked = {}
    for name, value in settings.items():
        path = path_of(name)
        text = " ".join(str(value).split())
        if isinstance(value, bool) or not text:
            raise TestbedError.at(_field(name), f"{value!r} is not a value: a number or a text would be valid")
        if path.is_dir() or not path.exists():
            message = f"this kernel has no setting {name!r} (`sysctl -a` lists them)"
            raise TestbedError.at("server.sysctl", message)
        checked[name] = text
    return checked


def apply(settings: Mapping[str, str]) -> dict[str, str]:
    """Applies settings in the current network namespace; returns what the kernel then shows.

    Raises:
        TestbedError: names the setting that is refused, and why.
    """
    shown = {}
    for name, value in settings.items():
        path = path_of(name)
        if not path.exists():
            message = f"{name!r} belongs to the whole machine, not to a network namespace; it is left alone"
            raise TestbedError.at("server.sysctl", message)
        try:
            path.write_text(value, encoding="utf-8")
            shown[name] = " ".join(path.read_text(encoding="utf-8").split())
        except (OSError, UnicodeError) as error:
            raise TestbedError.at(_field(name), _refusal(name, value, error)) from None
    return shown


def _field(name: str) -> str:
    return f"server.sysctl.{name}"


def _refusal(name: str, value: str, error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if name.endswith(".tcp_congestion_control") and number == errno.EPERM:
        return f"{value!r} is not in this machine's allowed list; ask for it as the server's congestion control instead"
    if number in (errno.EPERM, errno.EACCES, errno.EROFS):
        return "the kernel does not let a network namespace change it"
    if number == errno.ENOENT:
        return f"the kernel knows no {value!r}"
    return f"the kernel refuses the value {value!r}"
