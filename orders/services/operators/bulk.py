"""Creates bulk actions: acts on many orders, or on one with time to undo the click.

A `BulkAction` is only rows in the database, so it survives restarts and everybody sees the same one. `bulk_runner`
carries it out, `bulk_control` pauses, resumes, stops and undoes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import database_now, fetch, run
from orders.models import AlertGroup, BulkAction, BulkItem
from orders.selectors.desk.bulk import busy_orders
from orders.selectors.desk.money_back import Refund, refunds_of, totals_of
from orders.services import audit
from orders.services.order_lock import lock_order
from orders.services.refund_approval import Approval, require_approval_of_many
from orders.vocabulary import BulkItemState, BulkKind, BulkState, ProcessState

GRACE = timedelta(seconds=10)
"""How long an action waits before it begins. Until then it can be undone, and no order has changed."""
COUNT_FROM = 50
"""Above this many orders, the operator must type the count to confirm."""
MOST = 50_000
"""The most orders that one action takes."""
MOST_WAVES = 20
"""The most waves that an operator can choose. Each waits for the results of the one before."""
WAVES = (1, 10, 100, 0)
"""The number of orders in each wave, unless the operator chooses others. 0 means all that are left."""
STOP_SHARE = 0.2
"""An action pauses itself when more than this share of a wave fails again, unless the operator chooses another."""
RATE = 20.0
"""Orders a second at most, unless the operator chooses another rate."""
SLOWEST, FASTEST = 0.1, 1000.0
"""The lowest and the highest rate that an operator can choose, in orders a second."""
SHOWN = 5
"""The most other actions that a refusal names."""
TOKEN_LIFETIME = timedelta(hours=1)
"""How long a form that is submitted twice is recognised."""

_ITEMS = """
    INSERT INTO orders_bulkitem (action_id, position, wave, order_id, state, result, amount, currency, is_held)
    SELECT %s, n - 1, width_bucket(n - 1, %s::bigint[]), order_id, 'waiting', '', amount, currency, is_held
      FROM unnest(%s::uuid[], %s::bigint[], %s::text[], %s::boolean[]) WITH ORDINALITY
           AS selected(order_id, amount, currency, is_held, n)
"""


class NotInErrorError(SaswebError):
    """Raised when an order cannot be resubmitted because it is not in Error."""


class NothingToDoError(SaswebError):
    """Raised when an action would have no orders."""


class TooManyError(SaswebError):
    """Raised when an action would have too many orders."""


class CountMismatchError(SaswebError):
    """Raised when the count of orders must be typed, and is missing or wrong. `count` is the right one, `typed` what
    was typed."""

    def __init__(self, count: int, *, typed: int | None = None) -> None:
        super().__init__(f"this acts on {count} orders: type {count} to confirm")
        self.count = count
        self.typed = typed


class BusyOrdersError(SaswebError):
    """Raised when another bulk action that has not ended has some of the orders. `count` is how many of `total`, and
    `actions` are the numbers of those actions."""

    def __init__(self, *, count: int, total: int, actions: Sequence[int]) -> None:
        others = ", ".join(map(str, actions[:SHOWN])) + (" and others" if len(actions) > SHOWN else "")
        number = "The order is" if total == 1 else f"{count:,} of the {total:,} orders {_are(count)}"
        noun = "bulk action" if len(actions) == 1 else "bulk actions"
        super().__init__(
            f"{number} in {noun} {others}, which {_has(len(actions))} not ended. Wait for that, stop it, or leave"
            f" {'it' if count == 1 else 'them'} out."
        )
        self.count = count
        self.total = total
        self.actions = actions


class ImpossibleActionError(SaswebError):
    """Raised when the waves, the rate or the stop share are out of range, or an edit would change nothing."""


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def resubmit_one(*, order_id: UUID, actor: audit.Actor, reason: str = "") -> BulkAction:
    """Resubmits one order in Error after `GRACE`. Until then it can be undone.

    Returns the earlier action if one is already waiting to do the same, so two clicks, or two people, have one effect.
    Raises `NotInErrorError` and `NoSuchOrderError`.
    """
    with transaction.atomic():
        row, _ = lock_order(order_id)
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
            sums=totals_of([order_id]),
            selection=f"order {order_id}",
            actor=actor,
            reason=reason,
            waves=(0,),
            target=f"order {order_id}",
        )


def create(
    *,
    kind: str,
    order_ids: Iterable[UUID],
    selection: str,
    actor: audit.Actor,
    reason: str = "",
    group: AlertGroup | None = None,
    query: Mapping[str, Any] | None = None,
    waves: Sequence[int] = WAVES,
    stop_share: float = STOP_SHARE,
    rate: float = RATE,
    typed_count: int | None = None,
    token: str = "",
    most: int | None = None,
    leave_out_busy: bool = False,
    approval: Approval | None = None,
    predecessor: int | None = None,
) -> BulkAction:
    """Resubmits, compensates or edits many orders, in waves, after `GRACE`. The `query` of an edit has the new values
    of fields as `changes`.

    `selection` describes the orders in words; `group` or `query` selected them, and there may be `most`, by default
    `MOST`. A form that is submitted twice has the same `token` both times and creates one action, which `is_replayed`
    the second time. Raises `NothingToDoError`, `TooManyError`, `ImpossibleActionError`, and `CountMismatchError` if
    `typed_count` is wrong, or is missing although `needs_count`. An `approval` counts for the orders and sums that it
    names, of which each order keeps its own. The `predecessor` is the action whose orders that failed again these are.
    Raises `BusyOrdersError` if another action that has
    not ended has some of the orders, unless they are to be left out, and `ApprovalNeededError`.
    """
    with transaction.atomic():
        if token and (earlier := _action_of_token(token)) is not None:
            earlier.is_replayed = True
            return earlier
        selected = _free(list(dict.fromkeys(order_ids)), leave_out_busy=leave_out_busy)
        _check(selected, MOST if most is None else most, waves, stop_share, rate)
        is_counted = typed_count is not None or needs_count(kind=kind, count=len(selected))
        if is_counted and typed_count != len(selected):
            raise CountMismatchError(len(selected), typed=typed_count)
        sums = refunds_of(selected) if kind == BulkKind.COMPENSATE else totals_of(selected)
        if kind == BulkKind.EDIT and not (query or {}).get("changes"):
            raise ImpossibleActionError("Say what to change. Nothing was entered.")
        if kind == BulkKind.COMPENSATE:
            require_approval_of_many(selected, sums, approval)
        return _create(
            kind=kind,
            order_ids=selected,
            selection=selection,
            actor=actor,
            reason=reason,
            group=group,
            query={**(query or {}), "token": token},
            waves=waves,
            stop_share=stop_share,
            rate=rate,
            sums=sums,
            approval=approval.request if approval else None,
            predecessor=predecessor,
        )


def _free(order_ids: list[UUID], *, leave_out_busy: bool) -> list[UUID]:
    """The orders that no other action has. Raises `BusyOrdersError` if some are not to be left out.

    Actions are created one after the other, so of two at once with the same order, the second finds the first.
    """
    fetch("SELECT pg_advisory_xact_lock(hashtextextended('bulk actions', 0))")
    busy = busy_orders(order_ids)
    if busy and not leave_out_busy:
        raise BusyOrdersError(count=len(busy), total=len(order_ids), actions=sorted(set(busy.values())))
    return [order_id for order_id in order_ids if order_id not in busy]


def needs_count(*, kind: str, count: int) -> bool:
    """Whether the count must be typed: for more than `COUNT_FROM` orders, and for every cancellation of any."""
    return count > COUNT_FROM or (count > 0 and kind == BulkKind.COMPENSATE)


def _action_of_token(token: str) -> BulkAction | None:
    """Returns the action that the same form created before. Of two requests at once, the second waits for the first."""
    fetch("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [token])
    recent = BulkAction.objects.filter(created_at__gt=database_now() - TOKEN_LIFETIME)
    return recent.filter(query__token=token).first()


def _check(
    order_ids: Sequence[UUID], most: int, waves: Sequence[int], stop_share: float, rate: float
) -> None:
    if not order_ids:
        raise NothingToDoError("No order matches any longer, so there is nothing to do.")
    if len(order_ids) > most:
        raise TooManyError(f"One action takes at most {most:,} orders. Narrow the filter.")
    if not waves or any(size < 1 for size in waves[:-1]) or waves[-1] < 0:
        raise ImpossibleActionError(
            "Waves must be whole numbers from 1. The last may be 0, for all that are left."
        )
    if len(waves) > MOST_WAVES or max(waves) > MOST:
        raise ImpossibleActionError(
            f"An action has at most {MOST_WAVES} waves, each of at most {MOST:,} orders."
        )
    if not 0 <= stop_share <= 1:
        raise ImpossibleActionError("The share at which the action pauses must be between 0 and 1.")
    if not SLOWEST <= rate <= FASTEST:
        raise ImpossibleActionError(f"The rate must be between {SLOWEST} and {FASTEST:g} orders a second.")


def _create(
    *,
    kind: str,
    order_ids: Sequence[UUID],
    sums: Mapping[UUID, Refund],
    selection: str,
    actor: audit.Actor,
    reason: str,
    waves: Sequence[int],
    target: str = "",
    **fields: Any,
) -> BulkAction:
    sizes = wave_sizes(waves, len(order_ids))
    starts_at: datetime = database_now() + GRACE
    action = BulkAction.objects.create(
        kind=kind,
        selection=selection[:300],
        by=actor.name,
        reason=reason[:200],
        starts_at=starts_at,
        waves=sizes,
        total=len(order_ids),
        **fields,
    )
    _add_items(action, order_ids, sums)
    if action.predecessor is not None:
        BulkAction.objects.filter(pk=action.predecessor).update(successor=action.pk)
    amount = "1 order" if action.total == 1 else f"{action.total:,} orders"
    audit.record(
        actor=actor,
        act=kind if len(order_ids) == 1 else f"bulk {kind}",
        target=target or f"bulk {action.pk}",
        result=f"{amount}, starting at {starts_at:%H:%M:%S} UTC: {selection}.",
        reason=reason,
        before=None,
        after={
            **{"action": action.pk, "orders": action.total, "waves": sizes, "starts_at": str(starts_at)},
            **({"changes": action.query["changes"]} if kind == BulkKind.EDIT else {}),
        },
    )
    return action


def _add_items(action: BulkAction, order_ids: Sequence[UUID], sums: Mapping[UUID, Refund]) -> None:
    bounds = [sum(action.waves[: n + 1]) for n in range(len(action.waves) - 1)] or [len(order_ids)]
    amounts = [sums.get(order_id) for order_id in order_ids]
    run(
        _ITEMS,
        [
            action.pk,
            bounds,
            list(order_ids),
            [each.price.amount if each else None for each in amounts],
            [each.price.currency if each else "" for each in amounts],
            [each.is_held if each else False for each in amounts],
        ],
    )


def wave_sizes(waves: Sequence[int], total: int) -> list[int]:
    """Returns the number of orders in each wave. No wave is empty, and the last takes all that are left."""
    sizes: list[int] = []
    for size in waves:
        remaining = total - sum(sizes)
        if remaining > 0:
            sizes.append(remaining if size == 0 else min(size, remaining))
    sizes[-1] += total - sum(sizes)
    return sizes
