"""What the command prints: what was asked for on standard output, and what else there is to say on standard error."""

import sys
from unicodedata import category


class OutputError(Exception):
    """Raised when standard output takes nothing, as on a full disk. One that is closed is a `BrokenPipeError`."""


def show(text: str) -> None:
    """Prints a part of the answer at once, so that a program which reads it is never behind. Raises `OutputError`."""
    try:
        print(printable(text), flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"The answer cannot be written to standard output: {error.strerror}.") from error


def note(text: str) -> None:
    """Prints what is no part of the answer."""
    print(printable(text), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """The text with an escape in place of each sign that would control the terminal: much of it was written by
    strangers. JSON stays the same JSON."""
    return "".join(
        f"\\u{ord(sign):04x}" if category(sign) == "Cc" and sign != "\n" else sign for sign in text
    )
