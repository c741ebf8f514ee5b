"""A letter: what an email to a customer is made of. Pure.

Its words are in the reader's language already, and are plain text: both forms of it escape them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture that an email carries. `cid` names it within the email; `width` and `height` are as it is shown."""

    cid: str
    png: bytes
    width: int
    height: int


@dataclass(frozen=True)
class Heading:
    """What the letter says, in one line."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True)
class Button:
    """The link that the reader is to follow."""

    text: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Item:
    """One line of an order: its title, what tells it from others of that title, how many, and its sum in words. What it
    does not have is empty."""

    title: str
    quantity: str
    details: str = ""
    amount: str = ""
    picture: Picture | None = None


@dataclass(frozen=True, kw_only=True)
class Items:
    """What was ordered, and what it comes to; `total` is a label and a sum, or None. `added` is what is added to the
    rows, and `included` is what the total includes, each with a label and a sum."""

    rows: Sequence[Item]
    total: tuple[str, str] | None = None
    added: Sequence[tuple[str, str]] = ()
    included: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Link:
    """A few words that lead to a url."""

    text: str
    url: str


@dataclass(frozen=True)
class Facts:
    """Labels with what they stand for, which may have several lines."""

    rows: Sequence[tuple[str, str | Link]]


@dataclass(frozen=True)
class Note:
    """Small print."""

    text: str


Block: TypeAlias = Heading | Paragraph | Button | Items | Facts | Note


@dataclass(frozen=True, kw_only=True)
class Letter:
    """An email's words. `language` is their tag, `sender` is who writes, and `preheader` is what a list of emails shows
    beside the subject. `labelled` is how plain text in that language sets a `label` before a `text`."""

    language: str
    sender: str
    subject: str
    preheader: str
    blocks: Sequence[Block]
    labelled: str = "{label}: {text}"

    @property
    def pictures(self) -> Sequence[Picture]:
        """The pictures that it carries, each once."""
        rows = [row for block in self.blocks if isinstance(block, Items) for row in block.rows]
        return list({row.picture.cid: row.picture for row in rows if row.picture}.values())


def one_line(text: str) -> str:
    """Joins a text into one line, so that a customer's name cannot add paragraphs to our email."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def as_text(letter: Letter) -> str:
    """The letter in plain text. Urls stand on lines of their own, so that mail programs make links of them."""
    labels = _Labels(letter.labelled)
    parts = [part for block in letter.blocks if (part := _text(block, labels))]
    return "\n\n".join(parts) + "\n"


@dataclass(frozen=True)
class _Labels:
    """Sets a label before a text, as `pattern` says, or above it."""

    pattern: str

    def before(self, label: str, text: str) -> str:
        return self.pattern.format(label=label, text=text)

    def above(self, label: str) -> str:
        return self.before(label, "").rstrip()


def _text(block: Block, labels: _Labels) -> str:
    match block:
        case Heading(text) | Paragraph(text) | Note(text):
            return text
        case Button(text, url):
            return f"{labels.above(text)}\n\n{url}"
        case Items(rows=rows):
            sums = [*block.added, *([block.total] if block.total else []), *block.included]
            lines = [*(_item(row, labels) for row in rows), *(f"  {labels.before(*each)}" for each in sums)]
            return "\n".join(lines)
        case Facts(rows):
            return "\n".join(_fact(label, _plain(fact), labels) for label, fact in rows)


def _item(row: Item, labels: _Labels) -> str:
    title = f"  {row.quantity} × {row.title}"
    first = labels.before(title, row.amount) if row.amount else title
    return f"{first}\n      {row.details}" if row.details else first


def _plain(fact: str | Link) -> str:
    return f"{fact.text}\n{fact.url}" if isinstance(fact, Link) else fact


def _fact(label: str, text: str, labels: _Labels) -> str:
    lines = text.splitlines() or [""]
    return labels.before(label, lines[0]) if len(lines) == 1 else "\n  ".join([labels.above(label), *lines])
