"""``python -m waspbench`` is ``wasp``: the entry of the command, which can be interrupted at once."""

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command and exits with its status."""
    # An interrupt while modules are imported would be told with a traceback of wherever it struck. There is nothing to
    # keep yet: let it end the process as it ends any other.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from waspbench.cli import main as command

    command()


if __name__ == "__main__":
    main()
