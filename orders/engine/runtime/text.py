"""Text that PostgreSQL can store: text and jsonb allow neither NUL nor lone surrogates."""

import json
import re
from typing import Any

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


def strict_json(value: Any) -> str:
    """The value as JSON, unchanged. Raises `ValueError` or `TypeError` if it could not be stored as it is."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    text.encode("utf-8")
    if _ESCAPED_NUL.search(text):
        raise ValueError("it contains a NUL character")
    return text
