"""Of what belongs to another client there is no sign: in no answer, nor in what it costs, in a count or a cursor."""

import re
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver, reverse
from rest_framework.test import APIClient

from orders.access.purses import PURSES
from orders.shop.models import Product
from tests.support.finished_orders import finished_order, retain
from tests.web.helpers import ORDERS, place, run_submission
from tests.web.test_deny_by_default import views

pytestmark = pytest.mark.django_db

BODIES = {
    "api:order-payment": {"payment_method": "card_ok"},
    "api:order-corrections": {"changes": {}},
    "api:order-compensate": {"reason": "asked for"},
}
VALUES = re.compile(r"'[^']*'|\b\d+\b")


def queued(ada: APIClient) -> UUID:
    return UUID(place(ada)["id"])


def inserted(ada: APIClient) -> UUID:
    order_id = queued(ada)
    run_submission()
    return order_id


def set_aside(ada: APIClient) -> UUID:
    order_id = queued(ada)
    Product.objects.filter(sku="tidal-lines").delete()
    run_submission()
    return order_id


def archived(ada: APIClient) -> UUID:
    order_id = finished_order(purchase={"customer": ada.user})
    assert retain()["finished orders"] == 1
    return order_id


def requests_about(order_id: UUID) -> Iterable[tuple[str, str, Any]]:
    """All that a client can ask of an order: methods, paths and bodies."""
    for namespace, pattern in views(get_resolver().url_patterns):
        if namespace == "api" and set(getattr(pattern.pattern, "converters", ())) == {"order_id"}:
            name = f"api:{pattern.name}"
            for method in {"get", "post"} & set(dir(pattern.callback.view_class)):  # type: ignore[attr-defined]
                yield method, reverse(name, args=[order_id]), BODIES.get(name)


def ask(client: APIClient, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """The answer, and the statements that it took, without the values in them."""
    headers["X-Request-ID"] = "the-same-for-all"
    with CaptureQueriesContext(connection) as queries:
        answer = getattr(client, method)(path, body, headers=headers)
    statements = [VALUES.sub("?", query["sql"]) for query in queries]
    return answer.status_code, answer.content, {**answer.headers, "RateLimit": ""}, statements


@pytest.mark.parametrize("place_of", [queued, inserted, set_aside, archived])
def test_another_clients_order_is_as_one_that_there_is_not(
    ada: APIClient, bob: APIClient, place_of: Callable[[APIClient], UUID]
) -> None:
    theirs, nobodys = place_of(ada), uuid4()
    pairs = list(zip(requests_about(theirs), requests_about(nobodys), strict=True))
    assert len(pairs) >= 6
    operators = {
        reverse(f"api:order-{page}", args=[theirs]) for page in ("details", "rehearsal")
    }  # her token may not read it either
    for (method, path, body), (_, other_path, _) in pairs:
        if method == "get" and path not in operators:
            assert ada.get(path).status_code == 200, path
        PURSES.forget()
        ask(bob, method, other_path, body)  # fills the purse, and plans what is planned once
        assert ask(bob, method, path, body) == ask(bob, method, other_path, body), path
    for headers in ({"If-None-Match": "*"}, {"Prefer": "wait=0"}):
        _, *answers = [ask(bob, "get", f"{ORDERS}/{each}", **headers) for each in (nobodys, theirs, nobodys)]
        assert answers[0] == answers[1]
        assert answers[0][0] == 404


def test_no_list_count_or_total_has_anything_of_another_client(ada: APIClient, bob: APIClient) -> None:
    searches = (
        *("", "reference=ours", "metadata[batch]=7", "sku=tidal-lines", "state=pending", "expand=lines"),
        *("page_size=1", "waiting_for=agent", "total_at_least=1&currency=EUR", "fields=id"),
    )
    paths = [f"{ORDERS}?{search}" for search in searches]
    paths += ["/api/v1/response-queues", "/api/v1/response-queues/news/messages", "/api/v1/webhooks"]
    assert {bob.get(path).status_code for path in paths} == {200}
    before = [bob.get(path).json() for path in paths]
    place(ada, reference="ours", metadata={"batch": "7"}, reply_to="news")
    run_submission()
    assert len(ada.get(f"{ORDERS}?reference=ours").json()["results"]) == 1
    assert [bob.get(path).json() for path in paths] == before


def test_the_words_and_keys_of_another_client_are_free(ada: APIClient, bob: APIClient) -> None:
    orders = [place(client, key="the-same-key", reference="the same") for client in (ada, bob)]
    assert orders[0]["id"] != orders[1]["id"]
    quoted = bob.post(f"{ORDERS}/quote", {"lines": orders[0]["lines"]})
    assert "the same" not in quoted.content.decode()


def test_the_cursor_of_another_client_leads_to_ones_own_orders(ada: APIClient, bob: APIClient) -> None:
    own = [place(client)["id"] for client in (bob, ada, bob, ada, bob)][::2]
    page = ada.get(ORDERS, {"page_size": 1}).json()
    results = bob.get(page["next"]).json()["results"]
    assert {order["id"] for order in results} <= set(own)
    run_submission()
    changes = ada.get("/api/v1/changes?page_size=1").json()
    assert changes["results"]
    seen = bob.get("/api/v1/changes", {"after": changes["cursor"]}).json()["results"]
    assert {change["order"]["id"] for change in seen} <= set(own)
