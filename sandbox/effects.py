"""The effect of a call, inside one transaction of the ledger: replay, refuse, do, or reverse.

The first answer to a key is stored in the same transaction as its effect, so that after any crash either both exist or
neither does.
"""

import json
import secrets
import sqlite3
from dataclasses import replace

from sandbox.answers import Answer, bad, good
from sandbox.ledger import Books
from sandbox.operations import Call
from sandbox.stock import Shelves

SLOW = "card_slow"
HANGS = "card_hangs"
DECLINED = "card_declined"
PAYMENT_METHODS = frozenset({"card_ok", DECLINED, SLOW, HANGS})


def perform(
    connection: sqlite3.Connection,
    *,
    call: Call,
    refuse: bool,
    keyless: bool = False,
    refusal: Answer | None = None,
) -> Answer:
    """Answers `call`, for good under its key. With `refuse` a fault refuses a new key; `refusal` says that the service
    cannot do what it asks for.

    With `keyless` every key is new.
    """
    books = Books(connection, call.operation.service)
    first = books.answer(call.key)
    if first is not None and not keyless:
        digest, answer = first
        return answer if digest == call.digest else _reused()
    decided = _decide(books, Shelves(connection), call, refuse, keyless, refusal)
    answer = replace(decided, is_recorded=True, refused_by_fault=refuse)
    books.keep_answer(call.key, call.digest, answer)
    return answer


def _reused() -> Answer:
    return bad(422, "idempotency_key_reused", "this Idempotency-Key was used with another operation or body")


def _decide(
    books: Books, shelves: Shelves, call: Call, refuse: bool, keyless: bool, refusal: Answer | None
) -> Answer:
    if refuse:
        return bad(422, "refused", "the service refuses this call for good")
    if call.operation.reverses:
        return _reverse(books, shelves, call, keyless)
    return _do(books, shelves, call, refusal)


def _do(books: Books, shelves: Shelves, call: Call, refusal: Answer | None) -> Answer:
    if books.is_barred(call.key):
        return bad(410, "reversed", "this key was reversed before it happened, so it can no longer happen")
    refusal = refusal or shelves.refusal(call)
    if refusal is not None:
        return refusal
    if call.payment_method == DECLINED:
        return bad(402, "card_declined", "the card was declined")
    if call.operation.name == "authorise" and call.payment_method not in PAYMENT_METHODS:
        methods = ", ".join(sorted(PAYMENT_METHODS))
        return bad(
            422,
            "unknown_payment_method",
            f"{call.payment_method!r:.80} is unknown; use one of {methods}",
        )
    books.add_effect(call.key, call.operation.name, call.order_id, call.amount)
    gives = call.operation.gives or {}
    return good(
        {**{name: prefix + secrets.token_hex(8) for name, prefix in gives.items()}, **shelves.take(call)}
    )


def _reverse(books: Books, shelves: Shelves, call: Call, keyless: bool) -> Answer:
    """Reverses the effect of the key that `call.reverses` names, or makes sure that it never happens.

    A service that keeps no keys cannot make sure of that, and reverses again what has been reversed.
    """
    effect = books.effect(call.reverses)
    if effect is None:
        if not keyless:
            books.bar(call.reverses, call.key)
        return _reversed(call, "nothing_to_reverse")
    if effect.operation != call.operation.reverses or effect.order_id != call.order_id:
        name = f"a {effect.operation} of order {effect.order_id}"
        return bad(
            422, "reverses_mismatch", f"reverses names {name}, not a {call.operation.reverses} of this order"
        )
    if effect.reversed_by is not None and not keyless:
        return _reversed(call, "already_reversed")
    books.mark_reversed(call.reverses, call.key)
    if call.operation.service == "warehouse":
        shelves.put_back(call.reverses)
    books.add_effect(call.key, call.operation.name, call.order_id, effect.amount)
    return _reversed(call, "reversed")


def _reversed(call: Call, result: str) -> Answer:
    """Whatever the `result`, no effect of the forward call is left, so the operation's `done` is true in every case."""
    return good({call.operation.done: True, "result": result, "reverses": call.reverses})


def report(answer: Answer | None, *, is_running: bool) -> Answer:
    """Says what has become of a call, given the `answer` that is kept under its key."""
    if answer is not None and answer.status < 300:
        return good({"result": "done", "answer": json.loads(answer.body)})
    return good({"result": "running" if is_running else "not_done"})
