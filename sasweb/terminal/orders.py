"""`bin/sasweb orders …`: places an order, shows and follows it, pays for it and cancels it."""

import json
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any
from uuid import uuid4

from sasweb.terminal import operations
from sasweb.terminal.errors import DONE, REFUSED, NoAnswerError, RefusedError, UsageError
from sasweb.terminal.output import note, show
from sasweb.terminal.patience import LostError
from sasweb.terminal.server import Answer, Server
from sasweb.terminal.wording import order_line, order_lines

RECONNECT = 1.0
"""Seconds between a stream that has ended and the next, in which nothing is missed."""
NUMBER = re.compile("[0-9A-Za-z]{4}-?[0-9A-Za-z]{4}")
"""The number of an order. Whether there is a mistake in it is for the server to say."""
UNTIL = "processed"
"""Until when an order is followed if nothing else is said."""


def place(server: Server, arguments: Namespace) -> int:
    """Places an order. Its key is printed before it is sent, so that nobody ever has to guess whether it was."""
    if arguments.until and not arguments.follow:
        raise UsageError("--until says until when --follow goes on: give both.")
    key = arguments.key or str(uuid4())
    values = {"Idempotency-Key": key, "body": read_order(arguments)}
    note(f"Idempotency-Key: {key}")
    with _doubt(
        f"The order may have been placed. Repeat the command with --key={quote(key)} to be sure: it is placed once."
    ):
        answer = server.send(operations.PLACE_ORDER, values)
    if answer.headers.get("Idempotent-Replayed"):
        note("An earlier request with this key has placed this order.")
    _show_order(answer, arguments)
    if not arguments.follow:
        return DONE
    return follow_order(server, answer.json["id"], arguments, shown=answer.json)


def show_order(server: Server, arguments: Namespace) -> int:
    """Shows an order in full."""
    identify(server, arguments)
    answer = server.send(operations.GET_ORDER, {"order_id": arguments.order_id})
    show(answer.text if arguments.json else order_lines(answer.json))
    return DONE


def pay(server: Server, arguments: Namespace) -> int:
    """Pays for an order whose payment was declined."""
    identify(server, arguments)
    order = {"order_id": arguments.order_id}
    values = {**order, "payment_method": arguments.payment_method}
    try:
        with _doubt(f"The payment may have been taken. {_look(arguments)}"):
            answer = server.send(operations.PAY_FOR_ORDER, values)
    except RefusedError as error:
        if not (error.is_repetition and error.code == "not_waiting_for_customer"):
            raise
        note(
            "Nothing waits for a payment any more, so the try without an answer was taken. This is the order now:"
        )
        answer = server.send(operations.GET_ORDER, order)
    _show_order(answer, arguments)
    return DONE


def cancel(server: Server, arguments: Namespace) -> int:
    """Cancels an order."""
    identify(server, arguments)
    with _doubt(f"The order may have been cancelled. {_look(arguments)}"):
        answer = server.send(operations.CANCEL_ORDER, {"order_id": arguments.order_id})
    _show_order(answer, arguments)
    return DONE


def follow(server: Server, arguments: Namespace) -> int:
    """Shows an order whenever it changes."""
    identify(server, arguments)
    return follow_order(server, arguments.order_id, arguments)


def identify(server: Server, arguments: Namespace) -> None:
    """Puts the id of the order in place of its number. Raises `RefusedError` if no order of the token's account has
    that, or several have."""
    number = arguments.order_id
    if not NUMBER.fullmatch(number):
        return
    results = server.send(operations.LIST_ORDERS, {"number": number}).json["results"]
    ids = [order["id"] for order in results]
    if not ids:
        raise RefusedError(f"No order of this token's account has the number {number}.")
    if len(ids) > 1:
        raise RefusedError(f"Several orders have the number {number}. Name one by its id: {', '.join(ids)}.")
    (arguments.order_id,) = ids


def follow_order(server: Server, order_id: str, arguments: Namespace, *, shown: Any = None) -> int:
    """Follows an order until it is as it was to be, or has ended otherwise. What is `shown` already is not shown again.
    Returns the exit status."""
    line = order_line(shown) if shown else ""
    for text in _versions(server, order_id):
        order = json.loads(text)
        if arguments.json:
            if order != shown:
                show(text)
        elif order_line(order) != line:
            line = order_line(order)
            show(line)
        if (arguments.until or UNTIL) in (order["state"], order["waiting_for"]):
            return DONE
        if "payment" in order["links"]:
            note(f"Pay with: bin/sasweb orders pay {order['id']} --payment-method …")
        elif "corrections" in order["links"]:
            note(
                f"Correct it: POST {order['links']['corrections']}, with changes of what its `correctable` names."
            )
    return REFUSED


def read_order(arguments: Namespace) -> Any:
    """The body of an order: that of --file, with its lines replaced by those of --line, and the values
    of --set. Raises `UsageError`."""
    order: Any = {}
    if arguments.file:
        order = _read_file(arguments.file)
    elif not arguments.line:
        raise UsageError(
            "Say what to order: --file order.json, or --line SKU=QUANTITY and --set ship_to.city=Delft."
        )
    if not isinstance(order, dict):
        raise UsageError(f"{arguments.file} is not a JSON object, which an order is.")
    if arguments.line:
        order["lines"] = [{"sku": sku, "quantity": quantity} for sku, quantity in arguments.line]
    for path, value in arguments.set:
        _set(order, path, value)
    return order


@contextmanager
def _doubt(text: str) -> Iterator[None]:
    """Says this too if nobody waits for the answer any more: the server may have done what it was asked."""
    try:
        yield
    except NoAnswerError as error:
        raise NoAnswerError(f"{error}\n{text}") from error
    except KeyboardInterrupt:
        note(text)
        raise


def _look(arguments: Namespace) -> str:
    return f"Look with: bin/sasweb orders show {arguments.order_id}"


def _versions(server: Server, order_id: str) -> Iterator[str]:
    """Each version of an order as JSON, across streams, until it is finished."""
    patience, version = server.new_patience(), ""
    while True:
        try:
            values = {"order_id": order_id, "Last-Event-ID": version}
            for event in server.events(operations.FOLLOW_ORDER, values, patience):
                if event.kind == "end":
                    return
                version = event.event_id
                yield event.data
            time.sleep(RECONNECT)
        except LostError as error:
            patience.rest(error)


def _show_order(answer: Answer, arguments: Namespace) -> None:
    show(answer.text if arguments.json else order_line(answer.json))


def _read_file(name: str) -> Any:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        return json.loads(text)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{name} is not JSON in UTF-8: {error}") from error


def _set(order: dict[str, Any], path: str, value: str) -> None:
    """Sets a member to a text. A dot leads to a member of a member."""
    *parents, name = path.split(".")
    members: Any = order
    for parent in parents:
        members = members.setdefault(parent, {})
        if not isinstance(members, Mapping):
            raise UsageError(f"--set {path}: {parent} is not an object.")
    members[name] = value
