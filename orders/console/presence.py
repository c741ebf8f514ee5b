"""Shows people who else is at an order or a cause, and asks anew before an act beside somebody else's. See ADR 71.

`@present(…)` is for a page, `@beside_others(…)` for what takes the form of an act. Neither locks anything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from orders.console.guards import View, actor, page
from orders.services.operators import presence
from orders.services.operators.presence import Other, Place
from orders.wording.presence import DOING, NOUNS, sentence

ANYWAY = "act_anyway"
"""What the second confirmation of an act sends beside the form."""

Find = Callable[..., Place | None]


@dataclass(frozen=True, kw_only=True)
class Present:
    """Where a page says who else is there: the sentences, and the url that is asked for them again."""

    sentences: list[str]
    url: str


def of_order(request: HttpRequest, act: str = "", **url: Any) -> Place:
    """The order that a url names."""
    return Place(kind="order", target=str(url["order_id"]), act=act)


def of_group(request: HttpRequest, act: str = "", **url: Any) -> Place | None:
    """The cause that a url, a query or a form names."""
    fields = request.POST if request.method == "POST" else request.GET
    group = str(url.get("group_id", fields.get("group", "")))
    return Place(kind="group", target=group, act=act) if group.isdecimal() and len(group) < 19 else None


def present(find: Find, act: str = "") -> Callable[[View], View]:
    """Notes who is at a page that is read, and has it say who else is there."""

    def noting(view: View) -> View:
        @wraps(view)
        def noted(request: HttpRequest, *args: Any, **url: Any) -> HttpResponseBase:
            if request.method == "GET" and (place := find(request, act, **url)) is not None:
                _show(request, place, presence.look(place, operator=actor(request).name))
            return view(request, *args, **url)

        return noted

    return noting


def beside_others(
    find: Find, act: str = "", *, when: Callable[[HttpRequest], bool] = lambda _: True
) -> Callable[[View], View]:
    """Asks once more before an act while somebody else is at the page of an act about the same. Then it is done.

    `act` is that of the page with the form, if there is one, and `when` says whether a request is the act itself rather
    than a step towards it.
    """

    def asking(view: View) -> View:
        @wraps(view)
        def asked(request: HttpRequest, *args: Any, **url: Any) -> HttpResponseBase:
            place = find(request, act, **url) if request.method == "POST" else None
            if place is None:
                return view(request, *args, **url)
            name = actor(request).name
            others = presence.look(place, operator=name) if act else presence.others(place, operator=name)
            _show(request, place, others)
            if when(request) and ANYWAY not in request.POST and any(other.act for other in others):
                return _ask(request, place)
            answer = view(request, *args, **url)
            if answer.status_code == 302:
                presence.leave(place, operator=name)
            return answer

        return asked

    return asking


def _show(request: HttpRequest, place: Place, others: list[Other]) -> None:
    """Has the page that answers a request say who else is there."""
    request.presence = Present(sentences=_sentences(place, others), url=_url(place))  # type: ignore[attr-defined]


def _ask(request: HttpRequest, place: Place) -> HttpResponse:
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        if name != "csrfmiddlewaretoken"
        for value in values
    ]
    context = {
        "noun": NOUNS[place.kind],
        "fields": [*fields, (ANYWAY, "1")],
        "back": reverse(f"console:{place.kind}", args=[place.target]),
    }
    return render(request, "console/presence/ask.html", context, status=422)


def _sentences(place: Place, others: list[Other]) -> list[str]:
    return [
        sentence(operator=other.operator, act=other.act, kind=place.kind, seconds=other.seconds)
        for other in others
    ]


def _url(place: Place) -> str:
    query = f"?{urlencode({'act': place.act})}" if place.act else ""
    return reverse(f"console:{place.kind}-presence", args=[place.target]) + query


@page
def show_order_presence(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Notes that somebody is still at an order, and says who else is."""
    return _beat(request, of_order(request, _act(request), order_id=order_id))


@page
def show_group_presence(request: HttpRequest, group_id: int) -> HttpResponse:
    """Notes that somebody is still at a cause, and says who else is."""
    return _beat(request, of_group(request, _act(request), group_id=group_id))


def _act(request: HttpRequest) -> str:
    act = request.GET.get("act", "")
    return act if act in DOING else ""


def _beat(request: HttpRequest, place: Place | None) -> HttpResponse:
    others = presence.look(place, operator=actor(request).name) if place else []
    sentences = _sentences(place, others) if place else []
    return render(request, "console/presence/others.html", {"sentences": sentences})
