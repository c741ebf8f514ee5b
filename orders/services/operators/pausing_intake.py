"""Pauses the intake of new orders, and resumes it. See docs/adr/0067.

While it is paused, whoever wants to place an order is told to try again later. Orders that were accepted go on.
"""

from datetime import datetime
from typing import Any

from django.db import transaction

from orders.business.intake_pause import forget_pause
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.runtime.sql import database_now
from orders.models import IntakePause
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused
from orders.services.operators.pausing_orders import ends_too_early
from orders.wording.pauses import ACCEPTED_AGAIN, until_in_words

TARGET = "intake of orders"
"""What the audit log names as the target of these acts."""
NEEDS_REASON = "Give a reason. It is kept in the audit log."


def pause_intake(*, actor: Actor, reason: str, until: datetime | None = None) -> Result:
    """Has new orders refused, until that time or until somebody resumes the intake. Every process heeds it within a
    second."""
    with transaction.atomic():
        now = database_now()
        if not reason.strip():
            result = refused(NEEDS_REASON)
        elif until is not None and until <= now:
            result = ends_too_early()
        else:
            IntakePause.objects.filter(until__lte=now).delete()
            # Of two who pause at the same moment, the second waits here for the first.
            _, is_new = IntakePause.objects.get_or_create(
                defaults={"at": now, "by": actor.name, "reason": reason, "until": until}
            )
            ends = until_in_words(until, otherwise=ACCEPTED_AGAIN)
            words = f"New orders are refused {ends}. Orders that were accepted continue."
            result = done(words) if is_new else already("The intake is already paused.")
        after = {"until": until.isoformat() if until else None}
        return _end("pause intake", result, actor, reason, after=after)


def resume_intake(*, actor: Actor, reason: str = "") -> Result:
    """Has new orders accepted again."""
    with transaction.atomic():
        now = database_now()
        pause = IntakePause.objects.select_for_update().first()
        if pause is not None:
            pause.delete()
        is_over = pause is None or (pause.until is not None and pause.until <= now)
        result = already("The intake is not paused.") if is_over else done("New orders are accepted again.")
        before = {"by": pause.by, "reason": pause.reason} if pause else None
        return _end("resume intake", result, actor, reason, before=before)


def _end(act: str, result: Result, actor: Actor, reason: str, **values: Any) -> Result:
    """Records the act, and has this process heed it at once."""
    audit.record(
        actor=actor,
        act=act,
        target=TARGET,
        result=result.message,
        reason=reason,
        allowed=result.status is not ResultStatus.REFUSED,
        **(values if result.status is ResultStatus.DONE else {}),
    )
    wake(Topic.PROGRESS)
    transaction.on_commit(forget_pause)
    return result
