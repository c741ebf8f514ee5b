"""A customer reaches her own things only, and sets only what a form or the API is for."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver, reverse
from rest_framework.test import APIClient

from orders.access.sign_up_links import SignUp, make_token
from orders.models import Address, Order, OrderProcess, StatusMessage, SubmissionMessage
from tests.support.order_bodies import BODY, EMAIL, LONDON, TOTAL
from tests.support.people import PASSWORD, api_client, signed_in, token_of
from tests.web.helpers import ORDERS, place
from tests.web.shopping import customer, shop_order
from tests.web.test_deny_by_default import views

pytestmark = pytest.mark.django_db
CUSTOMERS = {"order": {"order_id"}, "shop": {"order_id"}, "account": {"address_id"}, "api": {"order_id"}}
"""By namespace: what a customer's URLs are about."""
OPERATORS = {
    *(
        "order-compensate",
        "order-details",
        "order-rehearsal",
        "order-resubmit",
        "order-retry",
        "order-priority",
        "order-erase",
    ),
    *("order-edit", "order-edit-preview", "order-pause", "order-resume", "order-note"),
}
"""The API's URLs about orders that customers may not use at all."""
METHODS = ("get", "head", "post", "put", "patch", "delete")


def customers_places(ids: dict[str, Any]) -> dict[str, str]:
    """Every URL about one order or address of a customer, by name."""
    places = {}
    for namespace, pattern in views(get_resolver().url_patterns):
        parts = set(getattr(pattern.pattern, "converters", ()))
        if parts and parts <= CUSTOMERS.get(namespace, set()):
            places[f"{namespace}:{pattern.name}"] = reverse(
                f"{namespace}:{pattern.name}", kwargs={part: ids[part] for part in parts}
            )
    return places


def state() -> list[Any]:
    """Everything that a customer could change."""
    return [
        list(model.objects.order_by("pk").values_list())
        for model in (Order, OrderProcess, Address, SubmissionMessage, StatusMessage)
    ]


def test_one_customer_reaches_nothing_of_another_by_any_url_or_method(catalogue: None) -> None:
    (ada, _), (bob, browser) = customer(), customer("bob")
    order = shop_order({}, customer=ada)
    address = Address.objects.create(user=ada, is_default=True, **LONDON)
    places = customers_places({"order_id": order.order_id, "address_id": address.pk})
    assert {"order:page", "order:progress", "order:cancel", "shop:order-pay"} <= places.keys()
    assert {"account:address", "account:delete-address"} <= places.keys()
    assert {"api:order", "api:order-cancel", "api:order-events", "api:order-progress"} <= places.keys()
    program: Client = api_client(token_of(bob))
    before = state()
    for name, path in places.items():
        for method in METHODS:
            client = program if name.startswith("api:") else browser
            answer = getattr(client, method)(path)
            refused = (403, 404, 405) if name.partition(":")[2] in OPERATORS else (404, 405)
            assert answer.status_code in refused, (name, method)
            assert LONDON["street"] not in answer.content.decode()
    assert state() == before
    assert signed_in(ada).get(places["order:page"]).status_code == 200


def test_an_order_of_the_api_takes_no_price_owner_or_state_from_its_client(
    ada: APIClient, bob: APIClient
) -> None:
    extra = {
        **{"id": "018f0000-0000-7000-8000-000000000000", "total": 1, "currency": "XTS", "state": "processed"},
        **{"customer": bob.user.pk, "customer_id": bob.user.pk, "placed_at": "2001-01-01T00:00:00Z"},
    }
    lines = [{**line, "unit_price": 1, "title": "free"} for line in BODY["lines"]]
    answer = ada.post(ORDERS, BODY | extra | {"lines": lines})
    if answer.status_code == 202:
        order = answer.json()
        assert order["total"] == TOTAL
        assert (order["id"], order["state"]) != (extra["id"], extra["state"])
        assert bob.get(f"{ORDERS}/{order['id']}").status_code == 404
    else:
        assert answer.status_code in (400, 422)
        assert not SubmissionMessage.objects.exists()


def test_a_form_sets_nothing_that_it_does_not_show(client: Client, catalogue: None) -> None:
    extra = {
        "is_staff": "on",
        "is_superuser": "on",
        "is_active": "on",
        "user_permissions": "1",
        "groups": "1",
    }
    passwords = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    path = reverse("account:finish", args=[make_token(SignUp(email=EMAIL, next_path=""))])
    assert client.post(path, passwords | extra | {"email": "root@example.com"}).status_code == 302
    user = User.objects.get()
    assert (user.email, user.is_staff, user.is_superuser) == (EMAIL, False, False)
    assert not user.user_permissions.exists()
    assert not user.groups.exists()
    bob, _ = customer("bob")
    client.post("/account/addresses/new/", {**LONDON, "user": bob.pk, "user_id": bob.pk, "id": "1"})
    assert [address.user_id for address in Address.objects.all()] == [user.pk]


def test_a_parameter_of_the_url_does_not_replace_one_of_the_form_nor_the_last_an_earlier_one(
    client: Client, catalogue: None
) -> None:
    client.post("/cart/add/?sku=first-sun&quantity=50", {"sku": "tidal-lines", "quantity": "1"})
    page = client.get("/cart/").content.decode()
    assert "Tidal Lines" in page
    assert "First Sun" not in page
    client.post("/cart/add/?sku=first-sun&quantity=1")
    assert "First Sun" not in client.get("/cart/").content.decode()


def test_the_api_refuses_a_name_that_comes_twice(ada: APIClient) -> None:
    body = '{"email": "a@example.com", "email": "b@example.com"}'
    assert ada.post(ORDERS, body, content_type="application/json").status_code == 400


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_no_header_or_field_replaces_the_method(header: str, ada: APIClient) -> None:
    order = place(ada)
    before = state()
    path = f"{ORDERS}/{order['id']}/cancel"
    assert ada.get(f"{path}?_method=POST", headers={header: "POST"}).status_code == 405
    assert (
        ada.post(f"{ORDERS}/{order['id']}", {"_method": "DELETE"}, headers={header: "DELETE"}).status_code
        == 405
    )
    assert state() == before
