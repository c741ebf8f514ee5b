"""What resubmitting an order would send, shown before anybody resubmits it. Nothing is sent, claimed or written.

The schedulers' and agents' own code decides and composes it, from the rows as a resubmission would leave them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote
from uuid import UUID

from orders.business import registry
from orders.engine.contracts import Agent, Request
from orders.engine.next_calls import LaterStep, NextCall, Prospect, next_calls
from orders.engine.rehearsals import Difference, Outgoing, Rehearsal, differences
from orders.engine.rows import ProcessRow
from orders.engine.runtime.sql import database_now
from orders.engine.state_store import steps_of
from orders.models import Event, OrderProcess
from orders.services.order_changes import why_not_resubmit
from orders.services.order_lock import NoSuchOrderError, released, reset_step
from orders.vocabulary import EventKind, StepStatus

MASKED = "(masked)"
CANNOT_SHOW = "The agent {agent} cannot show what it would send. It would be asked for this:"


class LastCall(NamedTuple):
    """The last time that a step was sent in the same direction."""

    attempt: int
    at: datetime
    key: str


@dataclass(frozen=True, kw_only=True)
class RehearsedCall:
    """A call that a resubmission would make. It is sent at `at` at the earliest, and has `complete_within` seconds.

    With an `inquiry` the remote service is asked that first, and nothing is sent if it says that this is done. Without
    a `message`, `note` says why there is none to show. `differences` are from what was sent `last`, if it was.
    """

    request: Request
    agent: str
    at: datetime
    complete_within: float
    message: Outgoing | None
    inquiry: Outgoing | None
    note: str
    last: LastCall | None
    differences: Sequence[Difference]


@dataclass(frozen=True, kw_only=True)
class ResubmissionRehearsal:
    """What a resubmission would send next, and which steps would come later. Without calls, `why_nothing` says why."""

    calls: Sequence[RehearsedCall] = ()
    later: Sequence[LaterStep] = ()
    why_nothing: str = ""


def rehearse_resubmission(order_id: UUID) -> ResubmissionRehearsal:
    """Says what resubmitting the whole order would send. Raises `NoSuchOrderError`."""
    row = _row_of(order_id)
    if reason := why_not_resubmit(row):
        return ResubmissionRehearsal(why_nothing=f"{reason}, so there is nothing to resubmit.")
    workflow = registry.workflows().get((row.workflow, row.version))
    if workflow is None:
        return ResubmissionRehearsal(
            why_nothing=f"This release has no workflow {row.workflow!r} in version {row.version}, so nothing is sent."
        )
    now, steps = database_now(), steps_of([order_id])[order_id]
    failed = {step.name for step in steps if step.state == StepStatus.FAILED}
    prospect = next_calls(
        row=released(row._replace(overruns=0)),
        steps=[reset_step(step, row.goal) if step.name in failed else step for step in steps],
        workflow=workflow,
        names=failed,
        now=now,
    )
    if not prospect.calls:
        return ResubmissionRehearsal(later=prospect.later, why_nothing=_why_nothing(row, prospect, now))
    return ResubmissionRehearsal(
        calls=asyncio.run(_rehearse(prospect.calls, _last_requests(order_id, prospect.calls))),
        later=prospect.later,
    )


def _row_of(order_id: UUID) -> ProcessRow:
    row = OrderProcess.objects.filter(order_id=order_id).values_list(*ProcessRow._fields).first()
    if row is None:
        raise NoSuchOrderError(f"Order {order_id} is not in the state store.")
    return ProcessRow._make(row)


def _why_nothing(row: ProcessRow, prospect: Prospect, now: datetime) -> str:
    if row.is_paused(now):
        return "The order is paused. It sends nothing until it is resumed."
    if prospect.error is not None:
        code, message = prospect.error.get("code", "unknown"), prospect.error.get("message", "")
        return f"Nothing would be sent. The order would be in Error again at once: {code}: {message}"
    return "Nothing would be sent: no step of the order is ready to call its agent."


def _last_requests(order_id: UUID, calls: Sequence[NextCall]) -> Mapping[str, tuple[LastCall, Request]]:
    """What each step was asked for when it was last sent in the same direction, by the order's history."""
    events = list(
        Event.objects.filter(order_id=order_id)
        .filter(kind__in=(EventKind.STEP_STARTED, EventKind.COMPENSATION_STARTED, EventKind.EDITED))
        .order_by("id")
    )
    last = {}
    for call in calls:
        request = call.request
        kind = EventKind.COMPENSATION_STARTED if request.compensates else EventKind.STEP_STARTED
        sent = [event for event in events if event.step == request.step and event.kind == kind]
        if not sent:
            continue
        event = sent[-1]
        data = dict(request.data)
        for edit in reversed(events[events.index(event) :]):  # the latest edit is taken back first
            if edit.kind == EventKind.EDITED and edit.step in ("", request.step):
                before = edit.detail.get("before") or {}
                data |= {name: value for name, value in before.items() if name in data}
        key = str(event.detail.get("key", request.key))
        former = replace(request, attempt=event.attempt, key=key, data=data, issue_token=lambda: MASKED)
        last[request.step] = (LastCall(event.attempt, event.at, key), former)
    return last


async def _rehearse(
    calls: Sequence[NextCall], last: Mapping[str, tuple[LastCall, Request]]
) -> list[RehearsedCall]:
    agents = registry.make_agents()
    try:
        return [await _rehearsed(call, agents.get(call.agent), last.get(call.request.step)) for call in calls]
    finally:
        for agent in agents.values():
            await agent.close()


async def _rehearsed(
    call: NextCall, agent: Agent | None, last: tuple[LastCall, Request] | None
) -> RehearsedCall:
    rehearsal, note = await _ask(agent, call.agent, call.request)
    differing: Sequence[Difference] = ()
    if last is not None and rehearsal.call is not None:
        former, _ = await _ask(agent, call.agent, last[1])
        differing = differences(former.call, rehearsal.call) if former.call else ()
    return RehearsedCall(
        request=call.request,
        agent=call.agent,
        at=call.at,
        complete_within=call.complete_within,
        message=rehearsal.call,
        inquiry=rehearsal.inquiry if call.asks_first else None,
        note=note or rehearsal.ending,
        last=last[0] if last else None,
        differences=differing,
    )


async def _ask(agent: Agent | None, name: str, request: Request) -> tuple[Rehearsal, str]:
    """What the agent would send, and what to say if it cannot tell."""
    nothing = Rehearsal(call=None)
    if agent is None:
        return nothing, f"This release has no agent {name!r}."
    rehearse = getattr(agent, "rehearse", None)
    if rehearse is None:
        return nothing, CANNOT_SHOW.format(agent=name)
    try:
        async with asyncio.timeout(agent.call_timeout):
            return _without_token(await rehearse(request), request.callback_token), ""
    except Exception as error:  # noqa: BLE001 - whatever a business's own code raises, the page says so
        return nothing, f"The agent {name} failed to show what it would send: {type(error).__name__}: {error}"


def _without_token(rehearsal: Rehearsal, token: str) -> Rehearsal:
    """Whoever has the token may answer for the step, so it is shown to nobody."""
    if not token:
        return rehearsal
    return replace(
        rehearsal,
        call=rehearsal.call and _masked(rehearsal.call, token),
        inquiry=rehearsal.inquiry and _masked(rehearsal.inquiry, token),
    )


def _masked(message: Outgoing, token: str) -> Outgoing:
    def shown(text: str) -> str:
        return text.replace(token, MASKED).replace(quote(token, safe=""), MASKED)

    body = message.body
    for written in (token, quote(token, safe="")):
        body = body.replace(written.encode(), MASKED.encode())
    headers = {name: shown(value) for name, value in message.headers.items()}
    return replace(message, url=shown(message.url), headers=headers, body=body)
