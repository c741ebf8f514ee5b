"""Adds an operator's note to an order, wherever the order is. See docs/adr/0074."""

from datetime import timedelta
from uuid import UUID

from django.db import transaction

from orders.engine.channels.wakeups import Topic, wake
from orders.engine.runtime.sql import database_now
from orders.fields.prose import tidy_prose
from orders.models import OrderNote, OrderProcess
from orders.selectors.orders import order_exists
from orders.services import audit
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused
from orders.services.operators.alerts import LONGEST_NOTE
from orders.services.order_lock import NoSuchOrderError

AGAIN = timedelta(minutes=1)
"""For how long a second click adds nothing more."""


def add_note(*, order_id: UUID, actor: Actor, text: str) -> Result:
    """Adds a note to an order: one under way, finished or archived, or a submission. The same note is added once.

    The order is not locked, so it goes on meanwhile. Raises `NoSuchOrderError`.
    """
    note_text = tidy_prose(text, longest=LONGEST_NOTE)
    if not note_text:
        return refused("A note needs some text.")
    with transaction.atomic():
        if not (OrderProcess.objects.filter(pk=order_id).exists() or order_exists(order_id)):
            raise NoSuchOrderError(f"Order {order_id} does not exist.")
        newest = OrderNote.objects.select_for_update().filter(order_id=order_id).order_by("-id").first()
        is_again = newest is not None and (newest.by, newest.text) == (actor.name, note_text)
        if newest is not None and is_again and newest.at > database_now() - AGAIN:
            return already("The note has been added already.")
        note = OrderNote.objects.create(order_id=order_id, by=actor.name, text=note_text)
        audit.record(
            actor=actor, act="note", target=f"order {order_id}", result=note_text, after={"note": note.pk}
        )
        wake(Topic.PROGRESS)
    return done("The note has been added.")
