"""Rows in any legal state. Tests move the time in a row, not their own: `ago` and `ahead` use the database's clock."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from orders.engine.branches import item_name
from orders.engine.contracts import Workflow
from orders.engine.runtime.sql import database_now
from orders.engine.runtime.text import message_pattern
from orders.models import (
    AgentReply,
    AgentRequest,
    Alert,
    AlertGroup,
    Order,
    OrderProcess,
    StepState,
    SubmissionKey,
)
from orders.shop.placing import NewLine, NewOrder
from tests.support.order_bodies import DELFT, EMAIL
from tests.support.workflows import CAKE


def ago(seconds: float) -> datetime:
    """A moment in the past, by the database's clock."""
    return database_now() - timedelta(seconds=seconds)


def ahead(seconds: float) -> datetime:
    """A moment in the future, by the database's clock."""
    return database_now() + timedelta(seconds=seconds)


# The fields that a step in each state must have, so that a test names only what it is about.
LEGAL: Mapping[str, Mapping[str, Any]] = {
    "not_started": {},
    "running": {"attempt": 1, "outcome": "unknown"},
    "awaiting": {"attempt": 1, "awaits": {"kind": "event"}},
    "completed": {"attempt": 1, "answered": 1, "outcome": "done", "result": {"ok": True}},
    "failed": {"attempt": 1, "answered": 1, "outcome": "refused", "error": {"code": "no", "message": "no"}},
    "skipped": {},
    "compensating": {"attempt": 2, "outcome": "done"},
    "compensated": {"attempt": 2, "answered": 2, "outcome": "done"},
}


def make_order(
    steps: Mapping[str, str | Mapping[str, Any]] | None = None, *, workflow: Workflow = CAKE, **process: Any
) -> OrderProcess:
    """An order of a workflow. `steps` gives each step's state or fields; steps that it does not name are not started.

    A Processing order is locked by "scheduler:test", with ten minutes to its complete-by, unless fields say otherwise.
    """
    fields: dict[str, Any] = {"order_id": uuid7(), "workflow": workflow.name, "version": workflow.version}
    if process.get("process_state") == "processing":
        fields |= {"locked_by": "scheduler:test", "complete_by": ahead(600), "started_at": ago(1)}
    order = OrderProcess.objects.create(**(fields | process))
    named_steps = dict(steps or {})
    rows = []
    for position, declared in enumerate(workflow.steps):
        step_fields = named_steps.pop(declared.name, {})
        step_fields = {"state": step_fields} if isinstance(step_fields, str) else dict(step_fields)
        state = step_fields.get("state", "not_started")
        legal = dict(LEGAL[state])
        if state in ("running", "compensating"):
            legal |= {"complete_by": ahead(30), "started_at": ago(1)}
        if state == "running":
            legal["settles_at"] = ahead(35)
        if state == "awaiting":
            legal |= {"complete_by": ahead(3_600), "started_at": ago(1)}
        defaults = {"agent": declared.own_agent, "request": {"portions": 1}}
        rows.append(
            StepState(
                process=order,
                name=declared.name,
                position=position,
                **(defaults | legal | step_fields),
            )
        )
    assert not named_steps, f"no such steps: {named_steps}"
    StepState.objects.bulk_create(rows)
    return order


def joint(items: int) -> dict[str, Any]:
    """The fields of a step that waits for its items."""
    return {
        "state": "awaiting",
        "agent": "",
        "complete_by": None,
        "awaits": {"kind": "items", "items": items},
    }


def make_item(order: OrderProcess, step: str, number: int, **fields: Any) -> StepState:
    """One item of a step, which has the step's agent unless fields say otherwise."""
    own = step_of(order, step)
    item = {"name": item_name(step, number), "position": own.position, "agent": "carrier", "request": {}}
    return StepState.objects.create(process=order, **(item | LEGAL[fields["state"]] | fields))


def step_of(order: OrderProcess | UUID, name: str) -> StepState:
    """One step, as it is stored now."""
    order_id = order.order_id if isinstance(order, OrderProcess) else order
    return StepState.objects.get(process_id=order_id, name=name)


def make_reply(step: StepState, outcome: str = "done", body: Any = None, **fields: Any) -> AgentReply:
    """An agent's reply to the step's current attempt, in the reply queue."""
    answers = {
        "attempt": step.attempt,
        "compensates": step.state == "compensating",
        "instance": "agents:test",
    }
    if body is None:
        body = {"ok": True} if outcome == "done" else {"code": "no", "message": "it said no"}
    return AgentReply.objects.create(
        order_id=step.process_id, step_id=step.pk, outcome=outcome, body=body, **(answers | fields)
    )


def make_alert(order_id: UUID | None, **fields: Any) -> Alert:
    """An alert, open unless fields say otherwise, in the group of its cause."""
    values = {"kind": "step_failed", "code": "no", "message": "no", "agent": ""} | fields
    group, _ = AlertGroup.objects.get_or_create(
        kind=values["kind"],
        agent=values["agent"],
        code=values["code"],
        pattern=message_pattern(values["message"]),
    )
    return Alert.objects.create(order_id=order_id, group=group, **values)


def make_purchase(order_id: UUID, **fields: Any) -> Order:
    """The order's row in the orders database, without lines."""
    defaults = {
        "email": EMAIL,
        "currency": "EUR",
        "total": 3_900,
        "data": {"ship_to": DELFT, "payment_method": "card_ok", "email": EMAIL},
        "placed_at": ago(0),
    }
    return Order.objects.create(id=order_id, **(defaults | fields))


def new_order(*skus: str, quantity: int = 1, **fields: Any) -> NewOrder:
    """An order for `quantity` of each product, as the shop takes it from a customer."""
    defaults = {"ship_to": DELFT, "email": EMAIL, "payment_method": "card_ok"}
    return NewOrder(lines=[NewLine(sku=sku, quantity=quantity) for sku in skus], **(defaults | fields))


def make_request(step: StepState, **fields: Any) -> AgentRequest:
    """The request for the step's current attempt, in the request queue."""
    compensates = step.state == "compensating"
    key = f"{step.process_id}/{step.name}/{step.generation}"
    defaults: dict[str, Any] = {
        "order_id": step.process_id,
        "step_id": step.pk,
        "step": step.name,
        "agent": step.agent,
        "operation": f"{step.name}-it",
        "attempt": step.attempt,
        "compensates": compensates,
        "key": f"{key}/undo" if compensates else key,
        "reverses": key if compensates else "",
        "body": {"data": step.request, "results": {}},
        "complete_by": step.complete_by or ahead(30),
    }
    return AgentRequest.objects.create(**(defaults | fields))


def register(*order_ids: UUID) -> None:
    """Has these orders be found by their numbers, as all are that were placed."""
    SubmissionKey.objects.bulk_create(
        SubmissionKey(client="guest", body_hash="", order_id=order_id) for order_id in order_ids
    )
