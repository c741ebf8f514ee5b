"""Whole numbers as people and clients type them."""

LARGEST_ID = 2**63 - 1
"""The largest key of a row: a 64-bit integer."""
MOST_DIGITS = len(str(LARGEST_ID))
"""Python refuses to read a number of thousands of digits."""


def read_whole_number(text: str, *, largest: int = LARGEST_ID) -> int | None:
    """The number that a text of ASCII digits stands for; None for any other text, and for more than `largest`."""
    if not (text.isascii() and text.isdigit()) or len(text) > MOST_DIGITS:
        return None
    number = int(text)
    return number if number <= largest else None
