"""Runs an operators' command in this process and keeps what it printed."""

import io
import json
import sys
from contextlib import redirect_stdout
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.models import Alert, Event, Order
from tests.support import factories


class Ran(NamedTuple):
    """The result of a command. `words` is all its output, with each run of white space as one space."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        return " ".join(f"{self.out} {self.err}".split())

    def json(self) -> Any:
        return json.loads(self.out)

    def line_with(self, text: str) -> str:
        """The only line with this text, with each run of white space as one space."""
        (line,) = [line for line in self.out.splitlines() if text in line]
        return " ".join(line.split())


def run(command: str, *arguments: object, answer: str | None = None) -> Ran:
    """Runs it as `manage.py COMMAND ARGUMENTS` would; `answer` is what the user types, None if nobody is there."""
    out, err = io.StringIO(), io.StringIO()
    typed = io.StringIO("" if answer is None else f"{answer}\n")
    code = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        patch.setattr(sys, "stdin", typed)
        try:
            call_command(command, *map(str, arguments), stdout=out, stderr=err)
        except SystemExit as end:
            code = int(end.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


def queries(command: str, *arguments: object) -> int:
    """How many queries the command makes."""

    with CaptureQueriesContext(connection) as captured:
        run(command, *arguments)
    return len(captured)


def short(order_id: UUID) -> str:
    """An order's ID as the tables show it."""
    return order_id.hex[-8:]


def make_alert(order_id: UUID, **fields: Any) -> Alert:
    """An open alert of an order."""
    defaults = {
        "kind": "step_failed",
        "step": "bake",
        "agent": "oven",
        "code": "too_hot",
        "message": "it burnt",
    }
    return factories.make_alert(order_id, **(defaults | fields))


def make_event(order_id: UUID, kind: str, step: str = "", attempt: int = 0, **fields: Any) -> Event:
    """Records an event of an order."""
    defaults = {"actor_kind": "scheduler", "actor_name": "scheduler:test", "detail": {}}
    return Event.objects.create(
        order_id=order_id, kind=kind, step=step, attempt=attempt, **(defaults | fields)
    )


def make_purchase(order_id: UUID, **fields: Any) -> Order:
    """The order's row in the orders database."""
    defaults = {"email": "kim@example.com", "total": 2_900}
    return factories.make_purchase(order_id, **(defaults | fields))
