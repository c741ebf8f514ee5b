"""What compensating an order is called: money is named only where the order can have taken any."""

from collections.abc import Iterator
from typing import Any

import pytest

from orders.models import AlertGroup, OrderProcess
from orders.wording.cancelling import WITH_MONEY, WITHOUT_MONEY, CancelWords
from tests.support.businesses import Bakery, Oven, TastedCakes, business
from tests.support.factories import make_alert, make_order, make_purchase
from tests.support.people import api_client, person, token_of
from tests.web.conftest import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C10")]

ORDERS: dict[str, tuple[type[Bakery], int | None, CancelWords]] = {
    "a value, and a step that takes it": (TastedCakes, 3_900, WITH_MONEY),
    "no value": (TastedCakes, None, WITHOUT_MONEY),
    "no step that takes it": (Bakery, 3_900, WITHOUT_MONEY),
    "neither": (Bakery, None, WITHOUT_MONEY),
}
every_order = pytest.mark.parametrize("name", ORDERS)


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """Cakes that take money, and cakes that take none, beside the shop."""
    with business(settings, kinds=[Bakery, TastedCakes], agents=[Oven()]):
        yield


def an_order(kind: type[Bakery], total: int | None) -> OrderProcess:
    """An order in Error, before it has taken anything."""
    (workflow,) = kind.versions(None)  # type: ignore[arg-type]
    order = make_order(
        {"mix": {"state": "failed", "outcome": "refused"}}, workflow=workflow, process_state="error"
    )
    make_purchase(order.pk, total=total, currency="EUR" if total else "")
    make_alert(order.pk, code="burnt", step="mix")
    return order


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@every_order
def test_its_page_its_confirmation_and_the_result_say_so(desk: Desk, name: str) -> None:
    kind, total, words = ORDERS[name]
    order, client = an_order(kind, total), desk("operator")
    page = text_of(client.get(f"/console/orders/{order.pk}/"))
    assert f">{words.act}…</a>" in page
    url = f"/console/orders/{order.pk}/compensate/"
    confirmation = text_of(client.get(url))
    assert f"> {words.act} the order </h1>" in confirmation
    assert f'<button class="button button--danger">{words.act} the order</button>' in confirmation
    done = text_of(client.post(url, {"reason": "r", "typed": "cancel"}, follow=True))
    assert f"The order will be {words.state}." in done
    for text in (page, confirmation, done):
        assert ("refund" in text) is (words is WITH_MONEY)


@every_order
def test_acts_on_many_say_so(desk: Desk, name: str) -> None:
    kind, total, words = ORDERS[name]
    order, client = an_order(kind, total), desk("operator")
    group = AlertGroup.objects.get()
    assert f"{words.act} 1 order </a>" in text_of(client.get(f"/console/alerts/{group.pk}/"))
    for query in (f"group={group.pk}", f"orders={order.pk}"):
        preview = text_of(client.get(f"/console/bulk/new/?{query}&do=compensate"))
        assert f"{words.act} 1 order </button>" in preview
        assert ("refund" in preview) is (words is WITH_MONEY)


@pytest.mark.parametrize(("kind", "words"), [(TastedCakes, WITH_MONEY), (Bakery, WITHOUT_MONEY)])
def test_of_a_filter_its_workflow_decides(desk: Desk, kind: type[Bakery], words: CancelWords) -> None:
    an_order(kind, 3_900)
    client = desk("operator")
    named = text_of(client.get(f"/console/bulk/new/?workflow={kind.name}&do=compensate"))
    assert f"{words.act} 1 order </button>" in named
    assert "Cancel and refund 1 order" in text_of(client.get("/console/bulk/new/?state=error&do=compensate"))


@every_order
def test_a_token_is_told_so(name: str) -> None:
    kind, total, words = ORDERS[name]
    order, client = an_order(kind, total), api_client(token_of(person("operator")))
    body = {"reason": "r", "confirm": "cancel"}
    answers = [client.post(f"/api/v1/orders/{order.pk}/compensate", body).json() for _ in range(2)]
    assert [answer["message"] for answer in answers] == [
        f"The order will be {words.state}.",
        f"The order is already being {words.state}.",
    ]
