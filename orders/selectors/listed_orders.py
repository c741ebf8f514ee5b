"""Reads many of a client's orders, wherever they are, in one statement, with as much as is wanted of each.

One statement sees one moment: no order is missed while it moves, and the version of an order belongs to exactly the
data that come with it. The lines and steps of orders are read only if they are wanted.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch
from orders.fields.money import Money
from orders.models import SetAside, SubmissionMessage
from orders.selectors.customer_order import (
    CustomerLine,
    CustomerOrder,
    CustomerStep,
    LastEvent,
    StoredRow,
    described_order,
    queued_order,
    set_aside_order,
    version_of,
)
from orders.selectors.stored_orders import LINES, STEPS, read_lines, read_steps
from orders.selectors.waits_in_sql import WAIT
from orders.vocabulary import WaitingFor

PARTS = ("lines", "steps")
"""What of an order is read only if it is wanted."""

ARCHIVED_LINES = """
    (SELECT json_agg(json_build_array(
                line -> 'sku', line -> 'title', line -> 'quantity', line -> 'unit_price') ORDER BY number)::text
       FROM jsonb_array_elements(document.lines) WITH ORDINALITY AS lines (line, number))
"""
# `page` has the place, time and id of each order. Only these orders are completed. JSON makes one row of an order.
ROWS = f"""
    SELECT page.place, page.order_id, stored.subject, stored.title, stored.currency, stored.total, page.placed_at,
           stored.inserted_at, stored.promised_by, process.workflow, process.version, process.process_state,
           process.goal, process.failure_count, process.complete_by, stored.reference,
           stored.metadata::text AS metadata, last.id AS event_id, last.at AS event_at, wait.kind,
           wait.until, {{lines}} AS lines, {{steps}} AS steps,
           NULL::jsonb AS body, NULL AS reason, NULL::timestamptz AS posted_at
      FROM page
      JOIN orders_order AS stored ON stored.id = page.order_id
      JOIN orders_orderprocess AS process ON process.order_id = page.order_id
      LEFT JOIN LATERAL (
           SELECT id, at FROM orders_event AS event WHERE event.order_id = page.order_id ORDER BY id DESC LIMIT 1
           ) AS last ON true
      LEFT JOIN LATERAL ({WAIT}) AS wait ON true
     WHERE page.place = 'stored'
     UNION ALL
    SELECT page.place, page.order_id, archived.subject, coalesce("order" ->> 'title', ''), archived.currency,
           archived.total, page.placed_at, ("order" ->> 'inserted_at')::timestamptz,
           ("order" ->> 'promised_by')::timestamptz, process ->> 'workflow', (process ->> 'version')::smallint,
           archived.state, process ->> 'goal', (process ->> 'failure_count')::int,
           (process ->> 'complete_by')::timestamptz, archived.reference, archived.metadata::text,
           nullif(archived.last_event, 0),
           (events -> -1 ->> 'at')::timestamptz, NULL, NULL, {{archived_lines}}, {{archived_steps}}, NULL, NULL, NULL
      FROM page
      JOIN orders_archivedorder AS archived ON archived.order_id = page.order_id
     CROSS JOIN LATERAL jsonb_to_record(archived.document)
           AS document (process jsonb, "order" jsonb, events jsonb, lines jsonb, steps jsonb)
     WHERE page.place = 'archived'
     UNION ALL
    SELECT page.place, page.order_id, NULL, NULL, NULL, NULL, page.placed_at, submission.changed_at, NULL, NULL, NULL,
           NULL, submission.goal, NULL, NULL, NULL, NULL, last.id, last.at, NULL, NULL, NULL, NULL, submission.body,
           submission.reason, submission.posted_at
      FROM page
     CROSS JOIN LATERAL (
           SELECT goal, body, NULL AS reason, posted_at, posted_at AS changed_at FROM orders_submissionmessage
            WHERE page.place = 'queued' AND order_id = page.order_id AND client = %(client)s::text
            UNION ALL
           SELECT NULL, body, reason, posted_at, set_aside_at FROM orders_setaside
            WHERE page.place = 'aside' AND order_id = page.order_id AND client = %(client)s::text
              AND replayed_at IS NULL
           ) AS submission
      LEFT JOIN LATERAL (
           SELECT id, at FROM orders_event AS event WHERE event.order_id = page.order_id ORDER BY id DESC LIMIT 1
           ) AS last ON true
"""


@dataclass(frozen=True, kw_only=True)
class OrderSummary:
    """An order as its customer sees it in a list. `lines` and `steps` are None if they were not asked for.

    The rest is as in `CustomerOrder`.
    """

    id: UUID
    workflow: str
    subject: str
    title: str
    reference: str
    metadata: Mapping[str, str]
    version: str
    state: str
    goal: str
    waiting_for: WaitingFor | None
    waiting_until: datetime | None
    failure_count: int
    complete_by: datetime | None
    placed_at: datetime
    updated_at: datetime
    total: Money | None
    error: Mapping[str, str] | None = None
    lines: Sequence[CustomerLine] | None = None
    steps: Sequence[CustomerStep] | None = None


_MEMBERS = [field.name for field in fields(OrderSummary)]


class ListedRow(NamedTuple):
    """The columns of `ROWS`. Of a submission most have no value, but for its `body`."""

    place: str
    id: UUID
    subject: str
    title: str
    currency: str
    total: int | None
    placed_at: datetime
    inserted_at: datetime
    promised_by: datetime | None
    workflow: str
    version: int
    process_state: str
    goal: str
    failure_count: int
    complete_by: datetime | None
    reference: str
    metadata: str | None
    event_id: int | None
    event_at: datetime
    kind: str | None
    until: datetime | None
    lines: str | None
    steps: str | None
    body: str | None
    reason: str | None
    posted_at: datetime

    @property
    def last_event(self) -> Mapping[UUID, LastEvent]:
        """The order's last event by its id, if it has any."""
        return {self.id: LastEvent(self.event_id, self.event_at)} if self.event_id else {}


def read_page(page: str, values: Mapping[str, Any], parts: Collection[str] = ()) -> dict[UUID, ListedRow]:
    """The orders of a page by their ids, the newest first, with these of the `PARTS`.

    `page` is a statement of their places, times and ids, which names the `values`, among them the `client`.
    """
    wanted = {
        "lines": LINES.format(order_id="page.order_id") if "lines" in parts else "NULL",
        "steps": STEPS.format(order_id="page.order_id") if "steps" in parts else "NULL",
        "archived_lines": ARCHIVED_LINES if "lines" in parts else "NULL",
        "archived_steps": "document.steps::text" if "steps" in parts else "NULL",
    }
    statement = f"WITH page AS MATERIALIZED ({page}) {ROWS.format(**wanted)}"
    rows = [ListedRow(*row) for row in fetch(statement, values)]
    return {row.id: row for row in sorted(rows, key=lambda row: (row.placed_at, row.id), reverse=True)}


def customer_order(row: ListedRow) -> CustomerOrder:
    """An order from a row with all parts."""
    if row.body is not None:
        return _submission(row)
    stored = StoredRow._make(row[1 : 1 + len(StoredRow._fields)])
    stored = stored._replace(metadata=json.loads(row.metadata or "{}"))
    view = described_order(
        stored,
        stored,
        read_steps(row.steps, row.goal),
        read_lines(row.lines, row.currency),
        row.last_event,
    )
    return replace(view, is_archived=True) if row.place == "archived" else view


def summary(row: ListedRow, parts: Collection[str] = ()) -> OrderSummary:
    """A summary of an order from a row with these parts."""
    if row.body is not None:
        return _summary_of_submission(_submission(row), parts)
    return OrderSummary(
        id=row.id,
        workflow=row.workflow,
        subject=row.subject,
        title=row.title,
        reference=row.reference,
        metadata=json.loads(row.metadata or "{}"),
        version=version_of(row.event_id or 0, row.process_state),
        state=row.process_state,
        goal=row.goal,
        waiting_for=WaitingFor(row.kind) if row.kind else None,
        waiting_until=row.until,
        failure_count=row.failure_count,
        complete_by=row.complete_by,
        placed_at=row.placed_at,
        updated_at=row.event_at if row.event_id else row.inserted_at,
        total=None if row.total is None else Money(amount=row.total, currency=row.currency),
        lines=read_lines(row.lines, row.currency) if "lines" in parts else None,
        steps=read_steps(row.steps, row.goal) if "steps" in parts else None,
    )


def _summary_of_submission(order: CustomerOrder, parts: Collection[str]) -> OrderSummary:
    unread = dict.fromkeys(set(PARTS).difference(parts))
    return OrderSummary(**{name: getattr(order, name) for name in _MEMBERS} | unread)


def _submission(row: ListedRow) -> CustomerOrder:
    common: dict[str, Any] = {
        "order_id": row.id,
        "body": json.loads(row.body or "null"),
        "posted_at": row.posted_at,
    }
    if row.reason is None:
        view = queued_order(SubmissionMessage(**common, goal=row.goal), row.last_event)
    else:
        aside = SetAside(**common, reason=row.reason, set_aside_at=row.inserted_at)
        view = set_aside_order(aside, row.last_event)
    return replace(view, placed_at=row.placed_at)
