"""Orders in the console: the list, one order, the compensation desk, and submissions that were set aside."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from orders.console import order_chart
from orders.console.csv_safe import csv_lines
from orders.console.guards import actor, page
from orders.selectors.clock import now
from orders.selectors.desk import search, timeline
from orders.selectors.desk.compensation import compensations
from orders.selectors.desk.confirmation import figures
from orders.selectors.desk.filters import LEAST_PART, OrderFilter, in_words, read_filter
from orders.selectors.desk.order_page import OrderPage, StepPage, order_page
from orders.selectors.desk.order_rows import OrderRow
from orders.selectors.desk.set_aside import set_aside_submissions
from orders.selectors.desk.standing import Kind
from orders.selectors.desk.supervisor import retry_limits
from orders.services import audit
from orders.services.operators import editing as operator_editing
from orders.services.operators import orders as operator_services
from orders.vocabulary import ProcessState
from orders.wording import standings
from orders.wording.events import event_entry, shorten

PAGE = 50
MOST_EXPORTED = 20_000
EVENTS_SHOWN = 200
LONGEST_JSON = 4_000
COLUMNS = (
    *("order", "state", "standing", "goal", "step", "failures", "priority", "age_seconds"),
    *("total", "currency", "email", "alert_code"),
)


@page
def show_orders(request: HttpRequest) -> HttpResponse:
    """The orders of a filter, newest first."""
    wanted = read_filter(request.GET.dict())
    at, limits = now(), retry_limits()
    after = _order_id(request.GET.get("after", ""))
    found = search.page(wanted, after=after, limit=PAGE, tries=limits, now=at)
    if wanted.order_id is not None and not found.orders and order_page(wanted.order_id, tries=limits, now=at):
        return redirect("console:order", wanted.order_id)  # a submission that is no order yet
    steps, agents = search.steps_and_agents()
    further = f"{wanted.query}&after={found.after}".lstrip("&")
    return render(
        request,
        "console/orders/list.html",
        {
            "wanted": wanted,
            "words": in_words(wanted),
            "found": found.orders,
            "count": search.quick_count(wanted, now=at) if after or found.after else len(found.orders),
            "most": search.most_counted(wanted),
            "first": wanted.query if after else None,
            "after": further if found.after else "",
            "states": list(ProcessState),
            "kinds": list(Kind),
            "least_part": LEAST_PART,
            "step_names": _with_present(steps, wanted.step),
            "agent_names": _with_present(agents, wanted.agent),
            "priorities": range(10),
        },
    )


@page
def export_orders(request: HttpRequest) -> HttpResponseBase:
    """The orders of a filter as CSV."""
    wanted = read_filter(request.GET.dict())
    audit.record(
        actor=actor(request), act="export", target="orders", said=f"exported {in_words(wanted)}"[:300]
    )
    answer = StreamingHttpResponse(
        csv_lines(COLUMNS, _csv_rows(wanted)), content_type="text/csv; charset=utf-8"
    )
    answer.headers["Content-Disposition"] = 'attachment; filename="orders.csv"'
    return answer


def _csv_rows(wanted: OrderFilter) -> Iterator[tuple[Any, ...]]:
    for one in search.rows(wanted, most=MOST_EXPORTED, tries=retry_limits(), now=now()):
        yield _csv_row(one)


def _csv_row(one: OrderRow) -> tuple[Any, ...]:
    order = one.order
    return (
        one.order_id,
        order.state,
        order.standing.kind.value,
        "compensate" if order.standing.undoing else "complete",
        " ".join(step.name for step in order.steps),
        order.failure_count,
        order.priority,
        round(order.seconds),
        figures(one.total, one.currency) if one.total is not None else "",
        one.currency,
        one.email,
        order.code,
    )


@page
def show_order(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """One order: where it stands, its steps in time, everything that happened, and what may be done."""
    at, limits = now(), retry_limits()
    found = order_page(order_id, tries=limits, now=at)
    if found is None:
        raise Http404
    detail = found.detail
    until = detail.order.finished_at if detail.order and detail.order.finished_at else at
    all_events = request.GET.get("events") == "all"
    events = detail.events if all_events else detail.events[-EVENTS_SHOWN:]
    chart = order_chart.draw(
        timeline.lanes(detail.steps, detail.events, now=at), began=detail.began, until=until
    )
    return render(
        request,
        "console/orders/order.html",
        {
            "it": found,
            "detail": detail,
            "order": detail.order,
            "sentence": standings.sentence(detail.order.standing) if detail.order else "",
            "steps": [_step(found, step) for step in found.steps],
            "chart": chart,
            "events": [event_entry(event, limits) for event in reversed(events)],
            "left_out": len(detail.events) - len(events),
            "spent": detail.spent,
            "priorities": range(10),
            "now": at,
        },
    )


def _step(found: OrderPage, step: StepPage) -> dict[str, Any]:
    order, facts = found.detail.order, step.facts
    assert order is not None
    names = {"workflow": order.workflow, "version": order.version, "step": facts.name}
    return {
        "page": step,
        "facts": facts,
        "failures": facts.failure_count + facts.undo_failure_count,
        "request": _json(step.request),
        "original": _json(step.original),
        "result": _json(step.result),
        "error": _json(facts.error),
        "can_edit": step.can_edit and bool(operator_editing.editable_fields(**names)),
        "can_skip": step.can_skip and operator_services.is_skippable(**names),
        "can_settle": step.can_settle,
        "can_hurry": step.can_hurry,
    }


def _json(value: Any) -> str:
    """What is kept, to be read. A remote service may have written it: it is cut short here, and escaped by the page."""
    if value is None:
        return ""
    return shorten(json.dumps(value, ensure_ascii=False, indent=1, default=str), LONGEST_JSON)


@page
def show_compensation(request: HttpRequest) -> HttpResponse:
    """What is being undone, and what could not be."""
    desk = compensations(tries=retry_limits(), now=now())
    return render(request, "console/orders/compensation.html", {"desk": desk})


@page
def show_set_aside(request: HttpRequest) -> HttpResponse:
    """Submissions that could not become orders."""
    page = set_aside_submissions()
    shown = [(submission, _json(submission.body)) for submission in page.items]
    return render(request, "console/orders/set_aside.html", {"kept": shown, "has_more": page.has_more})


def _order_id(text: str) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


def _with_present(names: list[str], present: str) -> list[str]:
    """The names of a choice, with the one that was asked for, whether or not it is among them."""
    return names if not present or present in names else [*names, present]
