"""Answers what an order waits for by what the order is about, as a business knows it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model

from orders.business.placing import subject_text
from orders.engine.runtime.text import keepable_json
from orders.models import Order, StepState
from orders.services import audit
from orders.services.answers import NothingWaitsError, answer_wait
from orders.services.audit import Actor
from orders.vocabulary import StepStatus


class SeveralWaitError(NothingWaitsError):
    """Raised when several orders about one subject wait, so that it is not clear which one is meant."""


@transaction.atomic
def signal(subject: str | UUID | Model, step: str, result: Mapping[str, Any], *, by: str) -> UUID:
    """Gives the step of this name what it waits for, in the order about this subject, and returns the order's id.

    `result` of an outside event is any JSON object; of a decision it is `{"choice": …}`, with a `note` if there is one.
    It is in the audit log. In the caller's transaction both count if that commits. Raises `AnswerError` and its
    subclasses: nothing waits for it (`NothingWaitsError`), several orders do (`SeveralWaitError`), it comes too late,
    or it cannot be taken.
    """
    text = subject_text(subject)
    if not text:
        raise NothingWaitsError("An order is found by what it is about, and this is about nothing.")
    orders = Order.objects.filter(subject=text).values("id")
    awaiting = StepState.objects.filter(process_id__in=orders, name=step, state=StepStatus.AWAITING)
    steps = list(awaiting.exclude(complete_by=None).values_list("process_id", "awaits")[:2])
    if not steps:
        raise NothingWaitsError(f"No order about {text!r} waits for {step!r}.")
    if len(steps) > 1:
        raise SeveralWaitError(
            f"Several orders about {text!r} wait for {step!r}. Answer one of them by its id."
        )
    order_id, awaits = steps[0]
    audit.record(
        actor=Actor(name=by),
        act="signal",
        target=f"order {order_id}",
        after={"step": step, **keepable_json(dict(result))},
    )
    answer_wait(order_id=order_id, step=step, awaits=awaits, result=result, by=by)
    return UUID(str(order_id))
