"""Which orders a scheduler claims: by priority, and each `EVERY`th time by age (A9)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from orders.engine import state_store
from orders.engine.contracts import Workflows
from orders.engine.rows import ProcessRow
from orders.engine.runtime.age_turns import AgeTurns
from orders.engine.runtime.statements import Sent, known
from orders.engine.runtime.whole_reads import WholeReads
from orders.engine.state_store.claims import Claimed

READY = ""
"""The name of the list of ready orders among those of the agents."""


class Claim(NamedTuple):
    """The orders that were claimed, now locked, and which of them were claimed by age. `next_due` is in how many
    seconds the next wait of an order is over, if the claim has looked."""

    rows: list[ProcessRow]
    by_age: set[UUID]
    next_due: float | None = None


class OrderClaims:
    """One scheduler's claims, of orders that are ready and of those that wait for an agent."""

    def __init__(self) -> None:
        self._turns = AgeTurns()
        self._ready = WholeReads()
        self._is_crowded = True

    def send_ready(
        self, limit: int, workflows: Workflows, now: datetime, *, without: Collection[UUID]
    ) -> Sent[Claim]:
        """Claims up to `limit` orders that need a scheduler. `fail` is called if that fails."""
        since = self._ready.begin()
        aged: list[ProcessRow] = []
        # When a claim has found less than it had room for, nothing is left that would need a turn.
        if self._is_crowded and self._turns.take([READY]):
            aged = state_store.claim_aged(limit, workflows, now, without=without, since=since)
        ids = _ids(aged)

        def end(rest: Claimed) -> Claim:
            rows = aged + rest.rows
            self._is_crowded = len(rows) >= limit
            self._ready.end(len(rows), limit=limit, now=now)
            return Claim(rows, ids, rest.next_due)

        if len(aged) == limit:
            return known(Claimed([])).then(end)
        others = {*without, *ids}
        rest = state_store.send_claim(limit - len(aged), workflows, now, without=others, since=since)
        return rest.then(end)

    @property
    def reads_all(self) -> bool:
        """Whether the next claim of ready orders reads their list from the beginning, which may take long."""
        return self._ready.is_due

    def fail(self, now: datetime) -> None:
        """Notes that the database has ended the claim of ready orders, if one was under way."""
        self._ready.fail(now)

    def confirm(self) -> None:
        """Notes that the ready orders have been taken: the transaction has been committed."""
        self._ready.confirm()

    def claim_waiting(
        self,
        rooms: Mapping[str, int],
        workflows: Workflows,
        now: datetime,
        *,
        without: Collection[UUID],
        limit: int,
        retries: int,
    ) -> Claim:
        """Claims up to `limit` orders whose steps wait for agents that have room."""
        turns = self._turns.take(rooms if limit > 0 else ())
        aged = state_store.claim_aged_waiting(
            {agent: rooms[agent] for agent in turns}, workflows, without, now, limit=limit, retries=retries
        )
        others = [*without, *_ids(aged)]
        rest = state_store.claim_waiting(rooms, workflows, others, limit=limit - len(aged), retries=retries)
        return Claim(aged + rest, _ids(aged))


def _ids(rows: Collection[ProcessRow]) -> set[UUID]:
    return {row.order_id for row in rows}
