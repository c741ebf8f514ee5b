"""The text of a PDF that Typst has made, as somebody who copies it gets it."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

_OBJECT = re.compile(rb"(\d+) 0 obj\n(.*?)\nendobj", re.DOTALL)
_LETTER = re.compile(rb"^<([0-9a-f]{4})> <([0-9a-f]+)>$", re.IGNORECASE | re.MULTILINE)
_LETTERS = re.compile(rb"beginbfchar(.*?)endbfchar", re.DOTALL)
_FONT = re.compile(rb"/(f\d+) [\d.]+ Tf")
UNKNOWN = "\ufffd"
"""Stands for a letter that no font had."""
_ESCAPES = {ord("n"): 10, ord("r"): 13, ord("t"): 9, ord("b"): 8, ord("f"): 12}


@dataclass(frozen=True)
class Pdf:
    """A PDF's objects by their numbers."""

    objects: dict[int, bytes]

    @property
    def pages(self) -> list[str]:
        """The text of each page, one line for each piece of it."""
        pages = [body for body in self.objects.values() if b"/Type/Page/" in body]
        return ["".join(self._pieces(page)) for page in pages]

    def _pieces(self, page: bytes) -> Iterator[str]:
        resources = self.objects[_reference(page, b"Resources")]
        fonts = {
            name: self._letters(self.objects[int(number)])
            for name, number in re.findall(rb"/(f\d+) (\d+) 0 R", resources)
        }
        letters: dict[int, str] = {}
        for operation, strings in _operations(_stream(self.objects[_reference(page, b"Contents")])):
            if font := _FONT.findall(operation):
                letters = fonts[font[-1]]
            if operation.endswith((b"TJ", b"Tj")):
                codes = b"".join(strings)
                for at in range(0, len(codes), 2):
                    yield letters.get(int.from_bytes(codes[at : at + 2]), UNKNOWN)
            elif operation.endswith(b"EMC"):
                yield "\n"

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
