"""Which alerts have one cause: their kind, agent, code and message, with what differs from order to order taken out."""

import re

LONGEST_PATTERN = 200
"""Characters of a message that tell causes apart."""

_ID = re.compile(r"\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b", re.IGNORECASE)
_HEX = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\u2018[^\u2019]*\u2019|\u201c[^\u201d]*\u201d")
_ADDRESS = re.compile(r"[^\s@<>]+@[^\s@<>]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def pattern(message: str) -> str:
    """The message with ids, quoted words, mail addresses and numbers replaced by "…", on one line."""
    text = " ".join(message.split())
    for differing in (_ID, _QUOTED, _ADDRESS, _HEX, _NUMBER):
        text = differing.sub("…", text)
    return text[:LONGEST_PATTERN]
