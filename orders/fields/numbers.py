"""Whole numbers as people and clients type them."""

MOST_DIGITS = 18
"""So many digits fit into a 64-bit integer, whatever they are."""


def read_whole_number(text: str, *, largest: int) -> int | None:
    """The number that a text of ASCII digits stands for; None for any other text, and for more than `largest`."""
    if not (text.isascii() and text.isdigit()) or len(text) > MOST_DIGITS:
        return None
    number = int(text)
    return number if number <= largest else None
