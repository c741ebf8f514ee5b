"""Orders: the list, one order, decisions, compensation, and the submissions that were set aside."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from orders.access.levels import operators
from orders.business import Advice
from orders.console import order_query
from orders.console.csv_export import csv_response
from orders.console.forms.fields import OrderPageForm
from orders.console.forms.filters import FoldedFiltersForm, OrderFilterForm
from orders.console.guards import actor, page
from orders.console.known_filters import only_filters
from orders.console.order_lookup import readable_json
from orders.console.order_page import (
    agents_to_call,
    cause_part,
    chart_part,
    customer_query,
    forms_part,
    has_own_time,
    headline,
    history_part,
    result_facts,
    step_part,
)
from orders.console.presence import of_order, present
from orders.console.resubmission_part import resubmission_part
from orders.fields.money import Money
from orders.fields.order_numbers import spoken_number
from orders.selectors.database_clock import now
from orders.selectors.desk import archive_search, search
from orders.selectors.desk.agents import held_up
from orders.selectors.desk.approvals import approvals_of
from orders.selectors.desk.archive_search import OrderList
from orders.selectors.desk.attempts import attempts
from orders.selectors.desk.clients import account_names
from orders.selectors.desk.compensation import compensations
from orders.selectors.desk.confirmation import figures
from orders.selectors.desk.console_order import console_order
from orders.selectors.desk.decisions import open_decisions
from orders.selectors.desk.filters import LEAST_PART, OrderFilter, describe
from orders.selectors.desk.money_back import NOTHING, money_back
from orders.selectors.desk.order_ids import orders_like
from orders.selectors.desk.order_rows import OrderRow
from orders.selectors.desk.order_search import Search
from orders.selectors.desk.outage_codes import agents_that_are_down
from orders.selectors.desk.promise import promise_of
from orders.selectors.desk.set_aside import set_aside_submissions
from orders.selectors.desk.supervisor import retry_limits
from orders.selectors.logged_requests import orders_of_request, requests_about, requests_with_id
from orders.selectors.order_numbers import orders_with_number
from orders.selectors.orders import order_exists
from orders.services import audit
from orders.vocabulary import Goal
from orders.wording.cancelling import cancel_words, sums_in_words
from orders.wording.promises import promise_kept
from orders.wording.waits import spent_rows

PAGE = 50
MOST_EXPORTED = 20_000
COLUMNS = (
    *(
        "order",
        "number",
        "state",
        "standing",
        "goal",
        "step",
        "failures",
        "priority",
        "age_seconds",
        "took_seconds",
    ),
    *("total", "currency", "email", "alert_code", "archived", "workflow", "title", "subject"),
)


@page
@only_filters(OrderFilterForm, OrderPageForm, FoldedFiltersForm, own_errors=True)
def show_orders(request: HttpRequest) -> HttpResponse:
    """Lists the orders of a filter: the stored ones, then the archived ones, each newest first."""
    form = OrderFilterForm(request.GET.dict())
    panel = FoldedFiltersForm(request.GET.dict())
    order_filter = order_query.read_filter(form, panel)
    if panel.is_sent and not order_filter.is_impossible:
        return redirect(f"{reverse('console:orders')}?{order_query.in_one_query(order_filter, panel)}")
    at, limits = now(), retry_limits()
    start = OrderPageForm(request.GET)
    after, archived_after = start.position, start.archived_position
    order_search = Search(order_filter, at)
    matches = archive_search.page(
        order_filter,
        after=after,
        archived_after=archived_after,
        limit=PAGE,
        retry_limits=limits,
        now=at,
        search=order_search,
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
    bar = order_query.bar(order_filter, form, panel, steps=steps, agents=agents)
    order_query.chosen_in_query(order_filter, form, panel)
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
            "is_mistaken_number": order_filter.is_mistaken_number,
            "down": [] if matches.orders else agents_that_are_down(order_filter),
            "can_select": not all(row.is_archived for row in matches.orders),
            **_counts(order_search, matches, is_whole=not (after or archived_after)),
            "first": order_filter.query if after or archived_after else None,
            "after": _next_page(order_filter, matches),
            "least_part": LEAST_PART,
            **bar,
            **order_query.saved(order_filter, request.user),
        },
    )


def _submission_like(order_filter: OrderFilter) -> UUID | None:
    """The submission, queued or set aside, with this number, or whose id begins or ends as the search says, if there is
    one alone."""
    if order_filter != OrderFilter(q=order_filter.q):
        return None
    alike = orders_with_number(order_filter.number) if order_filter.number else ()
    if not alike and order_filter.digits:
        alike = orders_like(order_filter.digits, most=2)
    return alike[0] if len(alike) == 1 and order_exists(alike[0]) else None


def _counts(order_search: Search, matches: OrderList, *, is_whole: bool) -> dict[str, int | str | None]:
    """How many orders match: `count` outside the archive and `archived` in it, each counted up to `most`; and what they
    are `worth`, if they are all on the page."""
    order_filter, at = order_search.order_filter, order_search.now
    most = search.most_counted(order_filter)
    if is_whole and not matches.after and not matches.archived_after:
        archived = sum(row.is_archived for row in matches.orders)
        return {
            "count": len(matches.orders) - archived,
            "archived": archived,
            "most": most,
            "worth": _worth(matches.orders),
        }
    return {
        "count": search.quick_count(order_filter, now=at, search=order_search),
        "archived": archive_search.count(order_filter, most=most, now=at, search=order_search),
        "most": most,
    }


def _worth(orders: Iterable[OrderRow]) -> str:
    totals: Counter[str] = Counter()
    for order in orders:
        if order.total is not None:
            totals[order.currency] += order.total
    return sums_in_words(
        [Money(amount=amount, currency=currency) for currency, amount in totals.most_common()]
    )


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
        spoken_number(match.order_id),
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
    every_attempt = attempts(detail.events, detail.steps)
    steps = [step_part(order, step, every_attempt) for step in order.steps]
    cause = cause_part(order)
    return render(
        request,
        "console/orders/order.html",
        {
            "console_order": order,
            "detail": detail,
            "order": detail.order,
            "result_facts": result_facts(order),
            "sentence": headline(order),
            "steps": steps,
            "counts_failures": any(step["failures"] for step in steps),
            "failing": [step for step in steps if detail.alert and step["facts"].name == detail.alert.step],
            **chart_part(request, detail, at),
            **history_part(request, detail, limits, every_attempt),
            "spent": spent_rows(detail.spent),
            "customer_query": customer_query(order),
            **forms_part(request, order),
            "cancel": cancel_words(money_back([order_id]) if order.can_compensate else NOTHING),
            "approvals": approvals_of(order_id, now=at),
            "requests": requests_about(order_id, operators=operators()),
            "now": at,
            "promise": promise_of(detail, now=at),
            "promise_kept": promise_kept(detail.order),
            "standing_has_time": has_own_time(detail.order),
            "held_up": held_up(agents_to_call(order), now=at) if order.can_resubmit else [],
            **resubmission_part(order, advice=cause.get("advice", Advice.RESUBMIT)),
            **cause,
        },
    )


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
