"""What a person may have meant by a word that is not known where it stands."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(word: str, valid: Iterable[str]) -> str:
    """The one of the ``valid`` words that is spelt much like it, as part of a message; empty where none is."""
    choices = {choice.lower(): choice for choice in valid}
    near = difflib.get_close_matches(word.lower(), list(choices), n=1)
    return f"did you mean {choices[near[0]]}? " if near else ""
