"""What a client's consumers do with the messages of their response queues (Q2, Q3): lease them, acknowledge them, and
give them back. Each act is one transaction."""

from collections.abc import Iterable, Sequence
from uuid import UUID, uuid4

from django.db import transaction

from orders.engine.channels import status_leases
from orders.engine.channels.status_leases import MessageState, StatusLease
from orders.engine.channels.wakeups import Topic, wake
from orders.selectors.response_queues import elsewhere
from orders.services.act_results import Result, ResultStatus

GONE = "There is no such message, or it has been acknowledged."
IN_USE = "A consumer has leased it, and has not acknowledged it yet. Send the lease, if that is you."
LOST = "Your lease of it has lapsed, and another consumer has leased it since."
NOT_LEASED = "There is no such message, or nobody has leased it."
NOT_YOURS = "Another consumer has leased it."
MISPLACED = "It is not on this queue, but on your queue {}."

MessageResult = tuple[int, Result]
"""The ID of a message, and what became of it."""


def lease_messages(*, queue: str, limit: int, seconds: int) -> StatusLease | None:
    """Leases messages to one consumer, hidden from the leases of others for so many seconds. None if there are none."""
    with transaction.atomic():
        return status_leases.take(queue=queue, token=uuid4(), limit=limit, seconds=seconds)


def acknowledge_message(*, queue: str, message_id: int) -> bool:
    """Deletes a message, whoever has leased it. Returns False if there is no such message."""
    with transaction.atomic():
        state = status_leases.delete(queue=queue, message_id=message_id)
        _wake(state is not None and state.has_later)
    return state is not None


def acknowledge_messages(
    *, queue: str, lease: UUID | None, message_ids: Sequence[int]
) -> list[MessageResult]:
    """Deletes messages that have been processed, unless another consumer has leased them. Returns a result for each;
    what is on none of the client's queues has been acknowledged already."""
    with transaction.atomic():
        states = status_leases.acknowledge(queue=queue, token=lease, message_ids=message_ids)
        _wake(any(state.is_allowed and state.has_later for state in states))
    return _results(
        queue,
        message_ids,
        states,
        done="The message has been acknowledged.",
        already=GONE,
        refused=LOST if lease else IN_USE,
    )


def release_messages(*, queue: str, lease: UUID, message_ids: Sequence[int]) -> list[MessageResult]:
    """Ends the lease of messages that this consumer does not process. Returns a result for each."""
    with transaction.atomic():
        states = status_leases.release(queue=queue, token=lease, message_ids=message_ids)
        _wake(any(state.is_allowed for state in states))
    return _results(
        queue,
        message_ids,
        states,
        done="Others may lease the message.",
        already=NOT_LEASED,
        refused=NOT_YOURS,
    )


def _wake(is_due: bool) -> None:
    """Wakes those who wait for a lease, if there may be something for them now."""
    if is_due:
        wake(Topic.PROGRESS)


def _results(
    queue: str,
    message_ids: Sequence[int],
    states: Iterable[MessageState],
    *,
    done: str,
    already: str,
    refused: str,
) -> list[MessageResult]:
    by_id = {state.message_id: state for state in states}
    missing = [message_id for message_id in message_ids if message_id not in by_id]
    misplaced = elsewhere(queue=queue, message_ids=missing) if missing else {}

    def result(message_id: int) -> Result:
        state = by_id.get(message_id)
        if message_id in misplaced:
            return Result(status=ResultStatus.REFUSED, message=MISPLACED.format(misplaced[message_id]))
        if state is None:
            return Result(status=ResultStatus.ALREADY, message=already)
        if state.is_allowed:
            return Result(status=ResultStatus.DONE, message=done)
        return Result(status=ResultStatus.REFUSED, message=refused)

    return [(message_id, result(message_id)) for message_id in dict.fromkeys(message_ids)]
