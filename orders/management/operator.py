"""What the operators' commands share: exit codes, errors in one line, ids in short, JSON for scripts.

Exit codes: 0 done; 1 refused, or a check that found something wrong; 2 wrong use, no such order, no database; 3 there
was nothing to do.
"""

import getpass
import json
import os
import re
import shutil
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, ProgrammingError
from psycopg.errors import UndefinedColumn, UndefinedTable

from orders.engine.runtime.sql import database_now
from orders.management.tables import WIDTH
from orders.selectors.desk.listing import LEAST_PART, matching_orders
from orders.selectors.desk.order_detail import submission_of
from orders.services.orders import Act, NoSuchOrderError, Result

DONE, REFUSED, MISUSED, NOTHING = 0, 1, 2, 3
EXIT_CODES = {Act.DONE: DONE, Act.REFUSED: REFUSED, Act.ALREADY: NOTHING}

SHORT = 8
"""Digits of a short id: the end of the order id, which is random, while its beginning is the time."""
LONGEST_NAME = 120

_PARTIAL_ID = re.compile(r"[0-9a-f]{4,32}")


class Stop(Exception):
    """Raised when a command can do no more; `said` is one line for its user."""

    def __init__(self, said: str, code: int = MISUSED) -> None:
        super().__init__(said)
        self.said = said
        self.code = code


class OperatorCommand(BaseCommand):
    """A command that ends with an exit code and never with a traceback. Subclasses have `work`."""

    requires_system_checks = ()

    def work(self, options: dict[str, Any]) -> int:
        """Does what the command is for and returns the exit code. May raise `Stop`."""
        raise NotImplementedError

    def handle(self, *args: object, **options: Any) -> None:
        for stream in (self.stdout, self.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(
                    errors="replace"
                )  # a terminal that knows no "…" is told "?", not a traceback
        try:
            code = self.work(options)
            self.stdout.flush()
        except Stop as stop:
            code = self._fail(stop.said, stop.code)
        except (OperationalError, InterfaceError) as error:
            code = self._fail(f"the database cannot be reached: {_first_line(error)}", MISUSED)
        except ProgrammingError as error:
            if not isinstance(error.__cause__, UndefinedTable | UndefinedColumn):
                raise
            code = self._fail("the database has not been migrated: run manage.py migrate", MISUSED)
        except KeyboardInterrupt:
            code = self._fail("stopped", MISUSED)
        except BrokenPipeError:
            # The reader (head, less) has had enough. Python would complain when it flushes at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = DONE
        if code != DONE:
            sys.exit(code)

    def _fail(self, said: str, code: int) -> int:
        self.stderr.write(said)
        return code

    @property
    def width(self) -> int:
        """Characters in a line: 100, or what the terminal has if it has more."""
        if not self.stdout.isatty():
            return WIDTH
        return max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)

    def painted(self, style: str, text: str) -> str:
        """The text in one of Django's colours, on a terminal that has any."""
        return str(getattr(self.style, style)(text)) if self.stdout.isatty() else text


class ReadingCommand(OperatorCommand):
    """A command that shows something, to people or with `--json` to scripts."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def show_json(self, value: object) -> None:
        """Prints it: dataclasses as objects, times in ISO 8601."""
        self.stdout.write(json.dumps(_plain(value), indent=2, ensure_ascii=False))


class ActingCommand(OperatorCommand):
    """A command that changes something, in somebody's name."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--by",
            type=actor,
            default=None,
            help="who does it, for the order's history (default: operator: and your user name)",
        )

    def confirm(self, question: str, *, yes: bool) -> None:
        """Asks, unless it was told yes. Raises `Stop` when the answer is not yes or nobody can answer."""
        if yes:
            return
        self.stdout.write(f"{question} [y/N] ", ending="")
        self.stdout.flush()
        try:
            answer = input()
        except EOFError:
            self.stdout.write("")
            raise Stop("nobody is there to answer; --yes does it without asking") from None
        if answer.strip().lower() not in ("y", "yes"):
            raise Stop("nothing was done", NOTHING)

    def on_order(self, order_id: UUID, act: Callable[[], Result]) -> int:
        """Does something to an order; returns the exit code. Raises `Stop` when there is no such order."""
        try:
            return self.say(act(), order_id)
        except NoSuchOrderError:
            raise Stop(f"{order_id}: {_missing(order_id)}") from None

    def say(self, result: Result, order_id: UUID | None = None) -> int:
        """Prints what came of an act; returns the exit code that stands for it."""
        line = f"{order_id}: {result.said}" if order_id else result.said
        (self.stderr if result.act is Act.REFUSED else self.stdout).write(line)
        return EXIT_CODES[result.act]


def now() -> datetime:
    """The database's clock."""
    return database_now()


def operator_name() -> str:
    """Who runs this command, as far as the operating system knows."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid-{os.getuid()}"
    return f"operator:{name}"[:LONGEST_NAME]


def actor(name: str) -> str:
    """A name that a history can keep. Raises `ArgumentTypeError`."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise ArgumentTypeError(f"a name has 1 to {LONGEST_NAME} printable characters")
    return name.strip()


def short(order_id: UUID) -> str:
    """An order id for a table."""
    return order_id.hex[-SHORT:]


def find_order(text: str) -> UUID:
    """The order that somebody means by an id or a part of its beginning or end. Raises `Stop`.

    A whole id is taken as it is, whether or not there is such an order.
    """
    digits = text.strip().lower().replace("-", "")
    if not _PARTIAL_ID.fullmatch(digits):
        raise Stop(
            f"{text!r} is no order id: give the UUID, or at least {LEAST_PART} hexadecimal digits"
            " of its beginning or end"
        )
    if len(digits) == 32:
        return UUID(digits)
    found = matching_orders(digits)
    if not found:
        raise Stop(f"there is no order whose id begins or ends with {text!r}")
    if len(found) > 1:
        shown = ", ".join(map(str, found[:5])) + (", …" if len(found) > 5 else "")
        raise Stop(f"{text!r} is not unique; it may be {shown}")
    return found[0]


def _missing(order_id: UUID) -> str:
    """Why an order that somebody names is not in the state store."""
    queued, set_aside = submission_of(order_id)
    if set_aside:
        return f"its submission is set aside; manage.py set_aside replay {set_aside.number} puts it back"
    return "its submission is still in the queue" if queued else "there is no such order"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
