"""Erasing a customer in the console, from the page of one of her orders."""

import pytest
from django.contrib.auth.models import User

from orders.models import AuditEntry, Order, OrderProcess
from tests.support.finished_orders import finished_order, retain
from tests.web.conftest import Desk
from tests.web.console_orders import in_error

pytestmark = pytest.mark.django_db
EMAIL = "zelda@customer.example"


@pytest.mark.parametrize("days", [1, 91], ids=["finished", "archived"])
def test_an_administrator_erases_the_customer_of_a_finished_order(desk: Desk, days: int) -> None:
    User.objects.create(username=EMAIL, email=EMAIL)
    order_id = finished_order(days=days, purchase={"email": EMAIL})
    retain()
    admin, at = desk("admin"), f"/console/orders/{order_id}/erase/"
    assert at in admin.get(f"/console/orders/{order_id}/").content.decode()
    page = " ".join(admin.get(at).content.decode().split())
    assert EMAIL in page and "would be erased (orders: 1, accounts: 1)" in page
    for typed in ("", "delete"):
        answer = admin.post(at, {"reason": "r", "typed": typed})
        assert answer.status_code == 422 and "Type erase to confirm" in answer.content.decode()
    assert User.objects.filter(email=EMAIL).exists()
    done = admin.post(at, {"reason": f"{EMAIL} asked for it", "typed": " Erase "}, follow=True)
    text = done.content.decode()
    assert "was erased" in text and EMAIL not in text
    assert not User.objects.filter(email=EMAIL).exists()
    entry = AuditEntry.objects.get(act="erase")
    assert EMAIL not in f"{entry.target} {entry.reason}" and entry.reason.endswith("asked for it")
    assert at not in text, "it is offered again"
    assert "Nothing is stored about this customer" in admin.get(at).content.decode()
    admin.post(at, {"reason": "r", "typed": "erase"})
    assert AuditEntry.objects.filter(act="erase", allowed=True).count() == 1


def test_a_customer_with_an_unfinished_order_cannot_be_erased(desk: Desk) -> None:
    order_id = finished_order(days=1, purchase={"email": EMAIL})
    unfinished = in_error()
    Order.objects.filter(pk=unfinished.pk).update(email=EMAIL)
    admin, at = desk("admin"), f"/console/orders/{order_id}/erase/"
    page = admin.get(at).content.decode()
    assert (
        "Nothing was erased" in page
        and str(unfinished.pk) in page
        and "Erase the customer</button>" not in page
    )
    assert admin.post(at, {"reason": "r", "typed": "erase"}).status_code == 422
    assert Order.objects.filter(email=EMAIL).count() == 2
    assert "erase/" not in admin.get(f"/console/orders/{unfinished.pk}/").content.decode()


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 200)])
def test_only_administrators_erase_and_an_operator_is_offered_to_ask(
    desk: Desk, role: str, status: int
) -> None:
    order_id = finished_order(days=1, purchase={"email": EMAIL})
    client, at = desk(role), f"/console/orders/{order_id}/erase/"
    assert (at in client.get(f"/console/orders/{order_id}/").content.decode()) is (role == "operator")
    page = client.get(at)
    assert page.status_code == status
    assert "Erase the customer</button>" not in page.content.decode()
    assert (f'formaction="{at}ask/"' in page.content.decode()) is (role == "operator")
    assert client.post(at, {"typed": "erase"}).status_code == 403
    assert OrderProcess.objects.filter(pk=order_id).exists()


def test_an_order_without_a_customer_has_nobody_to_erase(desk: Desk) -> None:
    order_id = finished_order(days=1, purchase={"email": EMAIL})
    Order.objects.filter(pk=order_id).update(email="")
    assert desk("admin").get(f"/console/orders/{order_id}/erase/").status_code == 404
