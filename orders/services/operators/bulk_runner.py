"""Carries out bulk actions that are running and due, order by order and wave by wave.

Each order is one transaction, which locks the action (so that a pause takes effect at the next order), the item and the
order, acts, and records the result. A runner that is killed at any moment therefore repeats nothing. Two runners share
the work: each skips the actions that the other has locked.

A wave ends when each of its orders is done, has failed again, or needed nothing; then the next wave begins. When more
orders of a wave fail again than the action's stop share allows, the action pauses itself.
"""

from datetime import datetime

import structlog
from django.db import DataError, IntegrityError, transaction
from structlog.contextvars import bound_contextvars

from orders.engine.errors import SaswebError
from orders.engine.runtime.loop import Counts
from orders.engine.runtime.sql import database_now, fetch, run
from orders.fields.money import Money
from orders.models import BulkAction, BulkItem
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.operators.bulk_editing import edit_in_bulk
from orders.services.order_changes import compensate_order, resubmit_order
from orders.services.order_lock import NoSuchOrderError, lock_order
from orders.services.refund_approval import Approval
from orders.vocabulary import BulkItemState, BulkKind, BulkState, ProcessState

log = structlog.get_logger()

DESK = audit.Actor(name="the desk")
"""The actor of an action that pauses itself."""
SETTLED_AT_ONCE = 5_000
"""The most items whose result one pass records, so that the statement stays short."""
BURST = 1.0
"""How much of its rate, in seconds, an action may catch up at once after a wait."""

# An order has failed again if an alert has been opened since, even one that is fixed by now, or if the workflow gave it
# up and compensated it. Items under way are written only here, and all others only under their action's lock, so the
# two never wait for each other.
_SETTLE = """
    WITH ended AS (
        SELECT i.id,
               CASE WHEN failure.code IS NOT NULL OR given_up.id IS NOT NULL THEN 'failed' ELSE 'done' END AS state,
               CASE WHEN failure.code IS NOT NULL THEN left(failure.code || ': ' || failure.message, 300)
                    WHEN given_up.id IS NOT NULL THEN 'given up, cancelled'
                    ELSE p.process_state END AS result
          FROM orders_bulkaction AS a
          JOIN orders_bulkitem AS i ON i.action_id = a.id AND i.state = 'acted'
          JOIN orders_orderprocess AS p ON p.order_id = i.order_id
          LEFT JOIN LATERAL (
               SELECT code, message FROM orders_alert
                WHERE order_id = i.order_id AND opened_at > i.acted_at ORDER BY id LIMIT 1
          ) AS failure ON true
          LEFT JOIN LATERAL (
               SELECT id FROM orders_event
                WHERE order_id = i.order_id AND kind = 'compensation_requested' AND at > i.acted_at
                  AND a.kind <> 'compensate' AND actor_kind IN ('supervisor', 'scheduler') LIMIT 1
          ) AS given_up ON true
         WHERE (a.state = 'running' OR (a.state IN ('paused', 'stopped') AND a.ended_at IS NULL
                                        AND a.created_at > clock_timestamp() - interval '2 days'))
           AND (failure.code IS NOT NULL
                OR p.process_state = 'compensated'
                OR (p.process_state = 'processed' AND a.kind <> 'compensate'))
         LIMIT %s
           FOR UPDATE OF i SKIP LOCKED
    )
    UPDATE orders_bulkitem AS i SET state = ended.state, result = ended.result, ended_at = clock_timestamp()
      FROM ended WHERE i.id = ended.id
"""
_END_STOPPED = """
    UPDATE orders_bulkaction AS a SET ended_at = clock_timestamp()
     WHERE a.state = 'stopped' AND a.ended_at IS NULL AND a.created_at > clock_timestamp() - interval '2 days'
       AND NOT EXISTS (SELECT FROM orders_bulkitem WHERE action_id = a.id AND state = 'acted')
"""
# Actions with an order waiting in the current wave, or with no order under way.
_IN_TURN = """
    SELECT a.id FROM orders_bulkaction AS a
      LEFT JOIN LATERAL (
           SELECT wave FROM orders_bulkitem WHERE action_id = a.id AND state = 'waiting' ORDER BY position LIMIT 1
      ) AS next ON true
     WHERE a.state = 'running' AND a.starts_at <= %s
       AND (next.wave = a.wave OR NOT EXISTS (SELECT FROM orders_bulkitem WHERE action_id = a.id AND state = 'acted'))
     ORDER BY a.starts_at LIMIT 200
"""


def run_once(*, now: datetime | None = None) -> Counts:
    """Makes one pass over all actions. `now` is the time on the database's clock."""
    now = now or database_now()
    settled = run(_SETTLE, [SETTLED_AT_ONCE])
    run(_END_STOPPED)
    acted = 0
    for (action_id,) in fetch(_IN_TURN, [now]):
        for _ in range(_prepare(action_id, now)):
            if not _act_on_next(action_id):
                break
            acted += 1
    return Counts(busy=settled == SETTLED_AT_ONCE, done={"settled": settled, "acted": acted})


def _prepare(action_id: int, now: datetime) -> int:
    """Pauses or ends an action, or starts its next wave. Returns how many orders it may act on now."""
    with transaction.atomic():
        action = _lock_action(action_id)
        if action is None or action.starts_at > now:
            return 0
        items = action.items.filter(wave=action.wave)
        is_open = items.filter(state__in=[BulkItemState.WAITING, BulkItemState.ACTED]).exists()
        if action.items.filter(state=BulkItemState.WAITING).exists() and (why := _why_pause(action)):
            _pause(action, why)
            return 0
        if not is_open:
            if not action.items.filter(state__in=[BulkItemState.WAITING, BulkItemState.ACTED]).exists():
                _finish(action)
                return 0
            action.wave += 1
            action.save(update_fields=["wave"])
        return allowance(rate=action.rate, acted_at=action.acted_at, now=now)


def allowance(*, rate: float, acted_at: datetime | None, now: datetime) -> int:
    """Returns how many orders an action may act on at `now` within its rate: at most `BURST` seconds' worth."""
    if acted_at is None:
        return max(1, int(rate * BURST))
    elapsed = max(0.0, (now - acted_at).total_seconds())
    return min(int(rate * elapsed), max(1, int(rate * BURST)))


def _why_pause(action: BulkAction) -> str:
    """Returns why the action must pause, or an empty string: too large a share of this wave has failed again.

    Orders that ended before the action was last started or resumed do not count.
    """
    counted = action.items.filter(wave=action.wave).exclude(ended_at__lt=action.starts_at)
    failed = counted.filter(state=BulkItemState.FAILED_AGAIN)
    count, size = failed.count(), counted.exclude(state=BulkItemState.NOTHING).count()
    if count == 0 or count <= action.stop_share * size:
        return ""
    last = failed.order_by("-ended_at").values_list("result", flat=True).first()
    if size == 1:
        return f"The only order of wave {action.wave + 1} failed again: {last}"
    return f"{count} of the {size} orders of wave {action.wave + 1} failed again. The last: {last}"


def _act_on_next(action_id: int) -> bool:
    """Acts on the next order of the current wave. Returns False if there is none, or the action is locked or paused."""
    with transaction.atomic():
        action = _lock_action(action_id)
        if action is None:
            return False
        item = (
            action.items.select_for_update()
            .filter(state=BulkItemState.WAITING, wave=action.wave)
            .order_by("position")
            .first()
        )
        if item is None:
            return False
        with bound_contextvars(order_id=str(item.order_id)):
            item.state, item.result = _act(action, item)
        item.acted_at = action.acted_at = database_now()
        if item.state != BulkItemState.ACTED:
            item.ended_at = item.acted_at
        item.save(update_fields=["state", "result", "acted_at", "ended_at"])
        action.save(update_fields=["acted_at"])
    log.info("acted", action="bulk", bulk=action_id, order_id=str(item.order_id), result=item.result)
    return True


def _act(action: BulkAction, item: BulkItem) -> tuple[str, str]:
    """Acts on the item's order. Returns the item's new state and a sentence that says what happened."""
    reason = f"{action.reason} (bulk action {action.pk})" if action.reason else f"bulk action {action.pk}"
    try:
        with transaction.atomic():
            is_over_at_once = action.kind == BulkKind.EDIT and _is_over_at_once(item)
            result = _apply(action, item, action.reason if action.total == 1 else reason)
    except NoSuchOrderError as error:
        return BulkItemState.NOTHING, str(error)[:300]
    except (SaswebError, IntegrityError, DataError) as error:
        log.exception("bulk act failed", action="bulk", bulk=action.pk, order_id=str(item.order_id))
        return BulkItemState.FAILED_AGAIN, f"The act failed: {error}"[:300]
    if result.status is not ResultStatus.DONE:
        return BulkItemState.NOTHING, result.message[:300]
    return BulkItemState.DONE if is_over_at_once else BulkItemState.ACTED, result.message[:300]


def _is_over_at_once(item: BulkItem) -> bool:
    """Whether an edit of the order has no result that is worth waiting for: only one in Error is tried again."""
    row, _ = lock_order(item.order_id)
    return row.process_state != ProcessState.ERROR


def _apply(action: BulkAction, item: BulkItem, reason: str) -> Result:
    if action.kind == BulkKind.COMPENSATE:
        return compensate_order(
            order_id=item.order_id, by=action.by, reason=reason, approval=_approval(action, item)
        )
    if action.kind == BulkKind.EDIT:
        changes = action.query["changes"]
        return edit_in_bulk(order_id=item.order_id, changes=changes, by=action.by, reason=reason)
    return resubmit_order(order_id=item.order_id, by=action.by, reason=reason)


def _approval(action: BulkAction, item: BulkItem) -> Approval | None:
    """What was approved of this order, if the action was approved."""
    if action.approval is None:
        return None
    refund = None if item.amount is None else Money(amount=item.amount, currency=item.currency)
    return Approval(request=action.approval, asked_by="", refund=refund, is_of_many=True)


def _lock_action(action_id: int) -> BulkAction | None:
    """Locks a running action. Returns None if it is not running, or somebody else has it locked."""
    return (
        BulkAction.objects.select_for_update(skip_locked=True)
        .filter(pk=action_id, state=BulkState.RUNNING)
        .first()
    )


def _pause(action: BulkAction, why: str) -> None:
    action.state = BulkState.PAUSED
    action.pause_reason = why[:200]
    action.save(update_fields=["state", "pause_reason"])
    audit.record(
        actor=DESK,
        act="pause action",
        target=f"bulk {action.pk}",
        result=f"The action paused itself. {why}",
        before={"state": BulkState.RUNNING},
        after={"state": BulkState.PAUSED},
    )
    log.warning("bulk action paused itself", action="bulk", bulk=action.pk, why=why)


def _finish(action: BulkAction) -> None:
    action.state = BulkState.FINISHED
    action.ended_at = database_now()
    action.save(update_fields=["state", "ended_at"])
    log.info("bulk action finished", action="bulk", bulk=action.pk)
