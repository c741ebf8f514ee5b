"""What the operators' commands share: exit codes, one-line errors, short ids, JSON for scripts.

Exit codes: 0 done; 1 refused, or a check that found a problem; 2 wrong use, no such order, or no database; 3 nothing
to do.
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

from orders.engine.runtime.text import first_line
from orders.fields.order_numbers import MISTAKEN, MistakenNumberError, is_written_as_number, read_number
from orders.management.tables import WIDTH, styled
from orders.selectors.desk.order_detail import submission_of
from orders.selectors.desk.order_ids import LEAST_BEGINNING, LEAST_ENDING, orders_like
from orders.selectors.desk.query import QueryError
from orders.selectors.desk.saved_views import named, shared_names
from orders.selectors.order_numbers import orders_with_number
from orders.services.act_results import Result, ResultStatus
from orders.services.order_lock import NoSuchOrderError
from orders.wording.queries import read_query

DONE, REFUSED, MISUSED, NOTHING = 0, 1, 2, 3
EXIT_CODES = {ResultStatus.DONE: DONE, ResultStatus.REFUSED: REFUSED, ResultStatus.ALREADY: NOTHING}

SHORT = 8
"""Digits of a short id: the end of an order's id is random, while its beginning is the time."""
LONGEST_NAME = 120

_PARTIAL_ID = re.compile(r"[0-9a-f]{4,32}")


class Stop(Exception):
    """Raised when a command cannot continue; `message` is the line that its user sees."""

    def __init__(self, message: str, code: int = MISUSED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def readable_query(query: str) -> str:
    """The query of the list of orders. Raises `Stop` if it cannot be read, naming the word."""
    try:
        read_query(query)
    except QueryError as error:
        raise Stop(str(error)) from error
    return query


def query_of_view(name: str) -> str:
    """The query of the shared view with this name, or of the only other one. Raises `Stop`."""
    views = named(name)
    if len(views) == 1:
        return views[0].query
    if views:
        owners = ", ".join(view.owner for view in views)
        raise Stop(f"the view {name!r} is not shared, and several people have one: {owners}")
    shared = ", ".join(shared_names()) or "none"
    raise Stop(f"there is no view {name!r}; shared views: {shared}")


class OperatorCommand(BaseCommand):
    """A command that ends with an exit code, never with a traceback. Subclasses implement `work`."""

    requires_system_checks = ()
    is_coloured = False

    def work(self, options: dict[str, Any]) -> int:
        """Does the command's work and returns its exit code. May raise `Stop`."""
        raise NotImplementedError

    def handle(self, *args: object, **options: Any) -> None:
        self.is_coloured = self.stdout.isatty() and not options.get("no_color")
        for stream in (self.stdout, self.stderr):
            if hasattr(stream, "reconfigure"):
                # A terminal whose encoding lacks "…" shows "?" instead of a traceback.
                stream.reconfigure(errors="replace")
        try:
            code = self.work(options)
            self.stdout.flush()
        except Stop as stop:
            code = self._fail(stop.message, stop.code)
        except (OperationalError, InterfaceError) as error:
            code = self._fail(unreachable(error), MISUSED)
        except ProgrammingError as error:
            if not isinstance(error.__cause__, UndefinedTable | UndefinedColumn):
                raise
            code = self._fail("the database has not been migrated: run manage.py migrate", MISUSED)
        except KeyboardInterrupt:
            code = self._fail("stopped", MISUSED)
        except BrokenPipeError:
            # The reader (head, less) has closed the pipe. Python would complain when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = DONE
        if code != DONE:
            sys.exit(code)

    def _fail(self, message: str, code: int) -> int:
        self.stderr.write(message)
        return code

    @property
    def width(self) -> int:
        """Characters in a line: 100, or more on a wider terminal."""
        if not self.stdout.isatty():
            return WIDTH
        return max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)

    def styled(self, text: str, style: str) -> str:
        """The text, safe to print, in a style such as "bold red" on a terminal and plain elsewhere."""
        return styled(text, style, coloured=self.is_coloured)


class ReadingCommand(OperatorCommand):
    """A command that shows something to people or, with `--json`, to scripts."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def show_json(self, value: object) -> None:
        """Prints a value as JSON: dataclasses as objects, times in ISO 8601."""
        self.stdout.write(json.dumps(_plain(value), indent=2, ensure_ascii=False))


class ActingCommand(OperatorCommand):
    """A command that changes something in an operator's name."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--by",
            type=actor,
            default=None,
            help="who acts, for the order's history (default: operator:NAME, with the name of your system account)",
        )

    def confirm(self, question: str, *, yes: bool) -> None:
        """Asks for confirmation unless `yes`. Raises `Stop` if the answer is not yes or nobody can answer."""
        if not yes and self._answer(f"{question} [y/N] ").lower() not in ("y", "yes"):
            raise Stop("nothing was changed", NOTHING)

    def confirm_count(self, question: str, count: int, *, yes: bool) -> None:
        """Asks for a count to be typed unless `yes`. Raises `Stop` if another count is typed or nobody can answer."""
        if not yes and self._answer(f"{question} Type {count} to confirm: ").replace(",", "") != str(count):
            raise Stop("nothing was changed", NOTHING)

    def _answer(self, question: str) -> str:
        self.stdout.write(question, ending="")
        self.stdout.flush()
        try:
            return input().strip()
        except EOFError:
            self.stdout.write("")
            raise Stop("no terminal to ask for confirmation; use --yes") from None

    def on_order(self, order_id: UUID, act: Callable[[], Result]) -> int:
        """Acts on an order and returns the exit code. Raises `Stop` if there is no such order."""
        try:
            return self.say(act(), order_id)
        except NoSuchOrderError:
            raise Stop(f"{order_id}: {_missing(order_id)}") from None

    def say(self, result: Result, order_id: UUID | None = None) -> int:
        """Prints the result of an act and returns its exit code."""
        line = f"{order_id}: {result.message}" if order_id else result.message
        (self.stderr if result.status is ResultStatus.REFUSED else self.stdout).write(line)
        return EXIT_CODES[result.status]


def limit_of(options: dict[str, Any]) -> int:
    """The value of --limit. Raises `Stop` if it is below one."""
    limit: int = options["limit"]
    if limit < 1:
        raise Stop("--limit takes a number from 1 on")
    return limit


def operator_name() -> str:
    """Who runs this command, according to the operating system."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid-{os.getuid()}"
    return f"operator:{name}"[:LONGEST_NAME]


def actor(name: str) -> str:
    """The name of an actor, checked. Raises `ArgumentTypeError`."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise ArgumentTypeError(f"a name has 1 to {LONGEST_NAME} printable characters")
    return name.strip()


def short(order_id: UUID) -> str:
    """An order id for a table."""
    return order_id.hex[-SHORT:]


def find_order(text: str) -> UUID:
    """The order with this number or id, or with an id that ends or begins with this part. Raises `Stop`.

    A whole id is returned as it is, whether or not there is such an order.
    """
    if (numbered := _order_with_number(text)) is not None:
        return numbered
    digits = text.strip().lower().replace("-", "")
    if not _PARTIAL_ID.fullmatch(digits):
        raise Stop(
            f"{text!r} is no order: give its number, its whole id, at least {LEAST_ENDING} hexadecimal digits of"
            f" its end, or at least {LEAST_BEGINNING} of its beginning"
        )
    if len(digits) == 32:
        return UUID(digits)
    matches = orders_like(digits)
    if not matches:
        raise Stop(f"no order id ends or begins with {text!r}")
    if len(matches) > 1:
        shown = ", ".join(map(str, matches[:5])) + (", …" if len(matches) > 5 else "")
        raise Stop(f"{text!r} is ambiguous: it matches {shown}")
    return matches[0]


def _order_with_number(text: str) -> UUID | None:
    """The order with this number. None if the text may be something else. Raises `Stop` for a number with a mistake in
    it, or that no order has."""
    is_number = is_written_as_number(text)
    try:
        number = read_number(text)
    except MistakenNumberError as error:
        if is_number:
            raise Stop(f"{text!r}: {MISTAKEN}") from error
        return None
    orders = orders_with_number(number) if number else ()
    if len(orders) > 1:
        raise Stop(f"{text!r} is ambiguous: it is the number of {', '.join(map(str, orders))}")
    if is_number and not orders:
        raise Stop(f"no order has the number {number}")
    return orders[0] if orders else None


def _missing(order_id: UUID) -> str:
    """Why an order is not in the state store."""
    queued, set_aside = submission_of(order_id)
    if set_aside:
        return f"its submission is set aside; to replay it: manage.py set_aside replay {set_aside.number}"
    return "its submission is still in the queue" if queued else "no such order"


def unreachable(error: Exception) -> str:
    """What a command says in one line of a database that it cannot reach."""
    reason = (first_line(error) or type(error).__name__).rstrip(".")
    return f"the database cannot be reached: {reason}. Is bin/up running with this VAR_DIR, or is DATABASE_URL right?"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
