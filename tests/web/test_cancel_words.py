"""What compensating an order is called: with the sum that goes back, and without money where none was taken or held."""

from collections.abc import Iterator
from typing import Any

import pytest

from orders.fields.money import Money
from orders.models import AlertGroup, Order, OrderProcess, WorkflowDefinition
from orders.selectors.desk.money_back import MoneyBack
from orders.wording.cancelling import WITHOUT_MONEY, CancelWords, cancel_words, refund_sentence
from tests.support.businesses import Bakery, Oven, TastedCakes, business
from tests.support.factories import make_alert, make_order, make_purchase
from tests.support.people import api_client, person, token_of
from tests.web.conftest import Desk
from tests.web.console_orders import FULFIL

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C10")]

DONE, REFUSED = "done", "refused"
TAKEN = CancelWords(act="Cancel and refund €39.00", state="cancelled and €39.00 refunded")
ORDERS: dict[str, tuple[type[Bakery], int | None, str, CancelWords]] = {
    "its value was taken": (TastedCakes, 3_900, DONE, TAKEN),
    "its value may have been taken": (TastedCakes, 3_900, "unknown", TAKEN),
    "its value was not taken": (TastedCakes, 3_900, REFUSED, WITHOUT_MONEY),
    "no value": (TastedCakes, None, DONE, WITHOUT_MONEY),
    "no step that takes it": (Bakery, 3_900, DONE, WITHOUT_MONEY),
}
every_order = pytest.mark.parametrize("name", ORDERS)


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """Cakes that take money, and cakes that take none, beside the shop."""
    with business(settings, kinds=[Bakery, TastedCakes], agents=[Oven()]):
        yield


def an_order(kind: type[Bakery], total: int | None, outcome: str) -> OrderProcess:
    """An order in Error, whose step that may take its value ended like this."""
    (workflow,) = kind.versions(None)  # type: ignore[arg-type]
    mix = {"state": "completed" if outcome == DONE else "failed", "outcome": outcome}
    order = make_order({"mix": mix}, workflow=workflow, process_state="error")
    make_purchase(order.pk, total=total, currency="EUR" if total else "")
    make_alert(order.pk, code="burnt", step="mix")
    WorkflowDefinition.objects.get_or_create(
        name=workflow.name, version=1, defaults={"fingerprint": "1", "definition": workflow.definition}
    )
    return order


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@every_order
def test_its_page_its_confirmation_and_the_result_say_so(desk: Desk, name: str) -> None:
    kind, total, outcome, words = ORDERS[name]
    order, client = an_order(kind, total, outcome), desk("operator")
    page = text_of(client.get(f"/console/orders/{order.pk}/"))
    assert f">{words.act}…</a>" in page
    url = f"/console/orders/{order.pk}/compensate/"
    confirmation = text_of(client.get(url))
    assert f"> {words.act_on_order} </h1>" in confirmation
    assert f'<button class="button button--danger">{words.act_on_order}</button>' in confirmation
    hedge = ", or may have been" if outcome == "unknown" else ""
    assert ("or may have been done" in confirmation) is bool(hedge)
    assert (f"The customer was charged €39.00{hedge}. The money" in confirmation) is (words is TAKEN)
    typed = "39.00" if words is TAKEN else "cancel"
    done = text_of(client.post(url, {"reason": "r", "typed": typed}, follow=True))
    assert f"The order will be {words.state}." in done
    for text in (page, confirmation, done):
        assert ("refund" in text) is (words is TAKEN)


@every_order
def test_acts_on_many_say_so(desk: Desk, name: str) -> None:
    kind, total, outcome, words = ORDERS[name]
    order, client = an_order(kind, total, outcome), desk("operator")
    group = AlertGroup.objects.get()
    act = "Cancel 1 order and refund €39.00" if words is TAKEN else "Cancel 1 order"
    assert f"{act}… </a>" in text_of(client.get(f"/console/alerts/{group.pk}/"))
    for query in (f"group={group.pk}", f"orders={order.pk}", f"workflow={kind.name}", "state=error"):
        preview = text_of(client.get(f"/console/bulk/new/?{query}&do=compensate"))
        assert f"{act} </button>" in preview
        assert ("refund" in preview) is (words is TAKEN)


def test_what_is_only_held_is_released_and_sums_are_added_up_by_currency(desk: Desk) -> None:
    held = make_order({"authorise-payment": "completed"}, workflow=FULFIL, process_state="error")
    make_purchase(held.pk, total=1_250)
    paid = [an_order(TastedCakes, 3_900, DONE) for _ in range(2)]
    yen = an_order(TastedCakes, 800, DONE)
    Order.objects.filter(pk=yen.pk).update(currency="JPY")
    client = desk("operator")
    assert ">Cancel and release €12.50…</a>" in text_of(client.get(f"/console/orders/{held.pk}/"))
    orders = "&".join(f"orders={order.pk}" for order in (held, yen, *paid))
    preview = text_of(client.get(f"/console/bulk/new/?{orders}&do=compensate"))
    assert "Cancel 4 orders and refund €78.00 and ¥800 and release €12.50 </button>" in preview
    assert "€12.50 is held and is released; nothing is charged for it." in preview


def test_an_order_that_is_being_cancelled_gives_back_no_more(desk: Desk) -> None:
    order = an_order(TastedCakes, 3_900, DONE)
    OrderProcess.objects.filter(pk=order.pk).update(goal="compensate")
    preview = text_of(desk("operator").get(f"/console/bulk/new/?orders={order.pk}&do=compensate"))
    assert all(f">{act} orders</a>" in preview for act in ("Resubmit", "Cancel", "Edit"))
    assert "Cancel 1 order </button>" in preview
    assert "refund" not in preview


@every_order
def test_a_token_is_told_so(name: str) -> None:
    kind, total, outcome, words = ORDERS[name]
    order, client = an_order(kind, total, outcome), api_client(token_of(person("operator")))
    body = {"reason": "r", "confirm": "39.00" if words is TAKEN else "cancel"}
    answers = [client.post(f"/api/v1/orders/{order.pk}/compensate", body).json() for _ in range(2)]
    assert [answer["message"] for answer in answers] == [
        f"The order will be {words.state}.",
        "The order is already being cancelled.",
    ]


def test_one_sum_is_and_two_sums_are() -> None:
    euros, pounds = Money(amount=500, currency="EUR"), Money(amount=400, currency="GBP")
    assert refund_sentence(MoneyBack(charged=[euros], held=[pounds])) == (
        "€5.00 was charged, or may have been, and is refunded. "
        "£4.00 is held and is released; nothing is charged for it."
    )
    both = [euros, pounds]
    assert refund_sentence(MoneyBack(charged=both, held=both, more=True)) == (
        "€5.00 and £4.00 or more were charged, or may have been, and are refunded. "
        "€5.00 and £4.00 or more are held and are released; nothing is charged for them."
    )
    assert cancel_words(MoneyBack(held=both)).then == (
        "Nothing was charged. The €5.00 and £4.00 that are held are released."
    )
