"""Requests for approval as people see them: those that wait, and what became of the others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from orders.models import ApprovalRequest
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.paging import Page, page_of
from orders.vocabulary import ApprovalAct, ApprovalState

SHOWN = 25
"""Requests on one page."""
OF_ORDER = 5
"""The most requests that an order's page shows."""

ENDED: Mapping[str, str] = {ApprovalState.EXPIRED: "Expired", ApprovalState.WITHDRAWN: "Withdrawn"}
"""How a request has ended that nobody has answered."""


@dataclass(frozen=True, kw_only=True)
class ApprovalRow:
    """A request. One that nobody has answered in time is shown as expired, whether or not that is stored yet.

    `agent` is the one that it is about, if it is about one, and `response` what a settled step is to have as its
    result.
    """

    id: int
    act: str
    target: str
    order_id: UUID | None
    agent: str
    summary: str
    response: Mapping[str, Any]
    reason: str
    state: str
    asked_by: str
    asked_at: datetime
    expires_at: datetime
    decided_by: str
    decided_at: datetime | None
    note: str
    result: str

    @property
    def ended(self) -> str:
        """How it has ended, as the label of when."""
        return ENDED.get(self.state, "Answered")

    @property
    def is_waiting(self) -> bool:
        return self.state == ApprovalState.WAITING


def count_waiting(*, now: datetime) -> int:
    """How many requests wait for an answer, counted up to a bound. One query."""
    return bounded_count(_waiting(now))


def approval_page(
    *, state: str = "", before: int | None = None, now: datetime, limit: int = SHOWN
) -> Page[ApprovalRow]:
    """One page of the requests in a state, or of all, newest first, below number `before`. One query."""
    requests = ApprovalRequest.objects.all()
    if state == ApprovalState.WAITING:
        requests = _waiting(now)
    elif state == ApprovalState.EXPIRED:
        requests = requests.filter(state__in=[state, ApprovalState.WAITING], expires_at__lte=now)
    elif state:
        requests = requests.filter(state=state)
    if before is not None:
        requests = requests.filter(pk__lt=before)
    return page_of(_rows(requests.order_by("-id")[: limit + 1], now), limit)


def approvals_of(order_id: UUID, *, now: datetime) -> list[ApprovalRow]:
    """The newest requests about an order. One query."""
    requests = ApprovalRequest.objects.filter(order_id=order_id)
    return _rows(requests.order_by("-id")[:OF_ORDER], now)


def waiting_about_agents(*, now: datetime) -> dict[str, list[ApprovalRow]]:
    """The requests about circuits that wait, by agent, oldest first. One query."""
    requests = _waiting(now).filter(parameters__has_key="agent").order_by("id")
    by_agent: dict[str, list[ApprovalRow]] = {}
    for row in _rows(requests, now):
        by_agent.setdefault(row.agent, []).append(row)
    return by_agent


def waiting_about_intake(*, now: datetime) -> list[ApprovalRow]:
    """The requests to stop new orders that wait. One query."""
    return _rows(_waiting(now).filter(act=ApprovalAct.PAUSE_INTAKE), now)


def find_approval(request_id: int, *, now: datetime) -> ApprovalRow | None:
    """One request. One query."""
    return next(iter(_rows(ApprovalRequest.objects.filter(pk=request_id), now)), None)


def _waiting(now: datetime) -> QuerySet[ApprovalRequest]:
    return ApprovalRequest.objects.filter(state=ApprovalState.WAITING, expires_at__gt=now)


def _rows(requests: Iterable[ApprovalRequest], now: datetime) -> list[ApprovalRow]:
    return [_row(request, now) for request in requests]


def _row(request: ApprovalRequest, now: datetime) -> ApprovalRow:
    is_late = request.state == ApprovalState.WAITING and request.expires_at <= now
    return ApprovalRow(
        id=request.pk,
        act=request.act,
        target=request.target,
        order_id=request.order_id,
        agent=request.parameters.get("agent", ""),
        summary=request.summary,
        response=request.parameters.get("result") or {},
        reason=request.reason,
        state=ApprovalState.EXPIRED if is_late else request.state,
        asked_by=request.asked_by,
        asked_at=request.asked_at,
        expires_at=request.expires_at,
        decided_by=request.decided_by,
        decided_at=request.expires_at if is_late else request.decided_at,
        note=request.note,
        result=request.result,
    )
