"""What would be sent next for an order: the scheduler's and the agent host's own decisions, on rows that nobody locks.

Nothing is written. The rows are as the caller says, so it may ask what would follow from an act.
"""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from orders.engine import state_store
from orders.engine.agent_host.doubt import Doubt
from orders.engine.agent_host.requests import request_of
from orders.engine.channels import requests
from orders.engine.channels.leases import Lease
from orders.engine.channels.requests import NewRequest
from orders.engine.contracts import Request, Workflow
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.scheduler.order_pass import OrderPass
from orders.engine.scheduler.progress import ENDED, FINISHED
from orders.vocabulary import Goal, ProcessState

MOST_PASSES = 5
"""How many of a scheduler's passes are looked at, at most: each after the wait that the one before found."""


class NextCall(NamedTuple):
    """A request that would be sent, at `at` at the earliest. One that `asks_first` is preceded by a question: whether
    the service has done it already. `complete_within` is how many seconds it would have."""

    request: Request
    agent: str
    at: datetime
    complete_within: float
    asks_first: bool


class LaterStep(NamedTuple):
    """A step that would come after those, once the others in `after` are done. The results of those in `needs`, which
    nobody knows yet, are part of what it sends."""

    step: str
    agent: str
    after: Sequence[str]
    needs: Sequence[str]


class Prospect(NamedTuple):
    """What would follow. Without calls, `error` is what would put the order into Error at once, if anything would."""

    calls: Sequence[NextCall]
    later: Sequence[LaterStep]
    goal: str
    error: dict[str, Any] | None = None


def next_calls(
    *,
    row: ProcessRow,
    steps: Sequence[StepRow],
    workflow: Workflow,
    names: Collection[str],
    now: datetime,
) -> Prospect:
    """Says what would be sent for an order with these rows, until each of the steps with these `names` is sent or has
    to wait for another. Every agent is taken to have room."""
    calls: list[NextCall] = []
    order, at = OrderPass(row=row, steps=steps, workflow=workflow, instance=""), now
    for _ in range(MOST_PASSES):
        order.turn(at)
        if order.asks_facts():
            order.facts = state_store.facts_of([row.order_id])[row.order_id]
        order.advance(at)
        calls += _calls(order, workflow, at)
        wake = order.row.not_before
        is_left = set(names) - {call.request.step for call in calls}
        if not is_left or wake is None or wake <= at or order.row.process_state in ENDED:
            break
        following = OrderPass(row=order.row, steps=list(order.steps.values()), workflow=workflow, instance="")
        order, at = following, wake
    error = next((step.error for step in order.steps.values() if order.alerts and _caused(order, step)), None)
    in_error = order.row.process_state == ProcessState.ERROR
    return Prospect(calls, _later(order, workflow, calls), order.row.goal, error if in_error else None)


def _caused(order: OrderPass, step: StepRow) -> bool:
    return any(alert.step == step.name for alert in order.alerts)


def _calls(order: OrderPass, workflow: Workflow, at: datetime) -> list[NextCall]:
    inputs = requests.inputs_of(order.new_requests)
    rows = {step.id: step for step in order.steps.values()}
    own = {write.step.name: json.loads(write.result) for write in order.step_writes() if write.result}
    calls = []
    for new in order.new_requests:
        step, body = rows[new.step_id], inputs[new.step_id]
        body["results"] |= {name: own[name] for name in new.needs.split(",") if name in own}
        declared = workflow.step_of(step.name)
        lease = _lease(new, step, body, seconds=declared.complete_by)
        doubt = Doubt(lease, can_ask=declared.can_be_asked)
        calls.append(NextCall(request_of(lease), step.agent, at, declared.complete_by, doubt.must_ask))
    return calls


def _lease(new: NewRequest, step: StepRow, body: dict[str, Any], *, seconds: float) -> Lease:
    """The request as its first host would claim it."""
    if reference := (step.awaits or {}).get("reference"):
        body["reference"] = reference
    return Lease(
        id=0,
        deliveries=1,
        order_id=step.order_id,
        step=step.name,
        agent=step.agent,
        operation=new.operation,
        attempt=step.attempt,
        compensates=new.compensates,
        key=new.key,
        reverses=new.reverses,
        body=body,
        seconds_left=seconds,
        is_repeat=new.is_repeat,
        key_is_known=new.key_is_known,
    )


def _later(order: OrderPass, workflow: Workflow, calls: Sequence[NextCall]) -> list[LaterStep]:
    """The steps forward that are not begun yet, in the order of the workflow."""
    if order.row.goal == Goal.COMPENSATE:
        return []
    sent = {call.request.step for call in calls}
    later = []
    for name, declared in workflow.by_name.items():
        step = order.steps.get(name)
        if step is None or step.state in FINISHED or name in sent or step.attempt:
            continue
        unfinished = [
            other
            for other in workflow.by_name
            if other in (*declared.after, *declared.needs) and order.steps[other].state not in FINISHED
        ]
        needs = [other for other in unfinished if other in declared.needs]
        later.append(
            LaterStep(name, declared.agent, [name for name in unfinished if name not in needs], needs)
        )
    return later
