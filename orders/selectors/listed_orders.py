"""Reads many of a client's orders, wherever they are, in one statement, with as much as is wanted of each.

One statement sees one moment: no order is missed while it moves, and the version of an order belongs to exactly the
data that come with it. The lines and steps of orders are read only if they are wanted.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.business.corrections import open_steps
from orders.engine.runtime.sql import fetch, fetch_frequent
from orders.fields.money import Money
from orders.models import SetAside, SubmissionMessage
from orders.selectors.customer_order import (
    CustomerLine,
    CustomerOrder,
    CustomerStep,
    LastEvent,
    LastEvents,
    StoredRow,
    described_order,
    queued_order,
    set_aside_order,
    version_of,
)
from orders.selectors.paging import Position
from orders.selectors.stored_orders import LINES, STEPS, read_lines, read_steps, stored_row
from orders.selectors.waits_in_sql import FAILED, WAIT
from orders.vocabulary import ProcessState, StepStatus, WaitingFor

PARTS = ("lines", "steps")
"""What of an order is read only if it is wanted."""

ARCHIVED_LINES = """
    (SELECT json_agg(json_build_array(
                line -> 'sku', line -> 'title', line -> 'quantity', line -> 'unit_price') ORDER BY number)::text
       FROM jsonb_array_elements(document.lines) WITH ORDINALITY AS lines (line, number))
"""
# `page` has the place, time and id of each order. Only these orders are completed. JSON makes one row of an order.
STORED_ROWS = f"""
    SELECT page.place, page.order_id, stored.subject, stored.title, stored.currency, stored.total, page.placed_at,
           stored.inserted_at, stored.promised_by, process.workflow, process.version, process.process_state,
           process.goal, process.failure_count, process.complete_by, process.paused_at, process.paused_until,
           stored.reference,
           stored.metadata::text AS metadata, last.id AS event_id, last.at AS event_at, wait.kind,
           wait.until,
           CASE WHEN wait.kind = '{WaitingFor.CUSTOMER}' OR process.process_state = '{ProcessState.ERROR}'
                THEN {FAILED} END AS failed,
           {{lines}} AS lines, {{steps}} AS steps,
           NULL::jsonb AS body, NULL AS reason, NULL::timestamptz AS posted_at
      FROM page
      JOIN orders_order AS stored ON stored.id = page.order_id
      JOIN orders_orderprocess AS process ON process.order_id = page.order_id
      LEFT JOIN LATERAL (
           SELECT id, at FROM orders_event AS event WHERE event.order_id = page.order_id ORDER BY id DESC LIMIT 1
           ) AS last ON true
      LEFT JOIN LATERAL ({WAIT}) AS wait ON true
     WHERE page.place = 'stored'
"""
ARCHIVED_ROWS = """
    SELECT page.place, page.order_id, archived.subject, coalesce("order" ->> 'title', ''), archived.currency,
           archived.total, page.placed_at, ("order" ->> 'inserted_at')::timestamptz,
           ("order" ->> 'promised_by')::timestamptz, process ->> 'workflow', (process ->> 'version')::smallint,
           archived.state, process ->> 'goal', (process ->> 'failure_count')::int,
           (process ->> 'complete_by')::timestamptz, NULL::timestamptz, NULL::timestamptz,
           archived.reference, archived.metadata::text,
           nullif(archived.last_event, 0),
           (events -> -1 ->> 'at')::timestamptz, NULL, NULL, NULL, {archived_lines}, {archived_steps}, NULL, NULL, NULL
      FROM page
      JOIN orders_archivedorder AS archived ON archived.order_id = page.order_id
     CROSS JOIN LATERAL jsonb_to_record(archived.document)
           AS document (process jsonb, "order" jsonb, events jsonb, lines jsonb, steps jsonb)
     WHERE page.place = 'archived'
"""
SUBMITTED_ROWS = """
    SELECT page.place, page.order_id, NULL, NULL, NULL, NULL, page.placed_at, submission.changed_at, NULL, NULL, NULL,
           NULL, submission.goal, NULL, NULL, NULL::timestamptz, NULL::timestamptz, NULL, NULL, last.id, last.at,
           NULL, NULL, NULL, NULL, NULL, submission.body, submission.reason, submission.posted_at
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
ROWS = {
    "stored": STORED_ROWS,
    "archived": ARCHIVED_ROWS,
    "queued": SUBMITTED_ROWS,
    "aside": SUBMITTED_ROWS,
}
"""What a page has of the orders of each place. The columns have the names and types of the first."""


NO_STEPS: Mapping[str, frozenset[str]] = {}


class FailedStep(NamedTuple):
    """A step that has failed, and with what."""

    name: str
    error: Mapping[str, Any] | None
    state: str = StepStatus.FAILED.value


class OrderSummary(NamedTuple):
    """An order as its customer sees it in a list. `lines` and `steps` are None if they were not asked for.

    The rest is as in `CustomerOrder`. A tuple, because a list makes many, and a frozen dataclass takes seven times as
    long to make.
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
    open_steps: Mapping[str, frozenset[str]] = NO_STEPS
    error: Mapping[str, str] | None = None
    lines: Sequence[CustomerLine] | None = None
    steps: Sequence[CustomerStep] | None = None


class ListedRow(NamedTuple):
    """A row of one of `ROWS`. Of a submission, `order` has only its id, its goal and its times, and `body` the rest.
    `failed` are the steps that have failed of an order that waits for its customer or is in Error."""

    place: str
    order: StoredRow
    event_id: int | None
    event_at: datetime
    wait: str | None
    wait_until: datetime | None
    failed: str | None
    lines: str | None
    steps: str | None
    body: str | None
    reason: str | None
    posted_at: datetime

    @property
    def position(self) -> Position:
        """Where the order is in its customer's list."""
        return Position(self.order.placed_at, self.order.pk)

    @property
    def last_event(self) -> LastEvents:
        """The order's last event by its id, if it has any."""
        return {self.order.pk: LastEvent(self.event_id, self.event_at)} if self.event_id else {}


def read_page(
    page: str,
    values: Mapping[str, Any],
    parts: Collection[str] = (),
    *,
    places: Collection[str] = tuple(ROWS),
    is_frequent: bool,
) -> dict[UUID, ListedRow]:
    """The orders of a page by their ids, the newest first, with these of the `PARTS`.

    `page` is a statement of their places, times and ids, which names the `values`, among them the `client`. They may be
    in these `places`; what is read of another one would only have to be planned. If the statement `is_frequent`, the
    server plans it once for all clients.
    """
    columns = {
        "lines": LINES.format(order_id="page.order_id") if "lines" in parts else "NULL",
        "steps": STEPS.format(order_id="page.order_id", result="") if "steps" in parts else "NULL",
        "archived_lines": ARCHIVED_LINES if "lines" in parts else "NULL",
        "archived_steps": "document.steps::text" if "steps" in parts else "NULL",
    }
    rows_of_places = dict.fromkeys(rows for place, rows in ROWS.items() if place in places)
    statement = f"WITH page AS MATERIALIZED ({page}) {' UNION ALL '.join(rows_of_places).format(**columns)}"
    end = len(StoredRow._fields)
    read = fetch_frequent if is_frequent else fetch
    rows = [ListedRow(place, stored_row(row[:end]), *row[end:]) for place, *row in read(statement, values)]
    return {row.order.pk: row for row in sorted(rows, key=lambda row: row.position, reverse=True)}


def customer_order(row: ListedRow) -> CustomerOrder:
    """An order from a row with all parts."""
    if row.body is not None:
        return _submission(row)
    order = row.order
    view = described_order(
        order,
        order,
        read_steps(row.steps, order.goal),
        read_lines(row.lines, order.currency),
        row.last_event,
    )
    return replace(view, is_archived=True) if row.place == "archived" else view


def summary(row: ListedRow, parts: Collection[str] = ()) -> OrderSummary:
    """A summary of an order from a row with these parts."""
    if row.body is not None:
        return _summary_of_submission(_submission(row), parts)
    order = row.order
    return OrderSummary(
        id=order.pk,
        workflow=order.workflow,
        subject=order.subject,
        title=order.title,
        reference=order.reference,
        metadata=order.metadata or {},
        version=version_of(row.event_id or 0, order.process_state),
        state=order.process_state,
        goal=order.goal,
        waiting_for=WaitingFor(row.wait) if row.wait else None,
        waiting_until=row.wait_until,
        failure_count=order.failure_count,
        complete_by=order.complete_by,
        placed_at=order.placed_at,
        updated_at=row.event_at if row.event_id else order.inserted_at,
        total=None if order.total is None else Money(amount=order.total, currency=order.currency),
        open_steps=_open_steps(order, row.failed) if row.failed else NO_STEPS,
        lines=read_lines(row.lines, order.currency) if "lines" in parts else None,
        steps=read_steps(row.steps, order.goal) if "steps" in parts else None,
    )


def _open_steps(order: StoredRow, failed: str) -> Mapping[str, frozenset[str]]:
    """Those of its failed steps that its customer can resolve, and the fields that she may change for each."""
    steps = [FailedStep(name, error) for name, error in json.loads(failed)]
    return open_steps(order.workflow, order.version, goal=order.goal, state=order.process_state, steps=steps)


def _summary_of_submission(order: CustomerOrder, parts: Collection[str]) -> OrderSummary:
    unread = dict.fromkeys(set(PARTS).difference(parts))
    return OrderSummary(**{name: getattr(order, name) for name in OrderSummary._fields} | unread)


def _submission(row: ListedRow) -> CustomerOrder:
    order = row.order
    common: dict[str, Any] = {
        "order_id": order.pk,
        "body": json.loads(row.body or "null"),
        "posted_at": row.posted_at,
    }
    if row.reason is None:
        view = queued_order(SubmissionMessage(**common, goal=order.goal), row.last_event)
    else:
        aside = SetAside(**common, reason=row.reason, set_aside_at=order.inserted_at)
        view = set_aside_order(aside, row.last_event)
    return replace(view, placed_at=order.placed_at)
