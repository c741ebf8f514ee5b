"""Orders that are cancelled before they are inserted, and how they must end."""

from typing import Any
from uuid import UUID

from orders.models import Alert, SetAside, StatusMessage, StepState, SubmissionMessage
from orders.services.act_results import ResultStatus
from orders.services.customers import cancel
from tests.support import replay as histories
from tests.support.roles import a_scheduler, answer, drain, history, stored

DONE, ALREADY = ResultStatus.DONE, ResultStatus.ALREADY


def cancelled(order_id: UUID) -> ResultStatus:
    return cancel(order_id=order_id, by="guest").status


def to_its_end(order_id: UUID) -> None:
    """Plays all agents until nothing moves, and fails unless the order is compensated, with nothing done."""
    scheduler = a_scheduler()
    for _ in range(20):
        drain(scheduler)
        if not answer(order=stored(order_id)):
            break
    assert (stored(order_id).process_state, stored(order_id).goal) == ("compensated", "compensate")
    assert not history(order_id, "step_started")
    assert histories.replayed([order_id]) == histories.stored([order_id])


def status_bodies(order_id: UUID) -> list[dict[str, Any]]:
    """The bodies of the messages that say that the order is compensated."""
    messages = StatusMessage.objects.filter(order_id=order_id, kind="compensated")
    return [message.body for message in messages.order_by("id")]


def was_closed(order_id: UUID) -> None:
    """Fails unless the order has ended without ever having been inserted."""
    process = stored(order_id)
    assert (process.process_state, process.goal) == ("compensated", "compensate")
    assert process.finished_at is not None
    assert not StepState.objects.filter(process=process).exists()
    assert not Alert.objects.filter(order_id=order_id, closed_at=None).exists()
    assert not SetAside.objects.exists()
    assert not SubmissionMessage.objects.exists()
    assert histories.replayed([order_id]) == histories.stored([order_id])
