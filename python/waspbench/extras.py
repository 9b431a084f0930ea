"""Libraries that come with extras of the package: installed by choice, and imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from waspbench.errors import CannotRunError


class MissingLibraryError(CannotRunError):
    """A library of an extra is not installed."""


def needed(module: str, extra: str) -> Any:
    """A module of a library that an extra of the package brings along.

    Raises:
        MissingLibraryError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        message = f"{library} is not installed, or not whole ({error}): pip install 'waspbench[{extra}]'"
        raise MissingLibraryError(message) from None
