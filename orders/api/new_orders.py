"""Places the orders that arrive at the same moment together, in the event loop and a thread, and answers each (202).

What is placed together is stored by one statement, and costs a few more in all. Only an order that is new, and that has
an idempotency key, is answered here. Every other request goes on to Django, as if nothing had happened: one whose order
is refused, was placed before, or may not be placed; one that is unusual; all of them, if the database does not answer.
So it is Django alone that says what is wrong. If an order has been stored without an answer, its key finds it.

The orders of a kind wait for those of the same kind only, and only if that describes many together, so that one that is
slow holds up no others.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import orjson
from django.conf import settings
from django.utils import timezone
from rest_framework.exceptions import APIException

from orders.access.api_tokens import Holder, holders
from orders.access.api_versions import find_version
from orders.access.limited_requests import limit_headers
from orders.access.limits import Count, Subject, count_each, count_of, give_back
from orders.api.acceptance import acceptance_headers
from orders.api.django_headers import (
    Headers,
    Shortcut,
    digest_of_header,
    encoded,
    headers_from_django,
    plain_headers,
)
from orders.api.parsers import parse_json
from orders.api.representations import OrderOut
from orders.api.requests import IDEMPOTENCY_KEY, kind_of, order_in, scope_needed
from orders.api.throttling import subjects_of
from orders.api.together import Together
from orders.business.batch_placing import KeyedOrder, Outcome
from orders.business.placing import NewOrder, PostedOrder
from orders.selectors.orders import client_of
from orders.services.placing import place_orders, view_of
from orders.services.request_log import REQUESTS, Line
from orders.vocabulary import TokenScope
from sasweb import traceparents
from sasweb.request_ids import keep_or_make

Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

AT_ONCE = 50
"""Orders that are placed together."""
PATIENCE = 0.25
"""Seconds that they wait for another request with one of their keys or references. Then they go to Django."""
LARGEST = 16_384
"""Bytes of a body that is read in the event loop, which takes it a millisecond at most."""
PATH = "/api/v1/orders"
JSON_TYPES = frozenset({b"application/json", b"application/json; charset=utf-8"})
ACCEPTED = Shortcut(
    "POST",
    PATH,
    202,
    "application/json",
    (("Allow", "GET, POST, HEAD, OPTIONS"), ("Vary", "Authorization, Cookie")),
)
"""The answer, without the order and what depends on it."""


class Placing(NamedTuple):
    """A request that places an order, from a client that speaks to this `host`."""

    digest: str
    key: str
    body: Any
    scheme: str
    host: bytes
    request_id: str
    traceparent: str
    at: datetime
    began: float
    """By the clock of the process."""


class Wish(NamedTuple):
    """What such a request asks for, and with whose token."""

    placing: Placing
    holder: Holder
    keyed: KeyedOrder
    fixed_headers: Headers

    @property
    def subjects(self) -> Sequence[Subject]:
        """Who is counted for the order."""
        subjects = subjects_of(self.holder.account_id, self.holder.token_id)
        return [subject for subject in subjects if subject[0] in settings.CONFIG.limits]


class Accepted(NamedTuple):
    """The answer to such a request."""

    headers: Headers
    body: bytes


class NewOrders:
    """The orders that a process is placing. Used in the event loop alone."""

    def __init__(self) -> None:
        self._of_kind: dict[str, Together[Placing, Accepted]] = {}

    async def answer(self, scope: MutableMapping[str, Any], body: bytes, send: Send) -> bool:
        """Places the order of a request and answers it, if nothing speaks against it. Returns whether it has."""
        placing = placing_of(scope, body)
        if placing is None:
            return False
        try:
            kind = kind_of(placing.body)
        except APIException:
            return False
        if not kind.describes_together():
            return False
        together = self._of_kind.setdefault(kind.name, Together(place_all, at_once=AT_ONCE))
        accepted = await together.ask(placing)
        if accepted is None:
            return False
        await send({"type": "http.response.start", "status": 202, "headers": accepted.headers})
        await send({"type": "http.response.body", "body": accepted.body})
        return True


def placing_of(scope: MutableMapping[str, Any], body: bytes) -> Placing | None:
    """The order that a request is to place; None if it is anything else, or anything that makes a difference to
    Django."""
    if scope["path"] != PATH or scope["method"] != "POST" or scope["query_string"] or scope.get("root_path"):
        return None
    headers = plain_headers(scope)
    if headers is None or headers.get(b"content-type", b"").lower() not in JSON_TYPES or len(body) > LARGEST:
        return None
    host, authorization, key = map(headers.get, (b"host", b"authorization", b"idempotency-key"))
    if host is None or authorization is None or key is None:
        return None
    digest, name = digest_of_header(authorization), key.decode("latin-1")
    if digest is None or not IDEMPOTENCY_KEY.fullmatch(name):
        return None
    try:
        value = parse_json(body)
    except APIException:
        return None
    request_id = keep_or_make(headers.get(b"x-request-id", b"").decode("latin-1"))
    scheme = scope.get("scheme", "http")
    traceparent = headers.get(b"traceparent", b"").decode("latin-1")
    return Placing(
        digest, name, value, scheme, host, request_id, traceparent, timezone.now(), time.monotonic()
    )


def place_all(placings: Sequence[Placing]) -> Sequence[Accepted | None]:
    """Places orders of a kind. None for each of which Django has to say what becomes of it. Raises what the database
    raises."""
    wishes = wishes_of(placings)
    counts = count_orders(wishes.values())
    within_limits = {
        number: wish
        for number, wish in wishes.items()
        if not any(counts[subject].is_refused for subject in wish.subjects)
    }
    outcomes = place_orders([wish.keyed for wish in within_limits.values()], patience=PATIENCE)
    accepted = {
        number: acceptance_of(wish, outcome, [counts[subject] for subject in wish.subjects])
        for (number, wish), outcome in zip(within_limits.items(), outcomes, strict=True)
    }
    others = [wish for number, wish in wishes.items() if accepted.get(number) is None]
    give_back(  # for Django counts them, too
        Counter(subject for wish in others for subject in wish.subjects if not counts[subject].is_refused)
    )
    return [accepted.get(number) for number in range(len(placings))]


def wishes_of(placings: Sequence[Placing]) -> Mapping[int, Wish]:
    """The orders that can be read and that their tokens may place, by the number of their request. One statement."""
    tokens = holders({placing.digest for placing in placings}, now=timezone.now())
    wishes = {}
    for number, placing in enumerate(placings):
        holder = tokens.get(placing.digest)
        with traceparents.keep(placing.traceparent):
            order = order_of(placing.body, holder) if holder else None
        fixed_headers = (
            headers_from_django(ACCEPTED, placing.scheme, placing.host, holder.api_version)
            if holder
            else None
        )
        if holder and order and fixed_headers:
            keyed = KeyedOrder(client_of(holder.account_id), placing.key, order)
            wishes[number] = Wish(placing, holder, keyed, fixed_headers)
    return wishes


def order_of(body: Any, holder: Holder) -> NewOrder | None:
    """The order in a body; None if there is something wrong with it, or if the token may not place it."""
    try:
        order = order_in(body, account_id=holder.account_id, version=find_version(holder.api_version))
    except Exception:  # noqa: BLE001 - whatever it is, Django meets the same
        return None
    needed = {TokenScope.ORDERS, scope_needed(order) or TokenScope.ORDERS}
    return order if needed <= set(holder.scopes) else None


def count_orders(wishes: Collection[Wish]) -> Mapping[Subject, Count]:
    """Counts these orders for each whose limit they concern, or none of them for one who may not place as many now. One
    statement."""
    limits = settings.CONFIG.limits
    numbers = Counter(subject for wish in wishes for subject in wish.subjects)
    many = {subject for subject, number in numbers.items() if number > limits[subject[0]].most}
    counted = count_each({subject: number for subject, number in numbers.items() if subject not in many})
    refused = {
        subject: count_of(subject[0], limits[subject[0]], limits[subject[0]].seconds, is_refused=True)
        for subject in many
    }
    return {**counted, **refused}


def acceptance_of(wish: Wish, outcome: Outcome, counts: Sequence[Count]) -> Accepted | None:
    """The answer to a request whose order has been placed, which is logged as Django's are; None if it has not."""
    view = view_of(outcome) if isinstance(outcome, PostedOrder) else None
    if view is None:
        return None
    placing, holder = wish.placing, wish.holder
    body = orjson.dumps(OrderOut.render(view), option=orjson.OPT_PASSTHROUGH_DATETIME)
    own = {**acceptance_headers(view), **(limit_headers(counts) if counts else {})}
    own |= {"X-Request-ID": placing.request_id, "Content-Length": str(len(body))}
    REQUESTS.note(
        Line(
            request_id=placing.request_id,
            customer_id=holder.account_id,
            at=placing.at,
            method="POST",
            path=PATH,
            status=202,
            code="",
            order_ids=[view.id],
            token=holder.beginning,
            milliseconds=round((time.monotonic() - placing.began) * 1_000),
        )
    )
    return Accepted((*wish.fixed_headers, *encoded(own)), body)
