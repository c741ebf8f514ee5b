"""How a command that read the feed can be given again, to go on where it was."""

import shlex
from collections.abc import Sequence

from sasweb.terminal.errors import RefusedError
from sasweb.terminal.output import note

REFUSED_CURSOR = {"validation_failed", "cursor_expired"}
"""The problems of a cursor that nothing can go on from: all else in a request for the feed is the command's own."""


def is_of_cursor(error: RefusedError) -> bool:
    """Whether it is the cursor that was refused."""
    return error.code in REFUSED_CURSOR


def note_resuming(argv: Sequence[str], cursor: str, *options: str) -> None:
    """Prints the same command with further options, after this cursor."""
    note(f"Go on with: {shlex.join(['bin/sasweb', *_without_cursor(argv), *options, f'--after={cursor}'])}")


def _without_cursor(argv: Sequence[str]) -> list[str]:
    return [
        word
        for before, word in zip(["", *argv], argv, strict=False)
        if "--after" not in (before, word.partition("=")[0])
    ]
