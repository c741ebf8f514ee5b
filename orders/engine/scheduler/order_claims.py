"""Which orders a scheduler claims: by priority, and each `EVERY`th time by age (A9)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from orders.engine import state_store
from orders.engine.contracts import Workflows
from orders.engine.rows import ProcessRow
from orders.engine.runtime.age_turns import AgeTurns
from orders.engine.runtime.whole_reads import WholeReads

READY = ""
"""The name of the list of ready orders among those of the agents."""


class Claim(NamedTuple):
    """The orders that were claimed, now locked, and which of them were claimed by age."""

    rows: list[ProcessRow]
    by_age: set[UUID]


class OrderClaims:
    """One scheduler's claims, of orders that are ready and of those that wait for an agent."""

    def __init__(self) -> None:
        self._turns = AgeTurns()
        self._ready = WholeReads()

    def claim_ready(
        self, limit: int, workflows: Workflows, now: datetime, *, without: Collection[UUID]
    ) -> Claim:
        """Claims up to `limit` orders that need a scheduler."""
        aged: list[ProcessRow] = []
        is_turn = bool(self._turns.take([READY]))

        def look(since: datetime | None) -> list[ProcessRow]:
            if is_turn:
                aged.extend(state_store.claim_aged(limit, workflows, now, without=without, since=since))
            if len(aged) == limit:
                return aged
            others = {*without, *_ids(aged)}
            rest = state_store.claim(limit - len(aged), workflows, now, without=others, since=since)
            return aged + rest

        rows = self._ready.read(look, limit=limit, now=now)
        return Claim(rows, _ids(aged))

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
