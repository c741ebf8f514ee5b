"""Which of a client's orders are listed: the filters of a list, and what each of them is in SQL in each place.

An order is on the submission queue, set aside, in the orders database or archived, and each place knows it in columns
of its own. A filter is a field of `Selection`, and has a condition in each place where it can select an order.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from orders.selectors.orders import client_of
from orders.selectors.paging import Position
from orders.selectors.waits_in_sql import WAIT
from orders.vocabulary import FINISHED_STATES, Goal, Outcome, ProcessState, StepStatus, WaitingFor

MOMENT = r"^[12]\d{3}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$"
"""A time with an offset, as the shop writes it into a submission, between the years 1000 and 2999."""
OF_PROFILES = ("sku", "total_at_least", "total_at_most", "currency")
"""The filters by what only its kind can read of a submission."""

_BODY_TIME = "place.body ->> 'placed_at'"
_IS_MOMENT = f"{_BODY_TIME} ~ '{MOMENT}' AND pg_input_is_valid({_BODY_TIME}, 'timestamp with time zone')"
_OPEN = f"""
    step.waiting_since IS NOT NULL OR step.paused_since IS NOT NULL
    OR step.state IN ('{StepStatus.RUNNING}', '{StepStatus.AWAITING}', '{StepStatus.COMPENSATING}')
    OR (step.state = '{StepStatus.FAILED}' OR step.state = '{StepStatus.NOT_STARTED}' AND step.attempt > 0)
       AND (process.goal = '{Goal.COMPLETE}' OR step.outcome IN ('{Outcome.UNKNOWN}', '{Outcome.DONE}'))
"""
_NEXT = f"step.state = '{StepStatus.NOT_STARTED}' AND process.goal = '{Goal.COMPLETE}'"
_AT_STEP = f"""
    process.process_state NOT IN ({", ".join(f"'{state}'" for state in FINISHED_STATES)}) AND EXISTS (
        SELECT FROM (SELECT step.name, step.position, {_OPEN} AS is_open, bool_or({_OPEN}) OVER () AS has_open,
                            min(step.position) FILTER (WHERE {_NEXT}) OVER () AS next
                       FROM orders_stepstate AS step WHERE step.order_id = process.order_id) AS step
         WHERE split_part(step.name, ':', 1) = %(step)s::text
           AND CASE WHEN step.has_open THEN step.is_open ELSE step.position = step.next END)
"""


class Place(NamedTuple):
    """A place of orders: the `rows` of its table that are a client's, with the columns `placed_at` and `order_id`.

    `joined` is what their conditions need beside them. `states` are those that orders have there, and `waits` what they
    may wait for. A filter that has no condition selects no order of this place.
    """

    name: str
    table: str
    rows: str
    placed_at: str
    order_id: str
    states: Sequence[ProcessState]
    waits: Sequence[WaitingFor]
    conditions: Mapping[str, str]
    joined: str = ""


def _last_event(order_id: str) -> str:
    return f"(SELECT at FROM orders_event AS event WHERE event.order_id = {order_id} ORDER BY event.id DESC LIMIT 1)"


def _submissions(name: str, table: str, own: str, state: ProcessState, waits: Sequence[WaitingFor]) -> Place:
    """A place of submissions. One whose order is inserted already is a duplicate, and no order of its own."""
    changed_at = "set_aside_at" if own else "posted_at"
    updated_at = f"coalesce({_last_event('place.order_id')}, place.{changed_at})"
    return Place(
        name=name,
        table=table,
        rows=f"""
            place.client = %(client)s::text {own}
               AND (SELECT true FROM orders_order WHERE id = place.order_id) IS NULL
               AND (SELECT true FROM orders_archivedorder WHERE order_id = place.order_id) IS NULL
        """,
        placed_at=f"CASE WHEN {_IS_MOMENT} THEN ({_BODY_TIME})::timestamptz ELSE place.posted_at END",
        order_id="place.order_id",
        states=[state],
        waits=waits,
        conditions={
            "ids": "place.order_id = ANY(%(ids)s::uuid[])",
            "subject": "place.body -> 'subject' = to_jsonb(%(subject)s::text)",
            "reference": "place.body ->> 'reference' = %(reference)s::text",
            "metadata": "place.body -> 'metadata' @> %(metadata)s::jsonb",
            "states": "true",
            "waiting_for": "true",
            "updated_after": f"{updated_at} > %(updated_after)s::timestamptz",
            **dict.fromkeys(OF_PROFILES, "place.order_id = ANY(%(submitted)s::uuid[])"),
        },
    )


def _of_totals(table: str) -> Mapping[str, str]:
    return {
        "total_at_least": f"{table}.total >= %(total_at_least)s::bigint",
        "total_at_most": f"{table}.total <= %(total_at_most)s::bigint",
        "currency": f"{table}.currency = %(currency)s::text",
    }


OWN_WORDS = {
    "reference": "place.reference = %(reference)s::text",
    "metadata": "place.metadata @> %(metadata)s::jsonb",
}
INDEXED = {"ids", "subject", *OWN_WORDS}
"""The filters whose orders an index finds."""
QUEUED = _submissions("queued", "orders_submissionmessage", "", ProcessState.PENDING, [])
ASIDE = _submissions(
    *("aside", "orders_setaside", "AND place.replayed_at IS NULL"),
    *(ProcessState.ERROR, [WaitingFor.OPERATOR]),
)
STORED = Place(
    name="stored",
    table="orders_order",
    # The limit has each process looked up by its key, and no more of them than orders are looked at.
    joined="CROSS JOIN LATERAL (SELECT * FROM orders_orderprocess WHERE order_id = place.id LIMIT 1) AS process",
    rows="place.customer_id = %(customer_id)s::int",
    placed_at="place.placed_at",
    order_id="place.id",
    states=list(ProcessState),
    waits=list(WaitingFor),
    conditions={
        "ids": "place.id = ANY(%(ids)s::uuid[])",
        "subject": "place.subject = %(subject)s::text",
        **OWN_WORDS,
        "states": "process.process_state = ANY(%(states)s::text[])",
        "waiting_for": f"(SELECT kind FROM ({WAIT}) AS wait) = ANY(%(waiting_for)s::text[])",
        "step": _AT_STEP,
        "updated_after": f"coalesce({_last_event('place.id')}, place.inserted_at) > %(updated_after)s::timestamptz",
        "sku": "EXISTS (SELECT FROM orders_orderline WHERE order_id = place.id AND sku = %(sku)s::text)",
        **_of_totals("place"),
    },
)
ARCHIVED = Place(
    name="archived",
    table="orders_archivedorder",
    rows="place.customer_id = %(customer_id)s::int",
    placed_at="place.placed_at",
    order_id="place.order_id",
    states=FINISHED_STATES,
    waits=[],
    conditions={
        "ids": "place.order_id = ANY(%(ids)s::uuid[])",
        "subject": "place.subject = %(subject)s::text",
        **OWN_WORDS,
        "states": "place.state = ANY(%(states)s::text[])",
        "updated_after": """
            (SELECT coalesce(events -> -1 ->> 'at', "order" ->> 'inserted_at')::timestamptz
               FROM jsonb_to_record(place.document) AS document (events jsonb, "order" jsonb)
            ) > %(updated_after)s::timestamptz
        """,
        "sku": "place.skus @> ARRAY[%(sku)s::varchar]",
        **_of_totals("place"),
    },
)
PLACES = (QUEUED, ASIDE, STORED, ARCHIVED)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which of a customer's orders are listed, at most `limit`: those before a position and after the `floor`, where
    these are given, that all the other fields select. An empty one selects all.

    `states` and `waiting_for` are words of which one must apply. `step` is the name of a step that an unfinished order
    is at: one that has begun and has not ended, and where there is none, the first that has yet to begin. Amounts are
    in minor units. `submitted` are the submissions that the fields of `OF_PROFILES` select. With `ids`, only these.
    """

    customer_id: int
    limit: int
    before: Position | None = None
    floor: Position | None = None
    placed_after: datetime | None = None
    placed_before: datetime | None = None
    states: Sequence[str] = ()
    ids: Sequence[UUID] = ()
    subject: str = ""
    reference: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    waiting_for: Sequence[str] = ()
    step: str = ""
    updated_after: datetime | None = None
    sku: str = ""
    total_at_least: int | None = None
    total_at_most: int | None = None
    currency: str = ""
    submitted: Sequence[UUID] = ()

    @cached_property
    def filters(self) -> Sequence[str]:
        """The names of the given fields that have a condition of their own in each place."""
        return [name for name in STORED.conditions if getattr(self, name) not in ("", (), [], {}, None)]

    @property
    def is_of_profiles(self) -> bool:
        """Whether only its kind can say of a submission whether it is selected."""
        return not set(OF_PROFILES).isdisjoint(self.filters)

    @property
    def is_sieved(self) -> bool:
        """Whether orders have to be looked at that may not be selected, and that no index leaves out."""
        return not INDEXED.issuperset(self.filters)

    @property
    def values(self) -> dict[str, Any]:
        """What the conditions name."""
        before, floor = self.before, self.floor
        return {
            **vars(self),
            **{name: list(getattr(self, name)) for name in ("states", "waiting_for", "submitted", "ids")},
            "metadata": json.dumps(dict(self.metadata)),
            "client": client_of(self.customer_id),
            "before_at": before and before.at,
            "before_id": before and before.order_id,
            "floor_at": floor and floor.at,
            "floor_id": floor and floor.order_id,
        }

    @property
    def places(self) -> Sequence[Place]:
        """Where orders may be that it selects."""
        return [place for place in PLACES if self._may_be_in(place)]

    def _may_be_in(self, place: Place) -> bool:
        return (
            place.conditions.keys() >= set(self.filters)
            and (not self.states or not set(place.states).isdisjoint(self.states))
            and (not self.waiting_for or not set(place.waits).isdisjoint(self.waiting_for))
        )

    def ids_of(self, place: Place, columns: str = "") -> str:
        """A statement of the orders of a place that it selects: the place's name, their times and ids, and `columns`,
        newest first."""
        conditions = [place.conditions[name] for name in self.filters]
        return self._read(place, place.joined if conditions else "", columns, conditions)

    def all_of(self, place: Place) -> str:
        """The same for those that are selected by their time alone."""
        return self._read(place, "", "", ())

    def _read(self, place: Place, joined: str, columns: str, conditions: Sequence[str]) -> str:
        return f"""
            SELECT '{place.name}' AS place, {place.placed_at} AS placed_at, {place.order_id} AS order_id {columns}
              FROM {place.table} AS place {joined}
             WHERE {" AND ".join([place.rows, *self._times(place), *conditions])}
             ORDER BY placed_at DESC, order_id DESC
        """

    def _times(self, place: Place) -> list[str]:
        """The conditions by time. The first for a position alone is what an index of the time can use."""
        at, conditions = place.placed_at, []
        for position, name, comparison in ((self.before, "before", "<"), (self.floor, "floor", ">=")):
            if position:
                conditions += [
                    f"{at} {comparison[0]}= %({name}_at)s::timestamptz",
                    f"({at}, {place.order_id}) {comparison} (%({name}_at)s::timestamptz, %({name}_id)s::uuid)",
                ]
        if self.placed_after:
            conditions.append(f"{at} > %(placed_after)s::timestamptz")
        if self.placed_before:
            conditions.append(f"{at} < %(placed_before)s::timestamptz")
        return conditions
