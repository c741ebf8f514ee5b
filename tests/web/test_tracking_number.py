"""The page of an order shows its parcel's tracking number, and leads to the carrier's page about it."""

from collections.abc import Iterator

import pytest
from django.test import Client

from orders.models import StepState
from orders.shop import tracking
from tests.support.factories import ago
from tests.support.finished_orders import archive
from tests.web.conftest import Desk
from tests.web.shopping import STEPS, done, guest_page, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
SENT = done("reserve-stock", "authorise-payment", "create-shipment")


@pytest.fixture(autouse=True)
def fresh_setting() -> Iterator[None]:
    tracking.present_tracking_url.cache_clear()
    yield
    tracking.present_tracking_url.cache_clear()


def page(client: Client, steps: dict[str, object], part: str = "") -> str:
    order = shop_order(steps)
    StepState.objects.filter(process=order, name="create-shipment").update(result={"tracking": "trk<1>"})
    return client.get(guest_page(order) + part).content.decode()


@pytest.mark.parametrize("part", ["", "progress/"])
def test_a_parcel_has_its_number_on_the_page_and_in_live_updates(client: Client, part: str) -> None:
    text = page(client, SENT, part)
    assert "Tracking number" in text and "trk&lt;1&gt;" in text and "parcels.example" not in text


def test_the_number_leads_to_the_carriers_page_if_there_is_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKING_URL", "https://parcels.example/{tracking}")
    link = '<a href="https://parcels.example/trk%3C1%3E" rel="noreferrer">trk&lt;1&gt;</a>'
    assert link in page(client, SENT)


@pytest.mark.parametrize("state", ["running", "compensated"])
def test_what_is_not_with_the_carrier_has_no_number(client: Client, state: str) -> None:
    assert "Tracking number" not in page(client, {**SENT, "create-shipment": {"state": state}})


def test_an_archived_order_keeps_its_number(client: Client) -> None:
    order = shop_order(done(*STEPS), process_state="processed", started_at=ago(2), finished_at=ago(1))
    StepState.objects.filter(process=order, name="create-shipment").update(result={"tracking": "trk_1"})
    archive(order.order_id)
    assert "trk_1" in client.get(guest_page(order)).content.decode()


def test_the_console_has_the_number_among_the_orders_facts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKING_URL", "https://parcels.example/{tracking}")
    order = shop_order(SENT)
    StepState.objects.filter(process=order, name="create-shipment").update(result={"tracking": "trk_1"})
    text = (
        desk("viewer")
        .get(f"/console/orders/{order.order_id}/")
        .content.decode()
        .partition('data-fold="storage"')[0]
    )
    assert '<a href="https://parcels.example/trk_1" rel="noreferrer">trk_1</a>' in text
