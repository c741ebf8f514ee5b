"""Pauses one step of a workflow in all its orders, and resumes it. See docs/adr/0067.

No new call of the step begins in any order. What an agent host has begun is finished, and what reverses the step is not
held back. Orders wait at the step; all that they do elsewhere goes on.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from orders.business import registry
from orders.engine.channels import requests
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.runtime.sql import database_now
from orders.models import StepPause
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused
from orders.services.operators.pausing_intake import NEEDS_REASON
from orders.services.operators.pausing_orders import ends_too_early
from orders.wording.pauses import until_in_words

MOST_TAKEN_BACK = 1_000
"""How many requests the pause itself takes back. The schedulers do it with the others, within seconds."""


def pause_step(
    *, workflow: str, step: str, actor: Actor, reason: str, until: datetime | None = None
) -> Result:
    """Lets no new call of the step begin, until that time or until somebody resumes it."""
    with transaction.atomic():
        now = database_now()
        if refusal := _why_not(workflow, step, reason, until, now):
            return _end("pause step", workflow, step, refusal, actor, reason)
        StepPause.objects.filter(workflow=workflow, step=step, until__lte=now).delete()
        # Of two who pause at the same moment, the second waits here for the first.
        _, is_new = StepPause.objects.get_or_create(
            workflow=workflow,
            step=step,
            defaults={"at": now, "by": actor.name, "reason": reason, "until": until},
        )
        if not is_new:
            return _end("pause step", workflow, step, already("The step is already paused."), actor, reason)
        requests.hand_back_paused(MOST_TAKEN_BACK, by=actor.name)
        result = done(f"The step {step} is paused {until_in_words(until)}. Calls under way continue.")
        after = {"until": until.isoformat() if until else None}
        return _end("pause step", workflow, step, result, actor, reason, after=after)


def _why_not(workflow: str, step: str, reason: str, until: datetime | None, now: datetime) -> Result | None:
    """Why the step cannot be paused; None if it can."""
    versions = [version for version in registry.workflows().values() if version.name == workflow]
    declarations = [version.by_name[step] for version in versions if step in version.by_name]
    if not declarations:
        return refused(f"The workflow {workflow} has no step {step}.")
    if all(declaration.waits_for is not None for declaration in declarations):
        return refused(
            f"The step {step} calls nobody: it waits for something from outside, and that cannot be paused."
        )
    if not reason.strip():
        return refused(NEEDS_REASON)
    return ends_too_early() if until is not None and until <= now else None


def resume_step(*, workflow: str, step: str, actor: Actor, reason: str = "") -> Result:
    """Lets calls of the step begin again. The orders that wait for it go on one batch after the other, within what the
    agent has room for."""
    with transaction.atomic():
        now = database_now()
        pause = StepPause.objects.select_for_update().filter(workflow=workflow, step=step).first()
        if pause is None or (pause.until is not None and pause.until <= now):
            return _end("resume step", workflow, step, already("The step is not paused."), actor, reason)
        pause.delete()
        result = done(
            f"The step {step} has been resumed. Its orders go on gradually, as its agent takes them."
        )
        before = {"by": pause.by, "reason": pause.reason}
        return _end("resume step", workflow, step, result, actor, reason, before=before)


def _end(
    act: str, workflow: str, step: str, result: Result, actor: Actor, reason: str, **values: Mapping[str, Any]
) -> Result:
    audit.record(
        actor=actor,
        act=act,
        target=f"step {workflow}/{step}",
        result=result.message,
        reason=reason,
        allowed=result.status is not ResultStatus.REFUSED,
        **values,
    )
    wake(Topic.SCHEDULER, Topic.PROGRESS)
    return result
