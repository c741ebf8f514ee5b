"""Starts and controls bulk actions: acts on many orders, or on one with time to undo it. `bulk_runner` runs them.

A `BulkAction` is rows in the database and nothing else: it survives restarts, and everybody sees the same one. The
runner locks the action's row for each order, and so do `pause`, `resume`, `stop` and `undo`: they take effect between
two orders.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import database_now, fetch, run
from orders.models import AlertGroup, BulkAction, BulkItem
from orders.services import audit
from orders.services.orders import locked
from orders.vocabulary import BulkItemState, BulkKind, BulkState, ProcessState

GRACE = timedelta(seconds=10)
"""How long an action waits before it begins. Until then it can be undone without a trace."""
COUNT_FROM = 50
"""For more orders than this, the count must be typed."""
MOST = 50_000
"""The most orders that one action takes."""
WAVES = (1, 10, 100, 0)
"""The orders of each wave, unless the operator chooses others. 0: all that are left."""
STOP_SHARE = 0.2
RATE = 20.0
FASTEST = 1000.0
TOKEN_LIFETIME = timedelta(hours=1)
"""How long a form that is sent again is recognised."""

_ITEMS = """
    INSERT INTO orders_bulkitem (action_id, position, wave, order_id, state, said)
    SELECT %s, n - 1, width_bucket(n - 1, %s::bigint[]), order_id, 'waiting', ''
      FROM unnest(%s::uuid[]) WITH ORDINALITY AS selected(order_id, n)
"""


class NotInErrorError(SaswebError):
    """Raised when an order cannot be resubmitted because it is not in Error."""


class NothingToDoError(SaswebError):
    """Raised when an action would have no orders."""


class TooManyError(SaswebError):
    """Raised when an action would have more than `MOST` orders."""


class CountMismatchError(SaswebError):
    """Raised when the number of orders must be typed and was not, or is wrong. `count` is the right one."""

    def __init__(self, count: int) -> None:
        super().__init__(f"this acts on {count} orders: type {count} to confirm it")
        self.count = count


class ImpossibleActionError(SaswebError):
    """Raised when the waves, the rate or the stop share are out of range."""


class NoSuchActionError(SaswebError):
    """Raised when there is no such bulk action."""


class TooLateError(SaswebError):
    """Raised when it is too late in an action's life for what was asked."""


def resubmit_one(*, order_id: UUID, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Resubmits one order in Error after `GRACE`; until then `undo` takes it back.

    Returns the earlier action if one is already waiting to do so: two clicks, or two people, have one effect. Raises
    `NotInErrorError`, and `NoSuchOrderError` of `orders.services.orders`.
    """
    with transaction.atomic():
        row, _ = locked(order_id)
        if row.process_state != ProcessState.ERROR:
            raise NotInErrorError(f"The order is {row.process_state}, so there is nothing to resubmit.")
        waiting = BulkItem.objects.select_related("action").filter(
            order_id=order_id,
            state=BulkItemState.WAITING,
            action__kind=BulkKind.RESUBMIT,
            action__state=BulkState.RUNNING,
        )
        if (earlier := waiting.order_by("action__starts_at", "id").first()) is not None:
            return earlier.action
        return _create(
            kind=BulkKind.RESUBMIT,
            order_ids=[order_id],
            what=f"order {order_id}",
            actor=actor,
            reason=reason,
            waves=(0,),
            target=f"order {order_id}",
        )


def create(
    *,
    kind: str,
    order_ids: Iterable[UUID],
    what: str,
    actor: audit.Actor,
    reason: str = "",
    group: AlertGroup | None = None,
    query: Mapping[str, Any] | None = None,
    waves: Sequence[int] = WAVES,
    stop_share: float = STOP_SHARE,
    rate: float = RATE,
    typed_count: int | None = None,
    token: str = "",
) -> BulkAction:
    """Resubmits or compensates many orders, in waves, after `GRACE`.

    `what` describes the orders in words; `group` or `query` selected them. A form that is sent twice has the same
    `token` both times, and makes one action. Raises `NothingToDoError`, `TooManyError`, `ImpossibleActionError`, and
    `CountMismatchError` if `needs_count` and the count was not typed.
    """
    with transaction.atomic():
        if token and (earlier := _action_of_token(token)) is not None:
            return earlier
        selected = list(dict.fromkeys(order_ids))
        _check(selected, waves, stop_share, rate)
        if needs_count(kind=kind, count=len(selected)) and typed_count != len(selected):
            raise CountMismatchError(len(selected))
        return _create(
            kind=kind,
            order_ids=selected,
            what=what,
            actor=actor,
            reason=reason,
            group=group,
            query={**(query or {}), "token": token},
            waves=waves,
            stop_share=stop_share,
            rate=rate,
        )


def needs_count(*, kind: str, count: int) -> bool:
    """Whether the count must be typed: for more than `COUNT_FROM` orders, and whenever money is given back."""
    return count > COUNT_FROM or kind == BulkKind.COMPENSATE


def undo(*, action_id: int, actor: audit.Actor) -> BulkAction:
    """Takes back an action that has acted on no order yet. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _locked(action_id)
        if action.state == BulkState.UNDONE:
            return action
        has_begun = action.items.exclude(state=BulkItemState.WAITING).exists()
        if has_begun or action.state not in (BulkState.RUNNING, BulkState.PAUSED):
            raise TooLateError("It has begun, so it can no longer be undone. It can be stopped.")
        _give_up(action, said="Undone before it began.")
        return _change(action, BulkState.UNDONE, actor=actor, act="undo action", ended=True)


def pause(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Pauses a running action before its next order. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _locked(action_id)
        if action.state == BulkState.PAUSED:
            return action
        _require(action, BulkState.RUNNING)
        action.why_paused = f"{actor.name}: {reason}"[:200] if reason else f"by {actor.name}"
        return _change(action, BulkState.PAUSED, actor=actor, act="pause action", reason=reason)


def resume(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Resumes a paused action. Orders that failed again before no longer count towards its stop share: `starts_at`
    moves to now. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _locked(action_id)
        if action.state == BulkState.RUNNING:
            return action
        _require(action, BulkState.PAUSED)
        action.why_paused = ""
        action.starts_at = max(action.starts_at, database_now())
        return _change(action, BulkState.RUNNING, actor=actor, act="resume action", reason=reason)


def stop(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Ends an action for good. The orders it has acted on go on. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _locked(action_id)
        if action.state == BulkState.STOPPED:
            return action
        _require(action, BulkState.RUNNING, BulkState.PAUSED)
        _give_up(action, said="Stopped before its turn.")
        return _change(action, BulkState.STOPPED, actor=actor, act="stop action", reason=reason)


def _action_of_token(token: str) -> BulkAction | None:
    """The action that the same form made before. Of two requests at once, the second waits here for the first."""
    fetch("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [token])
    recent = BulkAction.objects.filter(created_at__gt=database_now() - TOKEN_LIFETIME)
    return recent.filter(query__token=token).first()


def _check(order_ids: Sequence[UUID], waves: Sequence[int], stop_share: float, rate: float) -> None:
    if not order_ids:
        raise NothingToDoError("No order matches any more, so there is nothing to do.")
    if len(order_ids) > MOST:
        raise TooManyError(f"One action takes at most {MOST:,} orders. Narrow the filter.")
    if not waves or any(size < 1 for size in waves[:-1]) or waves[-1] < 0:
        raise ImpossibleActionError("Waves are whole numbers from 1. The last may be 0, for all the rest.")
    if not 0 <= stop_share <= 1:
        raise ImpossibleActionError("The share at which it pauses is from 0 to 1.")
    if not 0.1 <= rate <= FASTEST:
        raise ImpossibleActionError(f"The rate is from 0.1 to {FASTEST:g} orders a second.")


def _create(
    *,
    kind: str,
    order_ids: Sequence[UUID],
    what: str,
    actor: audit.Actor,
    reason: str,
    waves: Sequence[int],
    target: str = "",
    **fields: Any,
) -> BulkAction:
    sizes = sizes_of(waves, len(order_ids))
    starts_at: datetime = database_now() + GRACE
    action = BulkAction.objects.create(
        kind=kind,
        what=what[:300],
        by=actor.name,
        reason=reason[:200],
        starts_at=starts_at,
        waves=sizes,
        total=len(order_ids),
        **fields,
    )
    bounds = [sum(sizes[: n + 1]) for n in range(len(sizes) - 1)]
    run(_ITEMS, [action.pk, bounds or [len(order_ids)], list(order_ids)])
    audit.record(
        actor=actor,
        act=f"{kind}" if len(order_ids) == 1 else f"bulk {kind}",
        target=target or f"bulk {action.pk}",
        said=f"{action.total:,} {'order' if action.total == 1 else 'orders'} from {starts_at:%H:%M:%S} UTC: {what}.",
        reason=reason,
        before=None,
        after={"action": action.pk, "orders": action.total, "waves": sizes, "starts_at": str(starts_at)},
    )
    return action


def sizes_of(waves: Sequence[int], total: int) -> list[int]:
    """How many orders each wave takes: no wave is empty, and the last takes all that are left."""
    sizes: list[int] = []
    for size in waves:
        left = total - sum(sizes)
        if left > 0:
            sizes.append(left if size == 0 else min(size, left))
    sizes[-1] += total - sum(sizes)
    return sizes


def _locked(action_id: int) -> BulkAction:
    action = BulkAction.objects.select_for_update().filter(pk=action_id).first()
    if action is None:
        raise NoSuchActionError(f"there is no bulk action {action_id}")
    return action


def _require(action: BulkAction, *states: str) -> None:
    if action.state not in states:
        raise TooLateError(f"The action is already {action.state}.")


def _give_up(action: BulkAction, *, said: str) -> None:
    """Ends the orders that are still waiting for their turn."""
    action.items.filter(state=BulkItemState.WAITING).update(
        state=BulkItemState.NOTHING, said=said, ended_at=database_now()
    )


def _change(
    action: BulkAction, state: str, *, actor: audit.Actor, act: str, reason: str = "", ended: bool = False
) -> BulkAction:
    before = action.state
    action.state = state
    if ended:
        action.ended_at = database_now()
    action.save(update_fields=["state", "why_paused", "starts_at", "ended_at"])
    audit.record(
        actor=actor,
        act=act,
        target=f"bulk {action.pk}",
        said=f"The action is {action.state}.",
        reason=reason,
        before={"state": before},
        after={"state": state},
    )
    return action
