"""Asks an admin to approve an act, and approves, declines and withdraws what was asked for. See docs/adr/0058.

Asking rehearses the act and takes it back, so what cannot be done is refused at once. Approving carries it out in the
same transaction, by the same service, which checks the state anew. Both people are named in the audit log, and the
reason in the order's history names who asked.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from orders.engine.channels.wakeups import Topic, wake
from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import database_now, fetch
from orders.models import ApprovalRequest
from orders.selectors.desk.refund_approval import is_set, may_refund, refund_to_approve
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators import notifications
from orders.services.operators.acts import already, done, refused
from orders.services.operators.approval_acts import ACTS, REFUNDS, Terms, approval_by, refund_named
from orders.services.operators.opposite_requests import opposite_request
from orders.vocabulary import ApprovalAct, ApprovalState, BulkKind
from orders.wording.units import counted

LIFETIME = timedelta(hours=24)
"""How long a request waits for an answer before it expires."""
LONGEST_REASON = 200
"""Characters of a reason, with what says who asked."""
SHELL = "operator:"
"""How the name of somebody who acts by a command begins."""


class NoSuchApprovalError(SaswebError):
    """Raised when there is no such request for approval."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """What came of asking: the request, or None if the act is refused as it would be without asking."""

    result: Result
    request: ApprovalRequest | None = None


def ask(
    *,
    act: ApprovalAct,
    parameters: dict[str, Any],
    actor: Actor,
    reason: str,
    typed: str | int | None = None,
) -> Asking:
    """Asks for approval of an act. The same act that already waits for approval is not asked for again, and one that is
    opposed to what waits is refused.

    `typed` is what confirms an act that needs that. Raises what the act itself raises, such as `NoSuchOrderError`.
    """
    with transaction.atomic():
        asking = _ask(act, parameters, actor, reason, typed)
        result, request = asking.result, asking.request
        if result.status is ResultStatus.ALREADY and request is not None:
            return asking
        audit.record(
            actor=actor,
            act="ask for approval",
            target=ACTS[act].target(parameters),
            result=f"Request {request.pk}: {request.summary}." if request else result.message,
            reason=reason,
            allowed=result.status is not ResultStatus.REFUSED,
            after={"request": request.pk, "expires_at": str(request.expires_at)} if request else None,
        )
        if request is not None:
            wake(Topic.PROGRESS)
    return asking


def _ask(
    act: ApprovalAct, parameters: dict[str, Any], actor: Actor, reason: str, typed: str | int | None
) -> Asking:
    if refusal := _why_not_ask(act, parameters):
        return Asking(result=refusal)
    parameters |= refund_named(act, parameters)
    rehearsed = _rehearse(act, parameters, actor, reason, typed)
    if rehearsed.status is not ResultStatus.DONE:
        return Asking(result=rehearsed)
    # One after the other, so that of two opposed requests at once one is refused.
    fetch("SELECT pg_advisory_xact_lock(hashtextextended('requests for approval', 0))")
    digest, at = _digest(act, parameters), database_now()
    if (earlier := _same(digest, at)) is not None:
        return Asking(
            request=earlier, result=already(f"{_waits(earlier)} It is the same, so nothing was added.")
        )
    if (opposite := opposite_request(act, parameters, at=at)) is not None:
        first = (
            f"You can ask for this once an admin has answered it, or {opposite.asked_by} has withdrawn it."
        )
        return Asking(result=refused(f"{_waits(opposite)} {first}"))
    request = _store(act, parameters, digest, actor, reason, at)
    notifications.tell_of_request(request)
    hours = counted(int(LIFETIME.total_seconds() // 3600), "hour")
    message = (
        f"Asked for approval as request {request.pk}. An admin other than you can approve it within {hours}."
    )
    return Asking(request=request, result=done(message))


def _waits(request: ApprovalRequest) -> str:
    return (
        f"Request {request.pk} of {request.asked_by} is already waiting for an admin’s approval, since"
        f" {request.asked_at:%d %b %H:%M} UTC: {request.summary}."
    )


def _why_not_ask(act: ApprovalAct, parameters: dict[str, Any]) -> Result | None:
    if act in REFUNDS:
        needed = refund_to_approve(UUID(parameters["order_id"])) is not None
    elif act is ApprovalAct.BULK:
        is_refund = parameters["kind"] == BulkKind.COMPENSATE and is_set()
        needed = is_refund and may_refund([UUID(order_id) for order_id in parameters["orders"]])
    else:
        return None
    return None if needed else refused("This needs no approval. You can do it yourself.")


def _rehearse(
    act: ApprovalAct, parameters: dict[str, Any], actor: Actor, reason: str, typed: str | int | None
) -> Result:
    """Does the act as if it had been approved, and takes everything back."""
    approval = approval_by(parameters, request=0, asked_by=actor.name)
    with transaction.atomic():
        terms = Terms(actor=actor, reason=reason, approval=approval, typed=typed)
        result = ACTS[act].perform(parameters, terms)
        transaction.set_rollback(True)
    return result


def _digest(act: ApprovalAct, parameters: dict[str, Any]) -> str:
    return sha256(json.dumps([act, parameters], sort_keys=True).encode()).hexdigest()


def _same(digest: str, at: datetime) -> ApprovalRequest | None:
    """The request for this very act that waits. What has expired meanwhile is stored as expired."""
    waiting = ApprovalRequest.objects.filter(digest=digest, state=ApprovalState.WAITING)
    waiting.filter(expires_at__lte=at).update(state=ApprovalState.EXPIRED, decided_at=F("expires_at"))
    return waiting.first()


def _store(
    act: ApprovalAct, parameters: dict[str, Any], digest: str, actor: Actor, reason: str, at: datetime
) -> ApprovalRequest:
    order_id = parameters.get("order_id")
    return ApprovalRequest.objects.create(
        act=act,
        target=ACTS[act].target(parameters)[:120],
        order_id=UUID(order_id) if order_id else None,
        summary=ACTS[act].say(parameters)[:300],
        parameters=parameters,
        digest=digest,
        reason=reason[:LONGEST_REASON],
        asked_by=actor.name,
        expires_at=at + LIFETIME,
    )


def approve(*, request_id: int, actor: Actor) -> Result:
    """Approves a request and carries its act out. Raises `NoSuchApprovalError`.

    If the act is no longer possible, nothing is done, and the request lapses. Nobody approves her own request.
    """

    def work(request: ApprovalRequest) -> Result:
        if same_person(request.asked_by, actor.name):
            return refused("You asked for this yourself, so another admin has to approve it.")
        if request.act not in list(ApprovalAct):
            return refused("Only a newer release knows this act. Approve it there, or decline it.")
        result = _carry_out(request, actor)
        is_done = result.status is ResultStatus.DONE
        _end(
            request, ApprovalState.APPROVED if is_done else ApprovalState.LAPSED, actor, result=result.message
        )
        if is_done:
            return done(f"Approved. {result.message}")
        return refused(f"This can no longer be done, so nothing was changed. {result.message}")

    return _answer("approve", request_id, actor, work, ApprovalState.APPROVED)


def _carry_out(request: ApprovalRequest, actor: Actor) -> Result:
    approval = approval_by(request.parameters, request=request.pk, asked_by=request.asked_by)
    terms = Terms(actor=actor, reason=_reason_with_both(request), approval=approval)
    try:
        with transaction.atomic():
            return ACTS[ApprovalAct(request.act)].perform(request.parameters, terms)
    except SaswebError as error:  # the order is gone, or an act in bulk has none left
        return refused(str(error))


def _reason_with_both(request: ApprovalRequest) -> str:
    """The reason that goes into the history beside the name of who approves: it names who asked."""
    origin = f"asked for by {request.asked_by}, request {request.pk}"
    if not request.reason:
        return f"({origin})"
    room = LONGEST_REASON - len(origin) - 3
    reason = request.reason if len(request.reason) <= room else f"{request.reason[: room - 1]}…"
    return f"{reason} ({origin})"


def decline(*, request_id: int, actor: Actor, note: str = "") -> Result:
    """Declines a request. Raises `NoSuchApprovalError`."""

    def work(request: ApprovalRequest) -> Result:
        if same_person(request.asked_by, actor.name):
            return refused("You asked for this yourself. Withdraw it instead.")
        _end(request, ApprovalState.DECLINED, actor, note=note)
        return done(f"Declined what {request.asked_by} asked for. Nothing was changed.")

    return _answer("decline", request_id, actor, work, ApprovalState.DECLINED, note=note)


def withdraw(*, request_id: int, actor: Actor, note: str = "") -> Result:
    """Withdraws one's own request. Raises `NoSuchApprovalError`."""

    def work(request: ApprovalRequest) -> Result:
        if request.asked_by != actor.name:
            return refused(f"Only {request.asked_by}, who asked for this, can withdraw it.")
        _end(request, ApprovalState.WITHDRAWN, actor, note=note)
        return done("Withdrawn. Nothing was changed.")

    return _answer("withdraw", request_id, actor, work, ApprovalState.WITHDRAWN, note=note)


def same_person(name: str, other: str) -> bool:
    """Whether two names are of one person, who may act in the console, by a token and by a command."""
    return name.removeprefix(SHELL) == other.removeprefix(SHELL)


def _answer(
    act: str,
    request_id: int,
    actor: Actor,
    work: Callable[[ApprovalRequest], Result],
    state: ApprovalState,
    *,
    note: str = "",
) -> Result:
    """Locks a request, answers it if it still waits, and records that, also if it was refused, in one transaction."""
    with transaction.atomic():
        request = ApprovalRequest.objects.select_for_update().filter(pk=request_id).first()
        if request is None:
            raise NoSuchApprovalError(f"There is no request {request_id}.")
        if request.state == ApprovalState.WAITING and request.expires_at <= database_now():
            request.state, request.decided_at = ApprovalState.EXPIRED, request.expires_at
            request.save(update_fields=["state", "decided_at"])
        is_waiting = request.state == ApprovalState.WAITING
        result = work(request) if is_waiting else _answered_before(request, state)
        audit.record(
            actor=actor,
            act=act,
            target=request.target,
            result=f"Request {request.pk} of {request.asked_by}: {request.summary}. {result.message}",
            reason=note or request.reason,
            allowed=result.status is not ResultStatus.REFUSED,
            after={"request": request.pk, "asked_by": request.asked_by, "state": request.state},
        )
        wake(Topic.PROGRESS)
    return result


def _answered_before(request: ApprovalRequest, state: ApprovalState) -> Result:
    if request.state == ApprovalState.EXPIRED:
        return refused("The request has expired, so nothing was changed. It can be asked for again.")
    if request.state == ApprovalState.LAPSED:
        return refused(f"The act was no longer possible. {request.result}")
    message = f"It has already been {request.state}, by {request.decided_by}."
    return already(message) if request.state == state else refused(message)


def _end(
    request: ApprovalRequest, state: ApprovalState, actor: Actor, *, note: str = "", result: str = ""
) -> None:
    request.state, request.decided_by, request.decided_at = state, actor.name, database_now()
    request.note, request.result = note[:LONGEST_REASON], result[:300]
    request.save(update_fields=["state", "decided_by", "decided_at", "note", "result"])
