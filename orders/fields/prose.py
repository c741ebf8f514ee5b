"""A text of several lines or sentences, such as a note."""

import re

_AFTER_CHINESE_MARK = re.compile(r"(?<=[。？！：；，、])\s+")  # noqa: RUF001 - as the Chinese write them


def close_up(text: str) -> str:
    """Sentences that were put together with spaces, as people write them: there is none after a Chinese mark."""
    return _AFTER_CHINESE_MARK.sub("", text)


def tidy_prose(text: str, *, longest: int) -> str:
    """The text without NUL characters, which the database refuses, and without space around it, with the line endings
    of a Unix text. What is beyond `longest` characters is cut off."""
    return text.replace("\x00", "").replace("\r\n", "\n").strip()[:longest].rstrip()
