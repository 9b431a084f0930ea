"""Whether live runs can be made on this machine, found out by trying."""

import os
import subprocess
import sys
from dataclasses import dataclass

from waspbench.testbed import process
from waspbench.testbed.errors import CannotDoIt
from waspbench.testbed.host import open_device


@dataclass(frozen=True)
class Support:
    """An answer, and in one line why not."""

    ok: bool
    why: str = ""


def host_support() -> Support:
    """Tries to make a device in this network namespace, as a server that runs already needs it."""
    try:
        (descriptor,), _ = open_device()
    except CannotDoIt as error:
        return Support(False, str(error))
    os.close(descriptor)
    return Support(True)


def live_support(timeout: float = 30.0) -> Support:
    """Tries what a testbed needs (namespaces, mounts, a TUN device) in a process that ends at once.

    Args:
        timeout: seconds until the attempt counts as failed.
    """
    if not sys.platform.startswith("linux"):
        return Support(False, f"live runs need Linux, and this is {sys.platform}")
    try:
        attempt = subprocess.run(
            [*process.HOLDER, "--check"],
            env=process.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Support(False, f"making namespaces and a TUN device took more than {timeout:g} s")
    except OSError as error:
        return Support(False, f"no process could be started: {error.strerror}")
    if attempt.returncode == 0:
        return Support(True)
    said = (attempt.stdout + attempt.stderr).strip().splitlines()
    return Support(False, said[-1] if said else f"the attempt ended with status {attempt.returncode}")
