"""``python -m waspbench`` is ``wasp``: the entry of the command, which can be interrupted from the first moment."""

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command and exits with its status."""
    # An interrupt while modules are imported would be told with a traceback of wherever it struck, or be lost to a
    # handler that a library (polars) installs: it waits until the command has its own.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if sys.argv[1:] == ["--version"]:
        from waspbench.cli.version import TEXT

        print(TEXT)
        sys.exit()
    from waspbench.cli.app import main as command

    command()


if __name__ == "__main__":
    main()
