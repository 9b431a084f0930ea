"""What is used in a ``with`` statement and ends by ``close``."""

from abc import ABC, abstractmethod
from typing import Self


class Closeable(ABC):
    """A context manager: leaving it closes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Ends it."""
