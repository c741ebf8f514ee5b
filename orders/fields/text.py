"""One line of text, such as a name, a street or a reason."""

import unicodedata

BREAKING_CATEGORIES = frozenset({"Cc", "Zl", "Zp", "Cs"})
"""Unicode categories of control characters, line and paragraph separators, and surrogates."""


def is_one_line(text: str) -> bool:
    """Whether a text has no line breaks and no other control characters."""
    return not any(unicodedata.category(character) in BREAKING_CATEGORIES for character in text)
