"""The text of a PDF that Typst has made, as somebody who copies it gets it."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_OBJECT = re.compile(rb"(\d+) 0 obj\n(.*?)\nendobj", re.DOTALL)
_LETTER = re.compile(rb"^<([0-9a-f]{4})> <([0-9a-f]+)>$", re.IGNORECASE | re.MULTILINE)
_LETTERS = re.compile(rb"beginbfchar(.*?)endbfchar", re.DOTALL)
_SPELLED = re.compile(rb"/ActualText<FEFF([0-9A-F]+)>>>BDC$")
_FONT = re.compile(rb"/(f\d+) [\d.]+ Tf")
UNKNOWN = "\ufffd"
"""Stands for a letter that no font had."""
_PLACE = re.compile(rb"1 0 0 -1 ([\d.]+) ([\d.]+) cm")
_ESCAPES = {ord("n"): 10, ord("r"): 13, ord("t"): 9, ord("b"): 8, ord("f"): 12}


class Piece(NamedTuple):
    """Some text of a page, and where it begins."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class Pdf:
    """A PDF's objects by their numbers."""

    objects: dict[int, bytes]

    @property
    def pages(self) -> list[str]:
        """The text of each page, one line for each piece of it."""
        return ["".join(piece.text for piece in self._pieces(page)) for page in self._pages()]

    @property
    def from_left(self) -> str:
        """The text of all pages by where it stands, from above and from the left, whichever way it is read."""
        pieces = [piece for page in self._pages() for piece in self._pieces(page)]
        return "".join(piece.text for piece in sorted(pieces, key=lambda piece: (-piece.y, piece.x)))

    def _pages(self) -> list[bytes]:
        return [body for body in self.objects.values() if b"/Type/Page/" in body]

    def _pieces(self, page: bytes) -> Iterator[Piece]:
        resources = self.objects[_reference(page, b"Resources")]
        fonts = {
            name: self._letters(self.objects[int(number)])
            for name, number in re.findall(rb"/(f\d+) (\d+) 0 R", resources)
        }
        letters, is_spelled, x, y = dict[int, str](), False, 0.0, 0.0
        for operation, strings in _operations(_stream(self.objects[_reference(page, b"Contents")])):
            if place := _PLACE.findall(operation):
                x, y = map(float, place[-1])
            if font := _FONT.findall(operation):
                letters = fonts[font[-1]]
            text = ""
            if spelled := _SPELLED.search(operation):
                is_spelled = True
                text = bytes.fromhex(spelled[1].decode()).decode("utf-16-be")
            elif operation.endswith((b"TJ", b"Tj")) and not is_spelled:
                codes = b"".join(strings)
                codes_of = (int.from_bytes(codes[at : at + 2]) for at in range(0, len(codes), 2))
                text = "".join(letters.get(code, UNKNOWN) for code in codes_of)
            elif operation.endswith(b"EMC"):
                text = "" if is_spelled else "\n"
                is_spelled = False
            yield Piece(text, x, y)

    def _letters(self, font: bytes) -> dict[int, str]:
        """The letters of a font by their codes."""
        tables = _LETTERS.findall(_stream(self.objects[_reference(font, b"ToUnicode")]))
        pairs = [pair for table in tables for pair in _LETTER.findall(table)]
        return {int(code, 16): bytes.fromhex(text.decode()).decode("utf-16-be") for code, text in pairs}


def read_pdf(content: bytes) -> Pdf:
    """Reads a PDF."""
    assert content.startswith(b"%PDF-")
    return Pdf({int(number): body for number, body in _OBJECT.findall(content)})


def _reference(body: bytes, name: bytes) -> int:
    match = re.search(rb"/" + name + rb" (\d+) 0 R", body)
    assert match, f"no {name!r} in {body[:200]!r}"
    return int(match[1])


def _stream(body: bytes) -> bytes:
    return zlib.decompress(body.partition(b"stream\n")[2].rpartition(b"\nendstream")[0])


def _operations(content: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """What is between the ends of pieces and of shown strings, each with the strings in it."""
    outside, strings, at = b"", list[bytes](), 0
    while at < len(content):
        if content[at] == ord("("):
            string, at = _string(content, at + 1)
            strings.append(string)
            continue
        outside += content[at : at + 1]
        at += 1
        if outside.endswith((b"TJ", b"Tj", b"EMC", b"BDC")):
            yield outside, strings
            outside, strings = b"", []


def _string(content: bytes, at: int) -> tuple[bytes, int]:
    """A string from behind its parenthesis on, and where it ends. Parentheses in it are balanced or escaped."""
    codes, depth = bytearray(), 1
    while True:
        sign = content[at]
        at += 1
        if sign == ord("\\"):
            if octal := re.match(rb"[0-7]{1,3}", content[at : at + 3]):
                codes.append(int(octal[0], 8))
                at += len(octal[0])
            else:
                codes.append(_ESCAPES.get(content[at], content[at]))
                at += 1
            continue
        depth += {ord("("): 1, ord(")"): -1}.get(sign, 0)
        if not depth:
            return bytes(codes), at
        codes.append(sign)
