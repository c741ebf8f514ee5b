"""What one pass of a scheduler works on: the orders that it locks, with their steps and the replies to them.

What is locked is sent together with the reading of it, which the server does in that order: a step is read after its
order has been locked, as another scheduler may have changed it until then.
"""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from orders.engine import state_store
from orders.engine.channels import replies
from orders.engine.circuits.credit import Credit
from orders.engine.circuits.retry_budget import available_retries
from orders.engine.contracts import Workflows
from orders.engine.rows import ProcessRow, ReplyRow, StepRow
from orders.engine.runtime.isolation import Scope
from orders.engine.runtime.statements import Sent, known
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.order_claims import Claim, OrderClaims
from orders.engine.scheduler.order_pass import OrderPass

Page = list[tuple[int, UUID]]
"""Replies that are locked, by their ids, and the orders that they are about."""
Steps = dict[UUID, list[StepRow]]


class Workload(NamedTuple):
    """The orders of a pass, which of them were claimed by age, and the replies that were taken.

    `is_held_up` says that replies wait for an order that somebody else has locked; `is_full`, that there may be more
    orders than the batch holds; `has_more_replies`, that there may be more replies than were taken. `next_due` is in
    how many seconds the next wait of an order is over.
    """

    orders: list[OrderPass]
    replies: list[int]
    is_held_up: bool = False
    is_full: bool = False
    has_more_replies: bool = False
    next_due: float | None = None
    by_age: frozenset[UUID] = frozenset()


class Answered(NamedTuple):
    """The orders of a page that were locked, with their steps and the replies to them."""

    page: Page
    rows: list[ProcessRow]
    steps: Steps
    replies: list[ReplyRow]


class Gatherer:
    """One pass's choice of orders."""

    def __init__(
        self,
        *,
        config: SchedulerConfig,
        claims: OrderClaims,
        workflows: Workflows,
        scope: Scope,
        now: datetime,
    ) -> None:
        self._config = config
        self._claims = claims
        self._workflows = workflows
        self._scope = scope
        self._now = now

    def gather(self, page: Page, credit: Credit) -> Workload:
        """Locks the orders of this pass.

        First come those with replies, which are in `page`, then those whose steps wait for an agent that has room, then
        probes. What is left of the batch goes to orders that need a scheduler.
        """
        limit, without = self._scope.limit, self._scope.without
        order_ids = {order_id for _, order_id in page} - without
        answering = self._send_answered(page, order_ids)
        free = limit - len(order_ids)
        ready = self._claim_ready(free) if free > 0 and self._is_simple(page, credit) else None
        answered = self._next_answered(answering.result())
        rows, by_age, was_full = list(answered.rows), set[UUID](), False
        next_due = None
        if ready is None:
            rows, by_age, was_full = self._claim_waiting(rows, credit)
            free = limit - len(rows)
            ready = self._claim_ready(free) if free > 0 else None
        if ready is not None:
            claim, locked = ready.result(), {row.order_id for row in rows}
            rows += [row for row in claim.rows if row.order_id not in locked]
            by_age |= claim.by_age
            next_due = claim.next_due
            was_full = was_full or len(claim.rows) >= free
        self._scope.touched.extend(row.order_id for row in rows)
        held = {order_id for _, order_id in answered.page} - {row.order_id for row in answered.rows} - without
        return Workload(
            orders=self._load(rows, answered, credit),
            replies=[reply.id for reply in answered.replies],
            is_held_up=bool(held) and state_store.any_supported(held, self._workflows),
            is_full=was_full or len(rows) >= limit,
            has_more_replies=len(answered.page) >= self._config.batch or len(order_ids) > limit,
            next_due=next_due,
            by_age=frozenset(by_age),
        )

    def gather_only(self, order_ids: Collection[UUID], credit: Credit) -> Workload:
        """Locks the orders that a failed pass had touched, for a pass of their own."""
        rows = state_store.lock(order_ids, self._workflows)
        self._scope.touched.extend(row.order_id for row in rows)
        taken = replies.take_all_of(self._scope.touched)
        orders = self._load(rows, Answered([], rows, {}, taken), credit)
        return Workload(orders=orders, replies=[reply.id for reply in taken])

    def _is_simple(self, page: Page, credit: Credit) -> bool:
        """Whether new orders may be claimed at once, together with what is read of the others: nothing waits for an
        agent, there is no other page of replies, and the claim takes no time that others could be blamed for."""
        is_last_page = len(page) < self._config.batch
        is_quick = not page or not self._claims.reads_all
        return is_last_page and is_quick and not credit.for_waiting() and not credit.for_probes()

    def _send_answered(self, page: Page, order_ids: set[UUID]) -> Sent[Answered]:
        """Locks the orders of a page of replies, as many as the pass takes, and reads them.

        If the pass takes fewer, because passes have been slow, what is not locked is not read either.
        """
        rows = state_store.send_lock(order_ids, self._workflows, limit=self._scope.limit)
        if len(order_ids) > self._scope.limit:
            locked = rows.result()
            order_ids = {row.order_id for row in locked}
            rows = known(locked)
        steps = state_store.send_steps_of(order_ids)
        bodies = replies.send_read([reply_id for reply_id, order_id in page if order_id in order_ids])

        def result() -> Answered:
            locked = {row.order_id: row for row in rows.result()}
            taken = [reply for reply in bodies.result() if reply.order_id in locked]
            # Those of an order whose lock was skipped are stale should another claim lock it later in this pass.
            read = {order_id: own for order_id, own in steps.result().items() if order_id in locked}
            return Answered(page, list(locked.values()), read, taken)

        return Sent(result)

    def _next_answered(self, answered: Answered) -> Answered:
        """If none of the orders of a page of replies can be locked (somebody else has them, they are left alone, or
        this release does not have their workflow), reads the next page, so that those do not hold up the others."""
        while not answered.rows and len(answered.page) >= self._config.batch:
            page = replies.peek(self._config.batch, start=answered.page[-1][0] + 1)
            order_ids = {order_id for _, order_id in page} - self._scope.without
            answered = self._send_answered(page, order_ids).result()
        return answered

    def _claim_ready(self, limit: int) -> Sent[Claim]:
        return self._claims.send_ready(limit, self._workflows, self._now, without=self._scope.without)

    def _claim_waiting(
        self, rows: list[ProcessRow], credit: Credit
    ) -> tuple[list[ProcessRow], set[UUID], bool]:
        """Adds orders whose steps wait for agents with room, and probes. Also returns which of them were claimed by
        age, and whether there may be more."""
        limit = self._scope.limit
        # After an outage thousands of orders come back at once. The more replies there are, the fewer of them are let
        # in: each step of a new order waits behind the replies to all that is under way. But a stream of replies
        # cannot keep them out altogether, and they leave part of the batch to new orders.
        most = max(max(limit // 4, 1) - len(rows), limit // 16)
        rooms = credit.for_waiting()
        without = {row.order_id for row in rows} | self._scope.without
        waited, by_age, _ = self._claims.claim_waiting(
            rooms,
            self._workflows,
            self._now,
            without=without,
            limit=most,
            retries=available_retries(rate=self._config.retries) if rooms else 0,
        )
        rows += waited
        without |= {row.order_id for row in waited}
        free = max(limit - len(rows), limit // 4)
        rows += state_store.claim_probes(credit.for_probes()[:free], self._workflows, without)
        return rows, by_age, len(waited) >= max(most, 1)

    def _load(self, rows: list[ProcessRow], answered: Answered, credit: Credit) -> list[OrderPass]:
        steps = dict(answered.steps)
        missing = [row.order_id for row in rows if row.order_id not in steps]
        steps |= state_store.steps_of(missing)
        orders = {
            row.order_id: OrderPass(
                row=row,
                steps=steps[row.order_id],
                workflow=self._workflows[row.workflow, row.version],
                instance=self._config.instance,
            )
            for row in rows
        }
        for reply in answered.replies:
            orders[reply.order_id].take(reply, self._now, credit.succeeded_at)
        return list(orders.values())
