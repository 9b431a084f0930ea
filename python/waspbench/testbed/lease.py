"""A setting of the machine that is raised while anybody needs it, and given back by the last who did.

Everybody holds a shared lock on a journal, in which the first has noted what the setting was before. Who can have that
lock alone at his end is the last: he puts the setting back and removes the journal. The kernel takes locks from whoever
is killed, so nobody waits for the dead; and where all were killed, the next one goes by what the journal says.

Started as `python -m waspbench.testbed.lease SETTING VALUE JOURNAL`, this is the process that outlives a command which
is killed: it says "raised" on its standard output, and gives back when its standard input ends.
"""

import fcntl
import os
import signal
import sys
from pathlib import Path

from waspbench.closeable import Closeable


class Lease(Closeable):
    """The setting is raised to a value for as long as this lasts; one that is higher stays as it is.

    All who share a journal must ask for the same value. What somebody else sets meanwhile is not undone.
    """

    def __init__(self, setting: Path, wanted: int, journal: Path) -> None:
        """Raises the setting.

        Raises:
            OSError: this process may not.
        """
        self._setting = setting
        self._wanted = wanted
        self._journal = journal
        while (lock := self._join()) is None:
            pass
        self._lock = lock

    def close(self) -> None:
        """Gives the setting back if nobody else needs it. To be called once."""
        try:
            if self._alone(self._lock):
                self._give_back(self._lock)
        finally:
            os.close(self._lock)

    def _join(self) -> int | None:
        """Locks the journal and raises the setting; None if the journal's last user went in that moment."""
        lock = os.open(self._journal, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if self._alone(lock):
                self._raise(lock)
            fcntl.flock(lock, fcntl.LOCK_SH)
            # Until here others may have removed the journal, or have been killed before they wrote to it.
            if os.fstat(lock).st_nlink and _noted(lock) is not None:
                return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
        return None

    @staticmethod
    def _alone(lock: int) -> bool:
        """Whether this process could have the journal for itself alone, and it still is the one that has the name."""
        try:
            # Linux gives the shared lock up before it tries: of several who end at once, one succeeds.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return os.fstat(lock).st_nlink > 0

    def _raise(self, lock: int) -> None:
        try:
            before = self._value()
            left_raised = before == self._wanted and _noted(lock) is not None  # all others were killed
            if not left_raised:
                os.pwrite(lock, b"%-20d\n" % before, 0)
            if before < self._wanted:
                self._set(self._wanted)
        except BaseException:
            self._journal.unlink()
            raise

    def _give_back(self, lock: int) -> None:
        before = _noted(lock)
        if before is not None and self._value() == self._wanted:
            self._set(before)
        self._journal.unlink()

    def _value(self) -> int:
        return int(self._setting.read_text(encoding="ascii"))

    def _set(self, value: int) -> None:
        self._setting.write_text(f"{value}\n", encoding="ascii")


def _noted(lock: int) -> int | None:
    """What the journal says the setting was; None if it says nothing yet."""
    text = os.pread(lock, 32, 0).strip()
    return int(text) if text.isdigit() else None


def main(arguments: list[str]) -> int:
    """Entry of the process; returns the exit status."""
    if len(arguments) != 3 or not arguments[1].isdigit():
        sys.stderr.write("usage: python -m waspbench.testbed.lease SETTING VALUE JOURNAL, as a live run starts it\n")
        return 2
    # Signals to a whole group or service are for the command: its end is what this process waits for.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    setting, value, journal = arguments
    try:
        with Lease(Path(setting), int(value), Path(journal)):
            os.write(1, b"raised\n")
            while os.read(0, 64):
                pass
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
