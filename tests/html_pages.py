"""Pages as tests look at them: whether each element is closed in its turn, what is text, what asks for a network."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})
REFERENCES = frozenset({"src", "href", "action", "data", "poster", "srcset", "formaction", "background"})


class Page(HTMLParser):
    """A page, taken apart. What is wrong with it stands in ``problems``."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.words: list[str] = []
        """What a reader sees."""
        self.scripts: list[str] = []
        self.style = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.problems += [f"<{tag}> is never closed" for tag in self._open]
        self.problems += [f"id {name} stands twice" for name in self.ids if self.ids.count(name) > 1]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in REFERENCES:
                self.references.append(value or "")
            if name.startswith("on"):
                self.problems.append(f"<{tag}> has the handler {name}")
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing, or not what was opened last")

    def handle_data(self, data: str) -> None:
        within = self._open[-1] if self._open else ""
        if within == "script":
            self.scripts[-1] += data
        elif within == "style":
            self.style += data
        elif data.strip():
            self.words.append(data.strip())

    @property
    def text(self) -> str:
        """All that a reader sees, with blanks between."""
        return " ".join(" ".join(self.words).split())

    @property
    def requests(self) -> list[str]:
        """What the page would ask for elsewhere: links within it are none."""
        found = [reference for reference in self.references if not reference.startswith("#")]
        return found + re.findall(r"@import|url\([^)]*\)", self.style)
