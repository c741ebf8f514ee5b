"""Controls bulk actions that exist: undoes, pauses, resumes and stops them.

Each act locks the action's row. The runner (`bulk_runner`) locks it for each order too, so an act takes effect between
two orders.
"""

from django.db import transaction

from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import database_now
from orders.models import BulkAction
from orders.services import audit
from orders.vocabulary import BulkItemState, BulkState


class NoSuchActionError(SaswebError):
    """Raised when there is no such bulk action."""


class TooLateError(SaswebError):
    """Raised when an action has begun or ended, so it is too late for an act."""


def undo(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Undoes an action that has not acted on any order yet. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _lock_action(action_id)
        if action.state == BulkState.UNDONE:
            return action
        has_begun = action.items.exclude(state=BulkItemState.WAITING).exists()
        if has_begun or action.state not in (BulkState.RUNNING, BulkState.PAUSED):
            raise TooLateError("The action has begun, so it can no longer be undone. You can stop it.")
        _cancel_waiting(action, message="Undone before it began.")
        return _change(action, BulkState.UNDONE, actor=actor, act="undo action", reason=reason, ended=True)


def pause(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Pauses a running action before its next order. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _lock_action(action_id)
        if action.state == BulkState.PAUSED:
            return action
        _require(action, BulkState.RUNNING)
        action.pause_reason = f"{actor.name}: {reason}"[:200] if reason else f"by {actor.name}"
        return _change(action, BulkState.PAUSED, actor=actor, act="pause action", reason=reason)


def resume(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Resumes a paused action. Raises `NoSuchActionError` and `TooLateError`.

    `starts_at` moves to now, so that orders that failed again before the pause no longer count towards its stop share.
    """
    with transaction.atomic():
        action = _lock_action(action_id)
        if action.state == BulkState.RUNNING:
            return action
        _require(action, BulkState.PAUSED)
        action.pause_reason = ""
        action.starts_at = max(action.starts_at, database_now())
        return _change(action, BulkState.RUNNING, actor=actor, act="resume action", reason=reason)


def stop(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Ends an action for good. The orders it has acted on continue. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _lock_action(action_id)
        if action.state == BulkState.STOPPED:
            return action
        _require(action, BulkState.RUNNING, BulkState.PAUSED)
        _cancel_waiting(action, message="Stopped before its turn.")
        return _change(action, BulkState.STOPPED, actor=actor, act="stop action", reason=reason)


def _lock_action(action_id: int) -> BulkAction:
    action = BulkAction.objects.select_for_update().filter(pk=action_id).first()
    if action is None:
        raise NoSuchActionError(f"unknown bulk action {action_id}")
    return action


def _require(action: BulkAction, *states: str) -> None:
    if action.state not in states:
        raise TooLateError(f"The action is already {action.state}.")


def _cancel_waiting(action: BulkAction, *, message: str) -> None:
    """Ends the items that are still waiting for their turn."""
    action.items.filter(state=BulkItemState.WAITING).update(
        state=BulkItemState.NOTHING, result=message, ended_at=database_now()
    )


def _change(
    action: BulkAction, state: str, *, actor: audit.Actor, act: str, reason: str = "", ended: bool = False
) -> BulkAction:
    before = action.state
    action.state = state
    if ended:
        action.ended_at = database_now()
    action.save(update_fields=["state", "pause_reason", "starts_at", "ended_at"])
    audit.record(
        actor=actor,
        act=act,
        target=f"bulk {action.pk}",
        result=f"The action is {action.state}.",
        reason=reason,
        before={"state": before},
        after={"state": state},
    )
    return action
