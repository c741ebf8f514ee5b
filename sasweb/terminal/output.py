"""What the command prints: what was asked for on standard output, and what else there is to say on standard error."""

import sys
from unicodedata import category


def show(text: str) -> None:
    """Prints a part of the answer at once, so that a program which reads it is never behind."""
    print(printable(text), flush=True)


def note(text: str) -> None:
    """Prints what is no part of the answer."""
    print(printable(text), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """The text with an escape in place of each sign that would control the terminal: much of it was written by
    strangers. JSON stays the same JSON."""
    return "".join(
        f"\\u{ord(sign):04x}" if category(sign) == "Cc" and sign != "\n" else sign for sign in text
    )
