"""The page of a paused order: who paused it and why, and the buttons that pause and resume it."""

import pytest

from orders.models import OrderProcess
from tests.store.test_metrics import collect
from tests.support.people import api_client, person, token_of
from tests.support.roles import stored
from tests.web.conftest import Desk
from tests.web.console_orders import an_order, in_error

pytestmark = pytest.mark.django_db


def under_way() -> OrderProcess:
    return an_order({"authorise-payment": {"waiting_since": None}}, process_state="pending")


def test_an_operator_pauses_an_order_on_its_page_and_resumes_it(desk: Desk) -> None:
    order, client = under_way(), desk("operator")
    url = f"/console/orders/{order.pk}/"
    assert f'action="{url}pause/"' in client.get(url).content.decode()
    page = client.post(
        f"{url}pause/", {"reason": "wrong address", "minutes": "240"}, follow=True
    ).content.decode()
    paused = stored(order)
    assert paused.paused_at is not None and paused.paused_until is not None
    assert 14_300 < (paused.paused_until - paused.paused_at).total_seconds() <= 14_400
    words = " ".join(page.split())
    assert "Paused by" in words and "wrong address" in words and "The pause ends by itself" in words
    assert f'action="{url}pause/"' not in page and "<span>paused</span>" in page
    assert "An operator has paused an order." in client.get("/console/").content.decode()
    assert f'action="{url}resume/"' not in desk("viewer").get(url).content.decode()
    client.post(f"{url}resume/")
    assert stored(order).paused_at is None
    assert "An operator has paused" not in client.get("/console/").content.decode()


def test_a_pause_without_a_reason_is_refused_and_none_is_offered_that_cannot_be(desk: Desk) -> None:
    order, client = under_way(), desk("operator")
    url = f"/console/orders/{order.pk}/"
    answer = client.post(f"{url}pause/", {"reason": " "}, follow=True).content.decode()
    assert "Give a reason." in answer and stored(order).paused_at is None
    ended = an_order({}, process_state="compensated", goal="compensate", finished_at=order.created_at)
    assert "pause/" not in client.get(f"/console/orders/{ended.pk}/").content.decode()
    assert "pause/" in client.get(f"/console/orders/{in_error().pk}/").content.decode()


def test_the_whole_desk_says_that_an_order_is_paused(desk: Desk) -> None:
    order, client = under_way(), desk("operator")
    assert "not counted either" not in client.get("/console/deadlines/").content.decode()
    client.post(f"/console/orders/{order.pk}/pause/", {"reason": "wrong address"})

    def words(url: str) -> str:
        return " ".join(client.get(url).content.decode().split())

    assert "order is not counted either, although its deadline keeps running." in words("/console/deadlines/")
    assert "1 order is paused</a>" in words("/console/pauses/")
    handover = words("/console/handover/?hours=8")
    assert f"/console/orders/{order.pk}/" in handover and "wrong address" in handover
    assert collect()["sasweb_orders_paused"] == {(): 1}
    program = api_client(token_of(person("viewer", "vera")))
    concerns = program.get("/api/v1/status").json()["concerns"]
    assert [each["page"] for each in concerns if each["message"] == "1 order is paused."] == ["pauses"]
    (first,) = program.get("/api/v1/pauses").json()["first_orders"]
    assert (first["order_id"], first["reason"], first["until"]) == (str(order.pk), "wrong address", None)
