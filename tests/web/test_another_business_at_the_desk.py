"""The console and the commands know the orders of a second business from their profile alone."""

import pytest
from rest_framework.test import APIClient

from orders.models import (
    AlertGroup,
    OrderProcess,
    StepState,
)
from tests.commands.running import run
from tests.support.order_bodies import order_body
from tests.web.bakery_orders import ORDERS, Desk, a_burnt_cake, a_cake, bakery, take_in
from tests.web.console_places import make_places

__all__ = ["bakery"]
pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C4")]


@pytest.mark.parametrize("query", ["icing=lemon", "table 7"])
def test_an_order_is_found_by_its_attribute_and_its_subject(desk: Desk, query: str) -> None:
    order_id, _ = a_cake(), a_cake(subject="table 8", data={"icing": "none"})
    page = desk("viewer").get("/console/orders/", {"q": query}).content.decode()
    assert f'data-key-id="{order_id}"' in page
    assert page.count("data-key-id=") == 1


@pytest.mark.parametrize("subject", ["AB-12", "dead beef"])
def test_a_subject_is_found_even_if_it_could_be_part_of_an_id(desk: Desk, subject: str) -> None:
    order_id = a_cake(subject=subject)
    other = a_cake(subject="table 9")
    page = desk("operator").get("/console/orders/", {"q": subject}).content.decode()
    assert str(order_id) in page and str(other) not in page


def test_the_list_has_one_workflow_if_asked(desk: Desk, ada: APIClient) -> None:
    order_id = a_cake()
    ada.post(ORDERS, order_body())
    take_in()
    page = desk("viewer").get("/console/orders/", {"workflow": "bake"}).content.decode()
    assert f'data-key-id="{order_id}"' in page and page.count("data-key-id=") == 1
    assert "of workflow bake" in page


def test_the_page_of_an_order_shows_its_profile(desk: Desk) -> None:
    order_id = a_burnt_cake()
    page = desk("admin").get(f"/console/orders/{order_id}/").content.decode()
    for text in ("walnut cake", "table 7", "Icing", "lemon", "Due"):
        assert text in page, text
    assert "Ship" not in page


def test_every_page_of_the_console_shows_orders_without_a_value(desk: Desk) -> None:
    places = make_places()
    another = OrderProcess.objects.get()
    cake, group = a_burnt_cake(), AlertGroup.objects.get(code="burnt")
    admin = desk("admin")
    for name, path in places.items():
        of_cake = path.replace(str(another.pk), str(cake)).replace("/groups/1/", f"/groups/{group.pk}/")
        assert admin.get(of_cake).status_code < 500, name
    assert "burnt" in admin.get("/console/alerts/").content.decode()


def test_an_operator_edits_what_the_kind_declares(desk: Desk) -> None:
    order_id = a_burnt_cake()
    operator = desk("operator")
    form = operator.get(f"/console/orders/{order_id}/steps/mix/edit/", follow=True)
    assert "Cake" in form.content.decode()
    url = f"/console/orders/{order_id}/edit/"
    comparison = operator.post(url, {"cake": "rye", "reason": "no walnuts"})
    seen = comparison.context["seen"]
    done = operator.post(url, {"cake": "rye", "reason": "no walnuts", "seen": seen, "confirm": "1"})
    assert done.status_code == 302
    assert StepState.objects.get(process_id=order_id).request == {"cake": "rye"}


def test_it_is_compensated_without_a_sum(desk: Desk) -> None:
    order_id = a_burnt_cake()
    page = desk("operator").get(f"/console/orders/{order_id}/compensate/").content.decode()
    assert "cancel" in page and "refunded" not in page


def test_commands_show_and_start_it() -> None:
    started = run("start_order", "bake", "--data", '{"cake": "rye"}', "--subject", "table 3", "--key", "k")
    assert started.code == 0
    assert (
        run("start_order", "bake", "--data", '{"cake": "rye"}', "--subject", "table 3", "--key", "k")
        == started
    )
    take_in()
    shown = run("order", started.out.strip()).words
    assert "rye cake" in shown and "table 3" in shown and "bake, version 1" in shown


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["brew"], "there is no workflow 'brew'; the workflows are fulfil-order, bake"),
        (["bake"], "cake must be a text of 1 to 40 characters, not nothing."),
        (["bake", "--data", "[]"], "--data must be a JSON object"),
        (["bake", "--data", "{"], "--data is not a JSON object"),
        (["bake", "--data", '{"cake": "rye"}', "--customer", "nobody"], "there is no account 'nobody'"),
        (["fulfil-order", "--data", "{}"], "the data do not describe an order"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], line: str) -> None:
    ran = run("start_order", *arguments)
    assert (ran.code, ran.err.startswith(line)) == (2, True), ran.err
