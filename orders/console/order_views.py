"""Orders: the list, one order, decisions, compensation, and the submissions that were set aside."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from orders.access.levels import operators
from orders.console import order_chart, order_query, time_span
from orders.console.csv_export import csv_response
from orders.console.forms.fields import OrderPageForm
from orders.console.forms.filters import FoldedFiltersForm, OrderFilterForm
from orders.console.forms.orders import DecisionForm, PauseForm, PriorityForm
from orders.console.guards import actor, page
from orders.console.kept_forms import kept, show_rest
from orders.console.known_filters import only_filters
from orders.console.order_lookup import readable_json
from orders.console.presence import of_order, present
from orders.console.runbook_parts import runbook_of
from orders.selectors.database_clock import now
from orders.selectors.desk import archive_search, search, timeline
from orders.selectors.desk.approvals import approvals_of
from orders.selectors.desk.archive_search import OrderList
from orders.selectors.desk.clients import account_names, naming_accounts
from orders.selectors.desk.compensation import compensations
from orders.selectors.desk.confirmation import figures
from orders.selectors.desk.console_order import ConsoleOrder, ConsoleStep, console_order
from orders.selectors.desk.decisions import open_decisions
from orders.selectors.desk.filters import LEAST_PART, OrderFilter, describe
from orders.selectors.desk.money_back import NOTHING, money_back
from orders.selectors.desk.order_ids import orders_like
from orders.selectors.desk.order_rows import OrderRow
from orders.selectors.desk.set_aside import set_aside_submissions
from orders.selectors.desk.supervisor import retry_limits
from orders.selectors.logged_requests import orders_of_request, requests_about, requests_with_id
from orders.services import audit
from orders.services.operators import editing as operator_editing
from orders.services.operators import order_acts
from orders.vocabulary import FINISHED_STATES, Goal, ProcessState
from orders.wording import standings
from orders.wording.cancelling import cancel_words
from orders.wording.events import error_text, event_entry

PAGE = 50
MOST_EXPORTED = 20_000
EVENTS_SHOWN = 200
COLUMNS = (
    *("order", "state", "standing", "goal", "step", "failures", "priority", "age_seconds", "took_seconds"),
    *("total", "currency", "email", "alert_code", "archived", "workflow", "title", "subject"),
)


@page
@only_filters(OrderFilterForm, OrderPageForm, FoldedFiltersForm, own_errors=True)
def show_orders(request: HttpRequest) -> HttpResponse:
    """Lists the orders of a filter: the stored ones, then the archived ones, each newest first."""
    form = OrderFilterForm(request.GET.dict())
    order_filter = form.filter
    if "into" in request.GET and not order_filter.is_impossible:
        return redirect(f"{reverse('console:orders')}?{order_query.in_one_query(order_filter)}")
    at, limits = now(), retry_limits()
    start = OrderPageForm(request.GET)
    after, archived_after = start.position, start.archived_position
    matches = archive_search.page(
        order_filter,
        after=after,
        archived_after=archived_after,
        limit=PAGE,
        retry_limits=limits,
        now=at,
    )
    if (
        order_filter.order_id is not None
        and not matches.orders
        and console_order(order_filter.order_id, retry_limits=limits, now=at)
    ):
        return redirect("console:order", order_filter.order_id)  # a submission that is not yet an order
    if not matches.orders and (requested := orders_of_request(order_filter.q)):
        return redirect("console:order", requested[0])
    if not matches.orders and (submission := _submission_like(order_filter)):
        return redirect("console:order", submission)
    steps, agents = search.steps_and_agents()
    bar = order_query.bar(form, steps=steps, agents=agents)
    order_query.chosen_in_query(form)
    form.offer(steps=steps, agents=agents)
    return render(
        request,
        "console/orders/list.html",
        {
            "form": form,
            "order_filter": order_filter,
            "words": describe(order_filter),
            "orders": matches.orders,
            "requests": requests_with_id(order_filter.q) if order_filter.q and not matches.orders else None,
            "can_select": not all(row.is_archived for row in matches.orders),
            **_counts(order_filter, matches, is_whole=not (after or archived_after), at=at),
            "first": order_filter.query if after or archived_after else None,
            "after": _next_page(order_filter, matches),
            "least_part": LEAST_PART,
            **bar,
        },
    )


def _submission_like(order_filter: OrderFilter) -> UUID | None:
    """The submission, queued or set aside, whose id begins or ends as the search says, if there is one alone."""
    if order_filter != OrderFilter(q=order_filter.q) or not order_filter.digits:
        return None
    alike = orders_like(order_filter.digits, most=2)
    return alike[0] if len(alike) == 1 else None


def _counts(
    order_filter: OrderFilter, matches: OrderList, *, is_whole: bool, at: datetime
) -> dict[str, int | None]:
    """How many orders match: `count` outside the archive and `archived` in it, each counted up to `most`."""
    most = search.most_counted(order_filter)
    if is_whole and not matches.after and not matches.archived_after:
        archived = sum(row.is_archived for row in matches.orders)
        return {"count": len(matches.orders) - archived, "archived": archived, "most": most}
    return {
        "count": search.quick_count(order_filter, now=at),
        "archived": archive_search.count(order_filter, most=most, now=at),
        "most": most,
    }


def _next_page(order_filter: OrderFilter, matches: OrderList) -> str:
    """The query string of the next page; empty if there is none."""
    if matches.after:
        return f"{order_filter.query}&after={matches.after}".lstrip("&")
    if matches.archived_after:
        return f"{order_filter.query}&archived={matches.archived_after}".lstrip("&")
    return ""


@page
@only_filters(OrderFilterForm)
def export_orders(request: HttpRequest) -> HttpResponseBase:
    """Exports the orders of a filter."""
    form = OrderFilterForm(request.GET.dict())
    order_filter = form.filter
    if order_filter.is_impossible:  # a file without orders would say that there are none
        return HttpResponseBadRequest(
            " ".join(order_filter.problems), content_type="text/plain; charset=utf-8"
        )
    audit.record(
        actor=actor(request), act="export", target="orders", result=f"exported {describe(order_filter)}"[:300]
    )
    return csv_response("orders.csv", COLUMNS, _csv_rows(order_filter))


def _csv_rows(order_filter: OrderFilter) -> Iterator[tuple[Any, ...]]:
    matches = archive_search.rows(order_filter, most=MOST_EXPORTED, retry_limits=retry_limits(), now=now())
    for match in matches:
        yield _csv_row(match)


def _csv_row(match: OrderRow) -> tuple[Any, ...]:
    order = match.order
    return (
        match.order_id,
        order.state,
        order.standing.kind.value,
        (Goal.COMPENSATE if order.standing.compensating else Goal.COMPLETE).value,
        " ".join(step.name for step in order.steps),
        order.failure_count,
        order.priority,
        "" if order.has_ended else round(order.seconds),
        round(order.seconds) if order.has_ended else "",
        figures(match.total, match.currency) if match.total is not None else "",
        match.currency,
        match.email,
        order.code,
        "yes" if match.is_archived else "no",
        match.workflow,
        match.title,
        match.subject,
    )


@page
@present(of_order)
def show_order(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Shows where an order stands, its steps over time, its history, and what can be done about it."""
    at, limits = now(), retry_limits()
    order = console_order(order_id, retry_limits=limits, now=at)
    if order is None:
        raise Http404
    detail = order.detail
    until = detail.order.finished_at if detail.order and detail.order.finished_at else at
    shows_all = request.GET.get("events") == "all"
    events = naming_accounts(detail.events if shows_all else detail.events[-EVENTS_SHOWN:])
    is_stopped = detail.order is not None and detail.order.state in (*FINISHED_STATES, ProcessState.ERROR)
    goal = detail.order.goal if detail.order else Goal.COMPLETE
    lanes = timeline.lanes(detail.steps, detail.events, now=at, goal=goal, is_stopped=is_stopped)
    last = detail.events[-1].at if detail.events else detail.began
    whole = order_chart.whole_span(lanes, began=detail.began, until=min(until, last) if is_stopped else at)
    span = time_span.read_span(request.GET.get("from", ""), request.GET.get("to", ""), whole)
    return render(
        request,
        "console/orders/order.html",
        {
            "console_order": order,
            "detail": detail,
            "order": detail.order,
            "sentence": standings.sentence(detail.order.standing) if detail.order else "",
            "steps": [_step(order, step) for step in order.steps],
            "chart": order_chart.draw(lanes, began=detail.began, span=span),
            "span_links": list(time_span.links(span, whole, lanes, detail.began)),
            "events": [event_entry(event, limits) for event in reversed(events)],
            "left_out": len(detail.events) - len(events),
            "spent": detail.spent,
            **_forms(request, order),
            "cancel": cancel_words(money_back([order_id]) if order.can_compensate else NOTHING),
            "approvals": approvals_of(order_id, now=at),
            "requests": requests_about(order_id, operators=operators()),
            "now": at,
            **(runbook_of(detail.alert.kind, detail.alert.code, detail.alert.agent) if detail.alert else {}),
        },
    )


def _forms(request: HttpRequest, order: ConsoleOrder) -> dict[str, Any]:
    """The forms on an order's page. One that was refused has what was typed, and says why."""
    facts, number = order.detail.order, order.detail.order_id
    priority = pause = None
    if facts and not order.has_ended:
        unsent = PriorityForm(initial={"priority": facts.priority})
        priority = kept(request, f"PriorityForm {number}", PriorityForm, unsent)
    if order.can_pause:
        pause = kept(request, f"PauseForm {number}", PauseForm, PauseForm())
    show_rest(request)
    return {
        "priority_form": priority,
        "pause_form": pause,
        "to_decide": [(step, DecisionForm(step=step.facts.name)) for step in order.to_decide],
    }


def _step(order: ConsoleOrder, step: ConsoleStep) -> dict[str, Any]:
    process, facts = order.detail.order, step.facts
    assert process is not None
    workflow, version, name = process.workflow, process.version, facts.name
    fields = operator_editing.editable_fields(workflow=workflow, version=version, step=name)
    is_skippable = order_acts.is_skippable(workflow=workflow, version=version, step=name)
    return {
        "page": step,
        "facts": facts,
        "failures": facts.failure_count + facts.compensation_failure_count,
        "request": readable_json(step.request),
        "original": readable_json(step.original),
        "result": readable_json(step.result),
        "error": _error(facts.error),
        "can_edit": step.can_edit and bool(fields),
        "can_skip": step.can_skip and is_skippable,
        "can_settle": step.can_settle,
        "can_hurry": step.can_hurry,
    }


def _error(error: Mapping[str, Any] | None) -> str:
    """An error as the alert and the history print it, and below it what else is stored of it."""
    if not error:
        return ""
    others = {name: value for name, value in error.items() if name not in ("code", "message")}
    return "\n".join(filter(None, (error_text(error), readable_json(others) if others else "")))


@page
@only_filters(OrderPageForm)
def show_decisions(request: HttpRequest) -> HttpResponse:
    """Lists what waits for a person's decision, the earliest deadline first."""
    after = OrderPageForm(request.GET).position
    decisions = open_decisions(after=after, limit=PAGE, now=now())
    following = decisions.items[-1].position if decisions.has_more else ""
    return render(
        request,
        "console/decisions.html",
        {"decisions": decisions.items, "is_first": after is None, "after": str(following)},
    )


@page
@only_filters()
def show_compensation(request: HttpRequest) -> HttpResponse:
    """Lists the orders that are being compensated, and those whose compensation failed."""
    desk = compensations(retry_limits=retry_limits(), now=now())
    return render(request, "console/orders/compensation.html", {"desk": desk})


@page
@only_filters()
def show_set_aside(request: HttpRequest) -> HttpResponse:
    """Lists the submissions that could not become orders."""
    set_aside = set_aside_submissions()
    names = account_names({submission.client for submission in set_aside.items})
    submissions = [
        (submission, names.get(submission.client, submission.client), readable_json(submission.body))
        for submission in set_aside.items
    ]
    return render(
        request, "console/orders/set_aside.html", {"submissions": submissions, "has_more": set_aside.has_more}
    )
