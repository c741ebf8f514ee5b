"""The work of an erasure, which may be cut off anywhere and is then continued: what is erased is not found again, and
how far a table has been searched is noted in `Erasure.walked`.
"""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q

from orders.engine.errors import SaswebError
from orders.engine.runtime.brief_batches import Chunk, Pace, in_batches
from orders.engine.runtime.sql import run
from orders.models import Address, ApiToken, Erasure, LoggedRequest, WebhookEndpoint
from orders.services.operators.erasing_mentions import (
    SESSIONS,
    TABLES,
    choose_mentions,
    choose_sessions,
    delete_sessions,
    erase_mentions,
    pattern_of,
)
from orders.services.operators.erasing_orders import choose_orders, erase_orders

LEASE = 30.0
"""Seconds after which a process that works on an erasure counts as dead. It renews its lease after each `SLICE`."""
SLICE = 2.0
"""Seconds that a walk goes on before it notes how far it has come."""
PATIENCE = 4.0
"""Seconds that one order or one row may take, however long its history is."""
LOWEST = UUID(int=0)

Walker = Callable[[Any], Any]
"""Walks from behind a position for a slice of time; returns where to continue, None at the end."""


class StuckErasureError(SaswebError):
    """Raised when a single order or row could not be erased in time."""


def lease(erasure_id: int) -> bool:
    """Takes charge of an erasure, unless it is finished or another process works on it."""
    claimed = run(
        """
        UPDATE orders_erasure SET leased_until = clock_timestamp() + %s * interval '1 second'
         WHERE id = %s AND finished_at IS NULL
           AND (leased_until IS NULL OR leased_until < clock_timestamp())
        """,
        [LEASE, erasure_id],
    )
    return claimed > 0


def release(erasure_id: int) -> None:
    """Leaves an erasure to the next process."""
    Erasure.objects.filter(pk=erasure_id).update(leased_until=None)


def work_on(erasure: Erasure, *, ends: float) -> bool:
    """Erases what is left, and the accounts last, because orders are found by them.

    Returns whether all is done; False if it was time to stop (`ends`, by the monotonic clock). Raises
    `StuckErasureError`.
    """
    values = {"pattern": pattern_of(erasure.email, erasure.terms), "short": erasure.pseudonym}
    find_more = partial(_walk_orders, erasure, values)
    walks: list[tuple[str, Any, Walker]] = [("", LOWEST, find_more)]
    walks += [
        (table, mentions.first, partial(_walk_mentions, erasure, table, values))
        for table, mentions in TABLES.items()
    ]
    walks += [(SESSIONS, "", partial(_walk_sessions, erasure))]
    walks += [("", LOWEST, find_more)]  # what was moved or inserted meanwhile
    for table, first, walk in walks:
        after = erasure.walked.get(table, first)
        while after is not None:
            if time.monotonic() >= ends:
                return False
            after = walk(after)
            _note(erasure.pk, {table: after} if table else {})
    _erase_accounts(erasure)
    return True


def _note(erasure_id: int, walked: dict[str, Any]) -> None:
    run(
        """
        UPDATE orders_erasure
           SET walked = walked || %s::jsonb, leased_until = clock_timestamp() + %s * interval '1 second'
         WHERE id = %s
        """,
        [json.dumps(walked), LEASE, erasure_id],
    )


def _walk(choose: Callable[[Any, int], Chunk], work: Callable[[Any], int], after: Any, pace: Pace) -> Any:
    walk = in_batches(choose=choose, work=work, start=after, pace=pace, seconds=SLICE, patience=PATIENCE)
    if walk.left_behind:
        raise StuckErasureError(f"one order or row could not be erased within {PATIENCE:.0f} s")
    return walk.after


def _walk_orders(erasure: Erasure, values: dict[str, str], after: UUID) -> Any:
    def work(ids: Sequence[UUID]) -> int:
        changed = erase_orders(ids, values)
        Erasure.objects.filter(pk=erasure.pk).update(orders=F("orders") + changed)
        return changed

    return _walk(partial(choose_orders, erasure.email, erasure.accounts), work, after, Pace())


def _walk_mentions(erasure: Erasure, table: str, values: dict[str, str], after: Any) -> Any:
    def work(keys: Sequence[Any]) -> int:
        changed = erase_mentions(table, keys, **values)
        Erasure.objects.filter(pk=erasure.pk).update(mentions=F("mentions") + changed)
        return changed

    return _walk(partial(choose_mentions, table, values["pattern"]), work, after, _reading_pace())


def _walk_sessions(erasure: Erasure, after: str) -> Any:
    choose = partial(choose_sessions, erasure.email, erasure.accounts)
    return _walk(choose, delete_sessions, after, _reading_pace())


def _reading_pace() -> Pace:
    """The pace of a walk that reads many rows and changes few."""
    return Pace(size=200, largest=2_000)


def _erase_accounts(erasure: Erasure) -> None:
    username = Q(username__in=[erasure.email, erasure.email.lower()])
    with transaction.atomic():
        for user in User.objects.filter(pk__in=erasure.accounts):
            username |= Q(username=user.username)
            Address.objects.filter(user=user).delete()
            ApiToken.objects.filter(user=user).delete()
            WebhookEndpoint.objects.filter(customer=user).delete()
            LoggedRequest.objects.filter(customer=user).delete()
            user.username = f"{erasure.pseudonym}-{user.pk}"
            user.email = user.first_name = user.last_name = ""
            user.is_active = False
            user.set_unusable_password()
            user.save()
        for attempts in (AccessAttempt, AccessFailureLog, AccessLog):
            attempts.objects.filter(username).delete()
