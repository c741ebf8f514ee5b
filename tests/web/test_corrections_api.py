"""A REST client sees what its order waits for, and corrects it as the order's page does."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.models import Order, OrderProcess
from orders.shop.models import DeliveryTerms
from tests.services.edited_orders import GOUDA
from tests.services.test_corrections import not_served, sold_out, unanswered
from tests.support.factories import step_of
from tests.support.order_bodies import LONDON
from tests.support.people import api_client
from tests.support.roles import everything, history
from tests.web.helpers import ORDERS, assert_problem, in_threads, mistakes

pytestmark = pytest.mark.django_db


def hers(client: APIClient, order: OrderProcess) -> OrderProcess:
    """The order, as this client's own."""
    Order.objects.filter(pk=order.pk).update(customer_id=client.user.pk)
    OrderProcess.objects.filter(pk=order.pk).update(customer_id=client.user.pk)
    return order


def correct(client: APIClient, order: OrderProcess, **changes: Any) -> Any:
    return client.post(f"{ORDERS}/{order.pk}/corrections", {"changes": changes})


def test_an_order_says_what_it_waits_for_and_where_that_is_corrected(ada: APIClient) -> None:
    order = hers(ada, not_served())
    body = ada.get(f"{ORDERS}/{order.pk}").json()
    (wait,) = body["correctable"]
    assert wait == {
        "step": "create-shipment",
        "error": {"code": "address_not_served", "message": "no", "waits_for": "customer"},
        "fields": ["ship_to"],
        "until": body["waiting_until"],
    }
    response = ada.post(body["links"]["corrections"], {"changes": {"ship_to": GOUDA}})
    assert (response.status_code, response.json()["correctable"]) == (202, [])
    assert step_of(order, "create-shipment").request["ship_to"] == GOUDA


def test_fewer_lines_lower_the_total(ada: APIClient) -> None:
    order = hers(ada, sold_out())
    response = correct(ada, order, lines=[{"sku": "first-sun", "quantity": 0}])
    assert response.status_code == 202
    assert response.json()["total"] == {"amount": 7_800, "currency": "EUR"}
    assert [line["sku"] for line in response.json()["lines"]] == ["tidal-lines"]


def test_a_silent_card_is_correctable_without_a_deadline(ada: APIClient) -> None:
    order = hers(ada, unanswered())
    (silent,) = ada.get(f"{ORDERS}/{order.pk}").json()["correctable"]
    assert (silent["error"]["code"], silent["fields"], silent["until"]) == (
        "timeout",
        ["payment_method"],
        None,
    )
    assert correct(ada, order, payment_method="card_ok").status_code == 202
    assert history(order, "paid_again") == [("paid_again", "authorise-payment")]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"lines": [{"sku": "tidal-lines", "quantity": 3}]}, "/changes/lines/0/quantity"),
        ({"lines": [{"sku": "moon", "quantity": 0}]}, "/changes/lines/0/sku"),
        ({"lines": []}, "/changes/lines"),
        ({"lines": [{"sku": "tidal-lines"}]}, "/changes/lines/0/quantity"),
        ({"ship_to": GOUDA}, "/changes/ship_to"),
        ({"total": 1}, "/changes/total"),
    ],
)
def test_what_cannot_be_changed_is_pointed_at(ada: APIClient, changes: dict[str, Any], pointer: str) -> None:
    order = hers(ada, sold_out())
    before = everything(order)
    assert list(mistakes(correct(ada, order, **changes))) == [pointer]
    assert everything(order) == before


def test_a_product_that_is_not_in_the_order_is_named(ada: APIClient) -> None:
    """Also beside one that is."""
    order = hers(ada, sold_out())
    lines = [{"sku": "first-sun", "quantity": 0}, {"sku": "moon", "quantity": 1}]
    (mistake,) = assert_problem(correct(ada, order, lines=lines), "validation_failed")["errors"]
    assert mistake == {
        "pointer": "/changes/lines/1/sku",
        "detail": "lines[1].sku must be one of the order, which has no 'moon'.",
    }


def test_all_mistakes_are_told_at_once(ada: APIClient) -> None:
    """Those of the lines, which only the order tells, and of what a service would refuse again, too."""
    order = hers(ada, sold_out(remaining=1))
    before = everything(order)
    for lines, places in {
        (("moon", 1), ("tidal-lines", 3), ("first-sun", 9)): ["0/sku", "1/quantity", "2/quantity"],
        (("moon", 1), ("tidal-lines", 2)): ["0/sku", "1/quantity"],
    }.items():
        changed = [{"sku": sku, "quantity": quantity} for sku, quantity in lines]
        assert mistakes(correct(ada, order, lines=changed)) == [f"/changes/lines/{place}" for place in places]
    body = {"changes": {"lines": [{"sku": "moon"}], "moon": 1}, "total": -1, "bla": 1}
    assert mistakes(ada.post(f"{ORDERS}/{order.pk}/corrections", body)) == [
        "/total",
        "/bla",
        "/changes/moon",
        "/changes/lines/0/quantity",
    ]
    assert everything(order) == before


def test_an_address_is_read_as_strictly_as_a_new_orders(ada: APIClient) -> None:
    order = hers(ada, not_served())
    link = {**GOUDA, "name": "Win at http://bad.example"}
    assert list(mistakes(correct(ada, order, ship_to=link))) == ["/changes/ship_to/name"]


def test_while_a_payment_is_under_way_its_total_stays(ada: APIClient) -> None:
    order = hers(ada, sold_out(payment="running"))
    assert_problem(correct(ada, order, lines=[{"sku": "first-sun", "quantity": 0}]), "act_refused")


def test_another_clients_order_is_not_there(ada: APIClient) -> None:
    assert_problem(correct(ada, not_served(), ship_to=GOUDA), "not_found")


@pytest.mark.django_db(transaction=True)
def test_of_a_crowd_of_corrections_one_is_accepted(ada: APIClient) -> None:
    order = hers(ada, not_served())
    answers = in_threads(4, lambda _: correct(api_client(ada.token), order, ship_to=GOUDA))
    responses = [future.result(timeout=60) for future in answers]
    refused = [response for response in responses if response.status_code != 202]
    assert len(refused) == 3
    for response in refused:
        assert_problem(response, "not_waiting_for_customer")
    assert len(history(order, "corrected")) == 1


def test_a_dearer_delivery_has_to_be_agreed_to_by_its_total(ada: APIClient) -> None:
    DeliveryTerms.objects.create(country="GB", price=990, fewest_days=3, most_days=6, tax_rate=2000)
    order = hers(ada, not_served())
    problem = assert_problem(correct(ada, order, ship_to=LONDON), "total_not_agreed")
    assert problem["total"] == {"amount": 13_690, "currency": "EUR"}
    assert problem["detail"] == (
        "The order would cost EUR 136.90 instead of EUR 127.00. Agree to that total first."
    )
    url = f"{ORDERS}/{order.pk}/corrections"
    other = ada.post(url, {"changes": {"ship_to": LONDON}, "total": 12_700})
    again = assert_problem(other, "total_not_agreed")
    assert again["total"] == problem["total"]
    assert again["detail"] == "The order would cost EUR 136.90, not EUR 127.00."
    agreed = ada.post(url, {"changes": {"ship_to": LONDON}, "total": problem["total"]["amount"]})
    assert agreed.status_code == 202
    assert agreed.json()["total"] == {"amount": 13_690, "currency": "EUR"}
    assert agreed.json()["delivery"]["price"] == {"amount": 990, "currency": "EUR"}
