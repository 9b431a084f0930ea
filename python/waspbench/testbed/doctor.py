"""What this machine can do for live runs, what is missing, and how to get it. Nothing is changed by looking."""

import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from waspbench.testbed import backlog, linux, presence
from waspbench.testbed.apache import apache
from waspbench.testbed.capability import host_support, live_support
from waspbench.testbed.errors import CannotDoIt
from waspbench.testbed.servers import SPARE_FILES, Launch, file_limit, nginx

Status = Literal["ok", "note", "missing"]

PROC = Path("/proc")
"""Where the kernel tells of itself."""

MANY_FILES = 1 << 20
"""Descriptors for more connections than a run has: the question is how far the limit can be raised."""

GOOD_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
"""Clock sources that are read without a system call."""

LATE_US = 1000.0
"""Microseconds by which a sleeping process may wake up late before it is worth a word: the lag limit of short paths."""


@dataclass(frozen=True)
class Finding:
    """A part of the machine that was checked."""

    name: str
    """Name of the part."""
    status: Status
    """ok; note: live runs are possible, and the finding may matter; missing: live runs are not possible."""
    says: str
    """What was found."""
    advice: str = ""
    """What to do about it; empty if there is nothing to do."""


def examine() -> list[Finding]:
    """Looks at everything, which takes about a second."""
    looks: tuple[Callable[[], Iterable[Finding]], ...] = (
        _live,
        _running_servers,
        _privilege,
        _cpus,
        _files,
        _clock,
        _steal,
        _backlog,
        _congestion,
        _filters,
        _servers,
        _others,
    )
    return [finding for look in looks for finding in look()]


def able(findings: Iterable[Finding]) -> bool:
    """Whether live runs can be made."""
    return not any(finding.status == "missing" for finding in findings)


def _live() -> Iterable[Finding]:
    if not os.path.exists(linux.TUN_DEVICE):
        yield Finding("device", "missing", f"{linux.TUN_DEVICE} is not there", "modprobe tun")
    elif not os.access(linux.TUN_DEVICE, os.R_OK | os.W_OK):
        advice = "; or ".join(filter(None, (f"as root: chmod 666 {linux.TUN_DEVICE}", _by_root("bench"))))
        yield Finding("device", "missing", f"{linux.TUN_DEVICE} may not be opened", advice)
    else:
        yield Finding("device", "ok", f"{linux.TUN_DEVICE} may be opened")
    support = live_support()
    if support.ok:
        yield Finding("live runs", "ok", "namespaces, mounts and a TUN device can be made")
    else:
        yield Finding("live runs", "missing", support.why, _by_root("bench"))


def _running_servers() -> Iterable[Finding]:
    support = host_support()
    if support.ok:
        yield Finding("URL runs", "ok", "a device can be made in the machine's own network")
    else:
        yield Finding("URL runs", "note", support.why, _by_root("bench"))


def _by_root(command: str) -> str:
    """A command for root: by its path, because sudo does not look where virtual environments have their programs. Empty
    where this is root.
    """
    if os.geteuid() == 0:
        return ""
    script = Path(__file__).parents[3] / "run"  # of a clone
    beside = Path(sys.executable).with_name("wasp")
    program = [str(script), "wasp"] if script.is_file() else [str(beside) if beside.exists() else "wasp"]
    return f"sudo {shlex.join(program)} {command}"


def _privilege() -> Iterable[Finding]:
    if os.geteuid() == 0:
        yield Finding("user", "ok", "root")
        return
    for path, wanted, command in (
        (PROC / "sys/kernel/unprivileged_userns_clone", "1", "sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            PROC / "sys/kernel/apparmor_restrict_unprivileged_userns",
            "0",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ):
        if _word(path) not in (None, wanted):
            yield Finding("user", "note", "an ordinary user, who may not make user namespaces", f"as root: {command}")
            return
    yield Finding("user", "note", "an ordinary user: receive work cannot be moved to the server's CPU (no RPS)")


def _cpus() -> Iterable[Finding]:
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) > 1:
        yield Finding("CPUs", "ok", f"{len(usable)}: server and emulator have one each")
    else:
        yield Finding("CPUs", "note", "1: server and emulator share it, and both figures suffer", "two or more CPUs")
    governor = _word(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
    if governor not in (None, "performance"):
        advice = "as root: cpupower frequency-set -g performance"
        yield Finding("frequency", "note", f"governor {governor}: the CPUs' speed varies with load", advice)


def _files() -> Iterable[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reach = file_limit(MANY_FILES)
    raised = f", wasp raises it to {reach:,d}" if reach > soft else ""
    says = f"limit {soft:,d}{raised}: one process of a server keeps {reach - SPARE_FILES:,d} connections"
    if reach < 20_000 + SPARE_FILES:
        advice = "raise the hard limit (ulimit -Hn, /etc/security/limits.conf); nginx gets more workers until then"
        yield Finding("open files", "note", f"{says} (hard limit {hard:,d})", advice)
    else:
        yield Finding("open files", "ok", says)


def _clock() -> Iterable[Finding]:
    source = _word(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
    cost, late = reading_cost_ns(), lateness_us()
    says = f"{source}, read in {cost:.0f} ns; a sleeping process wakes up {late:.0f} us late (p50)"
    if source not in GOOD_CLOCKS:
        yield Finding("clock", "note", f"{says}: it is read by a system call", "boot with clocksource=tsc")
    elif late > LATE_US:
        yield Finding("clock", "note", says, "a machine with less to do")
    else:
        yield Finding("clock", "ok", says)


def reading_cost_ns(times: int = 20_000) -> float:
    """Nanoseconds of one reading of the monotonic clock, Python's part of it included."""
    began = time.monotonic_ns()
    for _ in range(times):
        time.monotonic_ns()
    return (time.monotonic_ns() - began) / times


def lateness_us(times: int = 51, sleep: float = 0.001) -> float:
    """Median lateness of a short sleep in microseconds, the kernel's timer slack of 50 us included."""
    late = []
    for _ in range(times):
        began = time.monotonic()
        time.sleep(sleep)
        late.append(time.monotonic() - began - sleep)
    return 1e6 * statistics.median(late)


def _steal() -> Iterable[Finding]:
    """Steal over a fifth of a second says little, that since the machine's start what it is like."""
    share = stolen(_text(PROC / "stat"))
    if share is not None and share > 0.02:
        says = f"{100 * share:.1f} % of the CPUs' time since the start; a run with more than 2 % is not valid"
        yield Finding("steal", "note", says, "a machine with less crowded neighbours")
    elif share is not None:
        yield Finding("steal", "ok", f"{100 * share:.1f} % of the CPUs' time since the start")


def stolen(stat: str, since: str | None = None) -> float | None:
    """The part of all CPU time that the hypervisor took, in the text of /proc/stat: since the machine's start, or
    since an earlier text.
    """
    times = _cpu_times(stat)
    if since is not None:
        times = [now - before for now, before in zip(times, _cpu_times(since), strict=False)]
    whole = sum(times)
    return times[7] / whole if whole else None


def _cpu_times(stat: str) -> list[int]:
    """Ticks of all CPUs by what they did, steal as the eighth (proc(5)); empty where the kernel does not say."""
    fields = stat.partition("\n")[0].split()
    try:
        times = [int(field) for field in fields[1:9]]
    except ValueError:
        return []
    return times if fields[:1] == ["cpu"] and len(times) == 8 else []


def _backlog() -> Iterable[Finding]:
    text = _word(backlog.SETTING)
    if text is None or not text.isdigit():
        return
    says = f"{int(text):,d} packets wait for a CPU at most (net.core.netdev_max_backlog)"
    if int(text) >= backlog.LONG_ENOUGH:
        yield Finding("backlog", "ok", says)
    elif os.access(backlog.SETTING, os.W_OK):
        yield Finding("backlog", "ok", f"{says}; while a run lasts wasp makes it {backlog.LONG_ENOUGH:,d}")
    else:
        advice = f"as root: sysctl -w net.core.netdev_max_backlog={backlog.LONG_ENOUGH}"
        yield Finding("backlog", "note", f"{says}: bursts to the server may be dropped", advice)


def _congestion() -> Iterable[Finding]:
    known = _word(PROC / "sys/net/ipv4/tcp_available_congestion_control") or ""
    if "cubic" in known.split():
        yield Finding("congestion", "ok", known.replace(" ", ", "))
    else:
        says = f"the kernel has {known.replace(' ', ', ') or 'none that it tells'}, and not cubic, the default"
        yield Finding("congestion", "note", says, "modprobe tcp_cubic, or --congestion reno")


def _filters() -> Iterable[Finding]:
    """Rules of the machine's own network, which only clients of a URL pass."""
    yield from _conntrack()
    tables = _text(PROC / "net/ip_tables_names").split()
    rules = _nft_rules()
    if rules is None and not tables:
        advice = _by_root("doctor") or ("" if _nft() else "install nft (Debian: nftables)")
        yield Finding("firewall", "note", "not known: nft cannot be asked from here", advice)
    elif tables or rules:
        found = [*(f"iptables {table}" for table in tables), *([f"{rules} lines of nft rules"] if rules else [])]
        says = f"{', '.join(found)}: URL runs pass them; clients come from 198.18.0.0/15 by devices named wasp*"
        yield Finding("firewall", "note", says, "let these pass, if the rules do not")
    else:
        yield Finding("firewall", "ok", "no rules")


def _conntrack() -> Iterable[Finding]:
    """Whether connections are followed: the module may be there and no rule use it, so their number tells."""
    limit, count = (_word(PROC / f"sys/net/netfilter/nf_conntrack_{name}") for name in ("max", "count"))
    if limit is None or count is None:
        return
    if count == "0":
        yield Finding("conntrack", "ok", "follows no connection now")
        return
    says = (
        f"follows {int(count):,d} connections, {int(limit):,d} at most: URL runs fill the table, and beyond it packets "
        "are dropped"
    )
    yield Finding("conntrack", "note", says, "as root: sysctl -w net.netfilter.nf_conntrack_max=1000000")


def _nft_rules() -> int | None:
    """Lines of nft's rules; None where it cannot be asked, as without root or without the program."""
    program = _nft()
    if program is None or os.geteuid() != 0:
        return None
    try:
        shown = subprocess.run([program, "list", "ruleset"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if shown.returncode:
        return None
    return len(shown.stdout.splitlines())


def _nft() -> str | None:
    """The path of the program nft."""
    return shutil.which("nft", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


def _servers() -> Iterable[Finding]:
    kinds: tuple[tuple[str, Callable[[str, int], Launch]], ...] = (("nginx", nginx), ("apache", apache))
    for name, launch in kinds:
        try:
            yield Finding(name, "ok", str(launch("198.18.0.1", 80).version))
        except CannotDoIt as error:
            yield Finding(name, "note", error.message, error.advice)


def _others() -> Iterable[Finding]:
    count = len(presence.present(_text(PROC / "net/unix")))
    if count:
        yield Finding(
            "other runs", "note", f"{count} live now: they share the machine with yours", "wait for their end"
        )


def _word(path: Path) -> str | None:
    return " ".join(_text(path).split()) or None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
