"""What people read on a page or in an email: its texts, those of its attributes, and what of them is not ⟦marked⟧."""

import re
from collections.abc import Collection, Iterator
from html.parser import HTMLParser

SPOKEN = ("title", "aria-label", "aria-description", "alt", "placeholder", "label", "data-text")
"""Attributes that people read or hear, wherever they stand."""
UNREAD = ("script", "style", "code", "time")
"""Elements without sentences. Times are written by the locale alone."""
VOID = (
    "meta",
    "link",
    "input",
    "br",
    "img",
    "hr",
    "use",
    "path",
    "circle",
    "rect",
    "image",
    "col",
    "source",
    "wbr",
)
ORDER_NUMBER = re.compile(r"\b[0-9A-Z]{4}-[0-9A-Z]{4}\b")
OPEN, CLOSE = "⟦⟧"


class _Reader(HTMLParser):
    """Collects the texts of a page. `depth` is how many marks are open: a sentence may have elements in it."""

    def __init__(self) -> None:
        super().__init__()
        self.unmarked: list[str] = []
        self.depth = 0
        self._quiet: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if not self._quiet and tag not in UNREAD:
            for name in SPOKEN:
                self._read_alone(values.get(name, ""))
            if tag == "meta" and (values.get("name") == "description" or "og:image:alt" in values.values()):
                self._read_alone(values.get("content", ""))
        is_foreign = "lang" in values and tag != "html"
        if (self._quiet or tag in UNREAD or is_foreign) and tag not in VOID:
            self._quiet.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._quiet and tag not in VOID:
            self._quiet.pop()

    def handle_data(self, data: str) -> None:
        if self._quiet:
            return
        outside, self.depth = _outside(data, self.depth)
        self._keep(outside)

    def _read_alone(self, text: str) -> None:
        self._keep(_outside(text, 0)[0])

    def _keep(self, texts: list[str]) -> None:
        self.unmarked += [words for text in texts if (words := " ".join(text.split()))]


def _outside(text: str, depth: int) -> tuple[list[str], int]:
    """What of a text is outside of marks, and how many are open at its end."""
    texts, present = [], ""
    for char in text:
        if char == OPEN:
            depth += 1
        elif char == CLOSE:
            depth -= 1
        elif not depth:
            present += char
            continue
        texts.append(present)
        present = ""
    return [*texts, present], depth


def unmarked(html: str, *, data: Collection[str]) -> Iterator[str]:
    """The texts of a page that have letters outside of marks, without what is data."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.depth == 0, "a mark is not closed"
    longest_first = sorted(data, key=len, reverse=True)
    for text in reader.unmarked:
        rest = ORDER_NUMBER.sub(" ", text)
        for phrase in longest_first:
            rest = rest.replace(phrase, " ")
        if any(char.isalpha() for char in rest):
            yield text
