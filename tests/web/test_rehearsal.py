"""What resubmitting an order would send, on a page of its own and in the REST API."""

from typing import Any

import pytest

from orders.models import Circuit
from orders.shop.agents.carrier import Carrier
from orders.vocabulary import TokenScope
from tests.support.factories import ago, make_order
from tests.support.people import api_client, person, token_of
from tests.web.conftest import Desk
from tests.web.console_orders import an_order, in_error
from tests.web.helpers import assert_problem
from tests.web.test_console_alerts import text_of

pytestmark = pytest.mark.django_db


TIMES = ("probe_at", "opened_at", "forced_until")


def words(html: str) -> str:
    return " ".join(html.split())


def test_the_page_shows_the_request_and_leads_back_to_the_order(desk: Desk) -> None:
    order = in_error()
    url = f"/console/orders/{order.pk}/"
    assert f'href="{url}rehearsal/"' in desk("operator").get(url).content.decode()
    page = words(desk("operator").get(f"{url}rehearsal/").content.decode())
    assert "Nothing has been sent." in page
    assert "POST http://127.0.0.1:" in page and "/carrier/create" in page
    assert f"Idempotency-Key: {order.pk}/create-shipment/2" in page
    assert "&quot;city&quot;: &quot;Delft&quot;" in page
    assert (
        "send-confirmation" in page and "sends the result of create-shipment, which is not known yet" in page
    )
    assert f'action="{url}resubmit/"' in page
    assert f'action="{url}resubmit/"' not in desk("viewer").get(f"{url}rehearsal/").content.decode()


@pytest.mark.parametrize(
    ("circuit", "why"),
    [
        (
            {"state": "open", "probe_at": -9, "opened_at": 120},
            "carrier went down 2 minutes ago",
        ),
        ({"paused": True, "held_by": "olga"}, "The agent carrier is paused, by olga."),
        (
            {"forced": "open", "forced_until": -600, "held_by": "olga"},
            "The calls of carrier are held back by olga. That ends in 10 minutes",
        ),
        ({"state": "open", "probe_at": -9, "forced": "closed", "forced_until": -600}, ""),
        ({}, ""),
        (
            {
                "state": "open",
                "probe_at": -9,
                "opened_at": 120,
                "forced": "open",
                "forced_until": 5,
                "held_by": "olga",
            },
            "carrier went down 2 minutes ago",
        ),
    ],
)
def test_the_order_and_its_rehearsal_say_that_it_would_wait(
    desk: Desk, circuit: dict[str, Any], why: str
) -> None:
    order = in_error()
    times = {name: ago(value) for name, value in circuit.items() if name in TIMES}
    Circuit.objects.create(agent="carrier", **circuit | times)
    Circuit.objects.create(agent="payments", paused=True, held_by="ada")
    for page in ("", "rehearsal/"):
        text = text_of(desk("operator").get(f"/console/orders/{order.pk}/{page}"))
        assert (why in text) and ("it waits for carrier" in text) is bool(why)
        assert "payments is paused, by ada" not in text


def test_resubmitting_from_there_leads_to_the_order_where_it_can_be_undone(desk: Desk) -> None:
    url, client = f"/console/orders/{in_error().pk}/", desk("operator")
    answer = client.post(
        f"{url}resubmit/", headers={"Referer": f"http://testserver{url}rehearsal/"}, follow=True
    )
    assert answer.redirect_chain == [(url, 302)]
    page = words(answer.content.decode())
    assert "You can undo this until then." in page and "Undo" in page


def test_an_agent_that_cannot_show_it_says_so_and_shows_what_it_is_asked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Carrier, "rehearse")
    page = words(desk("viewer").get(f"/console/orders/{in_error().pk}/rehearsal/").content.decode())
    assert "The agent carrier cannot show what it would send. It would be asked for this:" in page
    assert "&quot;city&quot;: &quot;Delft&quot;" in page


def test_an_order_that_would_send_nothing_says_why(desk: Desk) -> None:
    under_way = an_order({}, process_state="pending")
    paused = an_order({"reserve-stock": "failed"}, process_state="error", paused_at=ago(9))
    forgotten = an_order(
        {"send-confirmation": {"state": "failed", "outcome": "unknown", "sent_at": ago(9_000_000)}},
        process_state="error",
    )
    for name in ("reserve-stock", "authorise-payment", "create-shipment", "capture-payment"):
        forgotten.steps.filter(name=name).update(state="completed", outcome="done", attempt=1, answered=1)
    reasons = {
        under_way.pk: "The order is pending, so there is nothing to resubmit.",
        paused.pk: "The order is paused. It sends nothing until it is resumed.",
        forgotten.pk: "Nothing would be sent. The order would be in Error again at once: key_expired: mail may have",
    }
    for order_id, reason in reasons.items():
        assert reason in words(desk("viewer").get(f"/console/orders/{order_id}/rehearsal/").content.decode())


def test_a_program_gets_the_same() -> None:
    operator = api_client(token_of(person("operator"), TokenScope.OPERATE))
    order = in_error()
    rehearsal = operator.get(f"/api/v1/orders/{order.pk}/rehearsal").json()
    (call,) = rehearsal["calls"]
    assert (call["step"], call["agent"], call["attempt"]) == ("create-shipment", "carrier", 2)
    assert call["message"]["headers"]["Idempotency-Key"] == call["key"] == f"{order.pk}/create-shipment/2"
    assert call["message"]["body"].startswith('{"order_id": ')
    assert (call["inquiry"], call["last"], call["complete_within"]) == (None, None, 30.0)
    assert [step["step"] for step in rehearsal["later"]] == ["capture-payment", "send-confirmation"]
    assert operator.get(f"/api/v1/orders/{make_order().pk}/rehearsal").json()["why_nothing"]
    assert_problem(operator.get("/api/v1/orders/01900000-0000-7000-8000-000000000000/rehearsal"), "not_found")
