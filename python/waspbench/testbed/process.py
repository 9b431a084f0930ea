"""How the processes that keep something for a run are started, and the processes below one."""

import os
import sys
from pathlib import Path

# -P: a json.py in the current directory must not be taken for the library's.
_MODULE = (sys.executable, "-P", "-m")
HOLDER = (*_MODULE, "waspbench.testbed.holder")
LEASE = (*_MODULE, "waspbench.testbed.lease")


def environment() -> dict[str, str]:
    """The environment of such a process: ours, in which it finds this package."""
    result = dict(os.environ)
    root = Path(__file__).resolve().parents[2]
    if root.name not in ("site-packages", "dist-packages"):
        paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        result["PYTHONPATH"] = os.pathsep.join(paths)
    return result


def network_of(pid: int) -> str | None:
    """The network namespace of a process; None if it has ended or may not be looked at."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def parents() -> dict[int, int]:
    """The parent of every process on this machine that can be seen."""
    result = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    result[int(entry)] = parent_in(file.read())
            except (OSError, ValueError, IndexError):
                continue  # it ended meanwhile
    return result


def parent_in(stat: str) -> int:
    """The parent's number in the text of /proc/PID/stat, whose second field may hold anything, parentheses too.

    Raises:
        ValueError: the text is not that of such a file.
        IndexError: the text ends too early.
    """
    return int(stat[stat.rindex(")") + 1 :].split()[1])


def descendants(ancestor: int, parents: dict[int, int]) -> list[int]:
    """Every process below one, nearest first."""
    found = [ancestor]
    for above in found:
        found.extend(sorted(pid for pid, parent in parents.items() if parent == above))
    return found[1:]
