"""The forms with which a customer corrects her order say until when she can."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from orders.models import OrderProcess
from orders.shop.demo.catalogue import load_catalogue
from orders.shop.demo.delivery import load_delivery
from tests.services.edited_orders import GOUDA
from tests.services.test_corrections import not_served, sold_out, unanswered
from tests.web.test_correction_pages import SHORT, page, send, words

pytestmark = pytest.mark.django_db
DEADLINE = re.compile(
    r"Your time for this runs out on (\d[^()]* UTC) \( in \d+ minutes \)\. After that, the order is cancelled and"
    r" nothing is charged\."
)


@pytest.mark.parametrize(
    ("case", "field", "values"),
    [(sold_out, "lines", SHORT), (not_served, "ship_to", {**GOUDA, "country": "BE", "postal_code": "2800"})],
)
def test_the_form_and_its_question_say_the_deadline_as_the_page_does(
    client: Client, case: Callable[[], OrderProcess], field: str, values: dict[str, str]
) -> None:
    load_catalogue()
    load_delivery()
    order = case()
    (deadline,) = DEADLINE.findall(page(client, order))
    form = page(client, order, f"correct/{field}/")
    refused = send(client, order, field)
    question = send(client, order, field, **values)
    assert refused.status_code == 422 and "Leave it as it is" in words(question)
    for text in (form, words(refused), words(question)):
        assert DEADLINE.findall(text) == [deadline], text


def test_the_form_says_no_deadline_where_there_is_none(client: Client) -> None:
    text = page(client, unanswered(), "correct/payment_method/")
    assert "runs out" not in text and "Leave it" not in text
