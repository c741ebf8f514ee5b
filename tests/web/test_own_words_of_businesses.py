"""Orders of every kind have their client's own words, whoever places them, and operators see them."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.business import BadOrderError
from orders.business import placing as business_placing
from orders.business.placing import ReferenceTakenError
from orders.models import Order, SubmissionMessage
from orders.shop.placing import NewOrder, place_order
from tests.commands.running import run
from tests.services.placing_orders import an_order
from tests.support.businesses import Bakery, Oven, business
from tests.support.finished_orders import archive, finished_order
from tests.support.order_bodies import order_body
from tests.web.conftest import Desk
from tests.web.console_orders import HOSTILE
from tests.web.helpers import ORDERS, assert_problem, mistakes, place, run_submission

pytestmark = pytest.mark.django_db

METADATA = {"oven": "2", "note": "no\nnuts"}
CAKE = {"cake": "walnut"}


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The bakery, beside the shop."""
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        yield


def own_words(order: Order) -> tuple[str, Any]:
    return order.reference, order.metadata


def test_a_kind_without_a_serializer_has_them(ada: APIClient) -> None:
    body = {"workflow": "bake", **CAKE, "reference": "r", "metadata": METADATA}
    placed = ada.post(ORDERS, body).json()
    assert (placed["reference"], placed["metadata"]) == ("r", METADATA)
    problem = assert_problem(ada.post(ORDERS, order_body(reference="r")), "reference_taken")
    assert problem["order"]["id"] == placed["id"]
    wrong = {**body, "reference": "", "metadata": {"a/b": 1}}
    assert mistakes(ada.post(ORDERS, wrong)) == ["/reference", "/metadata/a~1b"]


def test_a_business_starts_orders_with_them(ada: APIClient) -> None:
    def start(reference: str, **values: Any) -> UUID:
        return Bakery.start("table 7", CAKE, reference=reference, metadata=METADATA, **values)

    first = start("r", key="k")
    assert start("r", key="k") == first
    for values in ({}, {"key": "l"}):
        with pytest.raises(ReferenceTakenError) as taken:
            start("r", **values)
        assert taken.value.order_id == first
    assert start("r", customer_id=ada.user.pk) != first
    assert start("s") != first
    for reference, reason in (
        ("r" * 121, "a text of 1 to 120 characters"),
        ("\ud800", "no control characters"),
    ):
        with pytest.raises(BadOrderError, match=f"^reference must (be|have) {reason}"):
            start(reference)
    assert SubmissionMessage.objects.count() == 3


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({str(number): "" for number in range(21)}, "metadata must be at most 20 texts, not 21."),
        ({"n" * 41: ""}, "a name in metadata must be a text of 1 to 40 characters"),
        ({"a\nb": ""}, "a name in metadata must have no control characters"),
        ({"a": "x" * 501}, "metadata must be texts of up to 500 characters"),
        ({"a": 1}, "metadata must be texts of up to 500 characters, not 1."),
        ({"a": "\0"}, "metadata has characters that cannot be stored."),
    ],
)
def test_metadata_that_are_not_allowed_start_nothing(metadata: Any, reason: str) -> None:
    with pytest.raises(BadOrderError) as refused:
        Bakery.start("table 7", CAKE, metadata=metadata)
    assert str(refused.value).startswith(reason)
    assert not SubmissionMessage.objects.exists()


def test_data_cannot_have_their_names() -> None:
    for name in ("reference", "metadata"):
        with pytest.raises(BadOrderError, match=f"^{name} cannot be a name of an order's data"):
            order = business_placing.NewOrder(kind=Bakery, request={**CAKE, name: "x"})
            business_placing.post_order(client="guest", order=order, key=None)


def test_the_shops_own_placing_takes_them(catalogue: None) -> None:
    order = NewOrder(**{**vars(an_order(sku="tidal-lines")), "reference": "r", "metadata": METADATA})
    place_order(client="guest", order=order)
    with pytest.raises(ReferenceTakenError):
        place_order(client="guest", order=order)
    run_submission()
    assert own_words(Order.objects.get()) == ("r", METADATA)


def test_the_command_starts_orders_with_them() -> None:
    arguments = ("start_order", "bake", "--data", '{"cake": "rye"}', "--reference", "r")
    started = run(*arguments, "--metadata", "oven=2", "--metadata", "note=a=b")
    assert started.code == 0
    run_submission()
    assert own_words(Order.objects.get()) == ("r", {"oven": "2", "note": "a=b"})
    shown = run("order", started.out.strip()).words
    assert "reference r" in shown and "metadata note: a=b" in shown
    again = run(*arguments)
    assert (again.code, again.err.strip()) == (2, f"order {started.out.strip()} has this reference already")


def test_operators_see_them_escaped(desk: Desk, ada: APIClient) -> None:
    placed = place(ada, reference=HOSTILE, metadata={HOSTILE[:40]: f"{HOSTILE}\nnext"})
    run_submission()
    page = desk("viewer").get(f"/console/orders/{placed['id']}/").content.decode()
    assert "<dt>Reference</dt>" in page and "<dt>Metadata</dt>" in page
    assert HOSTILE not in page and HOSTILE[:40] not in page
    assert "<br>next" in page


@pytest.mark.parametrize("reference", ["invoice 1001", "10010", "dead-beef"])
def test_operators_find_an_order_by_its_reference(desk: Desk, ada: APIClient, reference: str) -> None:
    archived = finished_order(purchase={"reference": reference})
    archive(archived)
    placed = place(ada, reference=reference)
    place(ada, reference="another")
    run_submission()
    page = desk("viewer").get("/console/orders/", {"q": reference}).content.decode()
    for order_id in (archived, placed["id"]):
        assert f'data-key-id="{order_id}"' in page
    assert page.count("data-key-id=") == 2


def test_a_submission_with_words_that_are_not_allowed_is_set_aside_and_can_be_read(ada: APIClient) -> None:
    placed = place(ada, reference="r")
    for words in ({"reference": 7}, {"metadata": {"a": ["b"]}}):
        message = SubmissionMessage.objects.get()
        SubmissionMessage.objects.update(body={**message.body, "reference": "r", **words})
        order = ada.get(placed["links"]["self"]).json()
        assert (order["reference"], order["metadata"], order.pop("correctable")) == ("", {}, [])
        assert ada.get(ORDERS, {"expand": "lines,steps"}).json()["results"] == [order]
    run_submission()
    order = ada.get(placed["links"]["self"]).json()
    assert (order["state"], order["error"]["code"], order["metadata"]) == ("error", "set_aside", {})
