"""What resubmitting an order would send."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from orders.console.guards import page
from orders.console.known_filters import only_filters
from orders.console.order_lookup import read_page, readable_json
from orders.selectors.database_clock import now
from orders.selectors.desk.agents import held_up
from orders.services.operators.rehearsing import RehearsedCall, rehearse_resubmission
from orders.services.order_lock import NoSuchOrderError


@page
@only_filters()
def show_rehearsal(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Shows each request that resubmitting the order would send next, and sends nothing."""
    order = read_page(order_id)
    try:
        rehearsal = rehearse_resubmission(order_id)
    except NoSuchOrderError as error:
        raise Http404 from error
    calls = [(call, _asked(call)) for call in rehearsal.calls]
    at, agents = now(), {call.agent for call in rehearsal.calls}
    context = {
        "console_order": order,
        "rehearsal": rehearsal,
        "calls": calls,
        "held_up": held_up(agents, now=at),
        "now": at,
    }
    return render(request, "console/orders/rehearsal.html", context)


def _asked(call: RehearsedCall) -> str:
    """What the agent would be asked for, where it cannot show what it would make of that."""
    if call.message is not None:
        return ""
    return readable_json({"data": call.request.data, "results": call.request.results})
