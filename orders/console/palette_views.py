"""What the command palette finds."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from orders.console.forms.filters import OrderFilterForm
from orders.console.guards import page
from orders.fields.order_numbers import MISTAKEN
from orders.selectors.database_clock import now
from orders.selectors.desk import palette
from orders.selectors.desk.supervisor import retry_limits


@page
def find(request: HttpRequest) -> HttpResponse:
    """Lists the orders, agents and causes that some words name."""
    words = OrderFilterForm({"q": request.GET.get("q", "")}).filter
    matches = palette.find(words, retry_limits=retry_limits(), now=now())
    context = {"matches": matches, "mistake": MISTAKEN if words.is_mistaken_number else ""}
    return render(request, "console/frame/palette_results.html", context)
