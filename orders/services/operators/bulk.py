"""Acts on many orders, or on one with time to undo it: asked for here, carried out by `bulk_runner`.

A `BulkAction` is rows in the database and nothing else, so it survives restarts and is one for all who look at it. The
runner locks the action's row for each order that it acts on, as `pause`, `resume`, `stop` and `undo` do: they take
effect between any two orders.
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
"""How long an action waits before it begins: until then it can be undone without a trace."""
COUNT_FROM = 50
"""Above that many orders the count has to be typed."""
MOST = 50_000
"""Orders of one action."""
WAVES = (1, 10, 100, 0)
"""Orders of each wave; 0: all that are left."""
STOP_SHARE = 0.2
RATE = 20.0
FASTEST = 1000.0
TOKENS_LAST = timedelta(hours=1)
"""How long a form that was sent is known again."""

_ITEMS = """
    INSERT INTO orders_bulkitem (action_id, position, wave, order_id, state, said)
    SELECT %s, n - 1, width_bucket(n - 1, %s::bigint[]), order_id, 'waiting', ''
      FROM unnest(%s::uuid[]) WITH ORDINALITY AS chosen(order_id, n)
"""


class NotInErrorError(SaswebError):
    """Raised when an order cannot be resubmitted, because it has not failed, or no more."""


class NothingToDoError(SaswebError):
    """Raised when an action would act on no order at all."""


class TooManyError(SaswebError):
    """Raised when an action would act on more orders than one may."""


class CountMismatchError(SaswebError):
    """Raised when an action needs its number of orders typed, and that was not done or is another. `count` is it."""

    def __init__(self, count: int) -> None:
        super().__init__(f"this acts on {count} orders: type {count} to confirm it")
        self.count = count


class ImpossibleActionError(SaswebError):
    """Raised when waves, rate or stop share make no sense."""


class NoSuchActionError(SaswebError):
    """Raised when there is no such bulk action."""


class TooLateError(SaswebError):
    """Raised when an action is no longer in a state in which that can be done with it."""


def resubmit_one(*, order_id: UUID, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Has one order in Error resubmitted in 10 s, until when `undo` takes it back.

    If that is under way already, that action is returned: two clicks, or two people, are one effect. Raises
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
        if (known := waiting.order_by("action__starts_at", "id").first()) is not None:
            return known.action
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
    """Has many orders resubmitted or undone, in waves, from 10 s on.

    `what` says in words which orders; `group` or `query` chose them. A form that is sent twice has the same `token`
    twice, and makes one action. Raises `NothingToDoError`, `TooManyError`,
    `ImpossibleActionError`, and `CountMismatchError` unless the count was typed where `needs_count` says so.
    """
    with transaction.atomic():
        if token and (known := _sent_before(token)) is not None:
            return known
        chosen = list(dict.fromkeys(order_ids))
        _check(chosen, waves, stop_share, rate)
        if needs_count(kind=kind, count=len(chosen)) and typed_count != len(chosen):
            raise CountMismatchError(len(chosen))
        return _create(
            kind=kind,
            order_ids=chosen,
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
    """Whether an act on so many orders needs the count typed: over 50, or any that gives money back."""
    return count > COUNT_FROM or kind == BulkKind.COMPENSATE


def undo(*, action_id: int, actor: audit.Actor) -> BulkAction:
    """Takes an action back that has acted on no order yet. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _locked(action_id)
        if action.state == BulkState.UNDONE:
            return action
        begun = action.items.exclude(state=BulkItemState.WAITING).exists()
        if begun or action.state not in (BulkState.RUNNING, BulkState.PAUSED):
            raise TooLateError("It has begun, so it can no longer be undone. It can be stopped.")
        _give_up(action, said="Undone before it began.")
        return _change(action, BulkState.UNDONE, actor=actor, act="undo action", ended=True)


def pause(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Has a running action act on no further order for now. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _locked(action_id)
        if action.state == BulkState.PAUSED:
            return action
        _demand(action, BulkState.RUNNING)
        action.why_paused = f"{actor.name}: {reason}"[:200] if reason else f"by {actor.name}"
        return _change(action, BulkState.PAUSED, actor=actor, act="pause action", reason=reason)


def resume(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Lets a paused action go on. What failed again until now no longer counts for its stop rule, which counts from
    `starts_at`. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _locked(action_id)
        if action.state == BulkState.RUNNING:
            return action
        _demand(action, BulkState.PAUSED)
        action.why_paused = ""
        action.starts_at = max(action.starts_at, database_now())
        return _change(action, BulkState.RUNNING, actor=actor, act="resume action", reason=reason)


def stop(*, action_id: int, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Ends an action for good; what it has acted on goes on. Raises `NoSuchActionError` and `TooLateError`."""
    with transaction.atomic():
        action = _locked(action_id)
        if action.state == BulkState.STOPPED:
            return action
        _demand(action, BulkState.RUNNING, BulkState.PAUSED)
        _give_up(action, said="Stopped before its turn.")
        return _change(action, BulkState.STOPPED, actor=actor, act="stop action", reason=reason)


def _sent_before(token: str) -> BulkAction | None:
    """The action that this form has made. Of two requests at once, the second waits here for the first."""
    fetch("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [token])
    recent = BulkAction.objects.filter(created_at__gt=database_now() - TOKENS_LAST)
    return recent.filter(query__token=token).first()


def _check(chosen: Sequence[UUID], waves: Sequence[int], stop_share: float, rate: float) -> None:
    if not chosen:
        raise NothingToDoError("No order matches any more, so there is nothing to do.")
    if len(chosen) > MOST:
        raise TooManyError(f"One action takes at most {MOST:,} orders. Narrow the filter.")
    if not waves or any(size < 1 for size in waves[:-1]) or waves[-1] < 0:
        raise ImpossibleActionError(
            "Waves are whole numbers from 1. The last may be 0, for all that are left."
        )
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
    """How many orders each wave really takes: no wave is empty, and the last has all that are left."""
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


def _demand(action: BulkAction, *states: str) -> None:
    if action.state not in states:
        raise TooLateError(f"The action is already {action.state}.")


def _give_up(action: BulkAction, *, said: str) -> None:
    """Ends the orders that have not had their turn."""
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
