"""Writes what this installation says about an error's code, beside the text that comes with the product."""

from django.db import transaction

from orders.engine.runtime.sql import database_now
from orders.fields.prose import tidy_prose
from orders.models import OwnRunbook
from orders.services import audit
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused
from orders.services.operators.alerts import lock_group

LONGEST = 4_000
"""The most characters of a text. The rest is cut off."""
ACT = "write runbook"


def write(*, group_id: int, actor: Actor, text: str, expected: str | None = None) -> Result:
    """Replaces the own text about the code of a group, or removes it if the new one is empty.

    `expected` is the text that whoever writes has seen; None does not say. If it is another one by now, nothing
    changes. Raises `NoSuchGroupError`.
    """
    new = tidy_prose(text, longest=LONGEST)
    with transaction.atomic():
        code = lock_group(group_id).code
        own = OwnRunbook.objects.select_for_update().filter(pk=code).first()
        before = own.text if own else ""
        if new == before:
            return already("The text is the same as before.")
        if expected is not None and tidy_prose(expected, longest=LONGEST) != before:
            by = f"{own.by} has changed" if own else "Somebody has removed"
            result = refused(f"{by} the text meanwhile. Look at it, then write yours again.")
            audit.record(
                actor=actor, act=ACT, target=f"group {group_id}", result=result.message, allowed=False
            )
            return result
        if new:
            OwnRunbook.objects.update_or_create(
                pk=code, defaults={"text": new, "by": actor.name, "at": database_now()}
            )
        else:
            OwnRunbook.objects.filter(pk=code).delete()
        result = done(f"The text about {code} has been {'saved' if new else 'removed'}.")
        audit.record(
            actor=actor,
            act=ACT,
            target=f"group {group_id}",
            result=result.message,
            before={"text": before},
            after={"text": new},
        )
        return result
