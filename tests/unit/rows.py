"""Rows as the engine reads them, in any legal state, without a database."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from orders.engine.contracts import Step, Workflow
from orders.engine.rows import ProcessRow, ReplyRow, StepRow
from tests.support.factories import LEGAL
from tests.support.workflows import CAKE

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
ORDER = UUID("01936c2e-0000-7000-8000-0000000000aa")
ME = "scheduler:me"

NEW = StepRow(
    id=0,
    order_id=ORDER,
    name="",
    agent="",
    state="not_started",
    attempt=0,
    answered=0,
    generation=1,
    compensation_generation=1,
    outcome="none",
    complete_by=None,
    settles_at=None,
    not_before=None,
    failure_count=0,
    compensation_failure_count=0,
    extended_waits=0,
    error=None,
)


def at(seconds: float) -> datetime:
    """The moment this many seconds after NOW."""
    return NOW + timedelta(seconds=seconds)


def chain(*names: str, **declared: object) -> Workflow:
    """A workflow in which each step comes after the previous one; all steps share `declared`."""
    steps = [
        Step(
            name=name,
            agent="hand",
            operation=f"{name}-it",
            data=dict,
            after=names[max(0, n - 1) : n],
            **declared,
        )  # type: ignore[arg-type]
        for n, name in enumerate(names)
    ]
    return Workflow(name="chain", version=1, steps=tuple(steps))


def step_row(
    name: str, state: str | Mapping[str, Any] = "not_started", workflow: Workflow = CAKE, **fields: Any
) -> StepRow:
    """A step with this state or these fields. A step in flight has 30 s left, and 35 s to settle."""
    values = {"state": state} if isinstance(state, str) else dict(state)
    legal = {
        key: value for key, value in LEGAL[values.get("state", "not_started")].items() if key != "result"
    }
    if values.get("state") in ("running", "compensating"):
        legal["complete_by"] = at(30)
    if values.get("state") == "running":
        legal["settles_at"] = at(35)
    if values.get("state") == "awaiting":
        legal["complete_by"] = at(3_600)
    names = [step.name for step in workflow.steps]
    declared = workflow.by_name[name]
    identity = {
        "id": names.index(name) + 1,
        "name": name,
        "agent": declared.own_agent,
    }
    return NEW._replace(**(identity | legal | values | fields))


def step_rows(
    states: Mapping[str, str | Mapping[str, Any]] | None = None, workflow: Workflow = CAKE
) -> list[StepRow]:
    """All steps of an order; steps that `states` does not name are not started."""
    named_steps = dict(states or {})
    assert named_steps.keys() <= workflow.by_name.keys()
    return [
        step_row(step.name, named_steps.get(step.name, "not_started"), workflow) for step in workflow.steps
    ]


def process_row(**fields: Any) -> ProcessRow:
    """A new order of CAKE; a Processing order is another scheduler's and has ten minutes left."""
    new: dict[str, Any] = {
        "order_id": ORDER,
        "workflow": CAKE.name,
        "version": CAKE.version,
        "goal": "complete",
        "process_state": "pending",
        "locked_by": None,
        "complete_by": None,
        "failure_count": 0,
        "overruns": 0,
        "priority": 5,
        "not_before": None,
        "reply_to": "",
        "started_at": None,
        "announced": True,
        "created_at": at(-1),
    }
    if fields.get("process_state") == "processing":
        new |= {"locked_by": "scheduler:other", "complete_by": at(600), "started_at": at(-1)}
    return ProcessRow(**(new | fields))


def reply_to(step: StepRow, outcome: str = "done", body: Any = None, **fields: Any) -> ReplyRow:
    """An agent's reply to the step's current attempt."""
    if body is None:
        body = {"ok": True} if outcome == "done" else {"code": "no", "message": "it said no"}
    answer: dict[str, Any] = {
        "id": 1,
        "order_id": step.order_id,
        "step_id": step.id,
        "attempt": step.attempt,
        "compensates": step.state == "compensating",
        "outcome": outcome,
        "body": json.dumps(body),
        "calls": 1,
        "instance": "agents:test",
        "posted_at": at(-1),
    }
    return ReplyRow(**(answer | fields))
