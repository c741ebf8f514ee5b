"""Text that PostgreSQL can store, without NULs and lone surrogates; and what is shown of a message."""

import json
import re
from typing import Any

LONGEST_PATTERN = 200
"""Characters of a message that distinguish causes; the width of the column."""

LONGEST_CODE = 60
"""Characters of an error's code; the width of its column."""

_ID = re.compile(r"\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b", re.IGNORECASE)
_HEX = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\u2018[^\u2019]*\u2019|\u201c[^\u201d]*\u201d")
_EMAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def keepable(text: str) -> str:
    """The text with every character that cannot be stored replaced by a mark."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def keepable_json(value: Any) -> Any:
    """The JSON value with every text in it made storable."""
    if isinstance(value, str):
        return keepable(value)
    if isinstance(value, dict):
        return {keepable(str(name)): keepable_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [keepable_json(inner) for inner in value]
    return value


def short_code(text: str) -> str:
    """What a remote service or an agent calls an error, as one short word; `unknown` if that leaves nothing."""
    return "_".join(keepable(text)[:LONGEST_CODE].split()) or "unknown"


def strict_json(value: Any) -> str:
    """The value as JSON, unchanged. Raises `ValueError` or `TypeError` if it could not be stored as it is."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode("utf-8")
    if _ESCAPED_NUL.search(text):
        raise ValueError("it contains a NUL character")
    return text


def first_line(message: object) -> str:
    """The first line of a message, such as a database error with its details."""
    return str(message).strip().split("\n")[0]


def message_pattern(message: str, *, keep: str = "") -> str:
    """The message on one line, with ids, quoted words, emails and numbers replaced by "…", except in the text `keep`.

    Alerts with the same kind, agent, code and pattern have one cause, and form one group.
    """
    text = " ".join(message.split())
    parts = text.split(keep) if keep else [text]
    for variable_part in (_ID, _QUOTED, _EMAIL, _HEX, _NUMBER):
        parts = [variable_part.sub("…", part) for part in parts]
    return keep.join(parts)[:LONGEST_PATTERN]
