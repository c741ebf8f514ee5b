"""What the messages of a response queue say, read over REST, of orders that the roles process (Q3)."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from orders import wiring
from orders.business import registry
from orders.engine.runtime.sql import run
from orders.models import OrderProcess, StatusMessage
from orders.selectors.response_queues import queue_of
from tests.support.order_bodies import TOTAL
from tests.support.roles import answer, drain, staff
from tests.web.helpers import ORDERS, place, run_submission

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("Q3")]

QUEUE = "/api/v1/response-queues/shop.1/messages"
VALUE = {"amount": TOTAL, "currency": "EUR"}
NOTHING = {"amount": 0, "currency": "EUR"}
OF_EACH = {"workflow": "fulfil-order", "total": VALUE}
REFUSED = {"code": "no", "message": "it said no"}


def placed(client: APIClient) -> str:
    """An order that is inserted and whose first steps are under way."""
    staff(registry.workflows())
    order_id: str = place(client, reply_to="shop.1")["id"]
    run_submission()
    drain(wiring.scheduler())
    return order_id


def go_on(order_id: str, outcome: str = "done", body: Any = None, *, only: Any = None) -> None:
    """Has the agents answer until there is nothing to do."""
    process = OrderProcess.objects.get(pk=order_id)
    while answer(outcome, body, order=process, only=only):
        drain(wiring.scheduler())


def messages(client: APIClient) -> list[tuple[str, dict[str, Any]]]:
    """What the messages on the queue say, each with its kind, oldest first."""
    response = client.get(QUEUE)
    assert response.status_code == 200, response.content
    return [(message["kind"], message["body"]) for message in response.json()["results"]]


RESULT = {"reservation": "r", "authorisation": "a", "tracking": "t", "capture": "c"}


def test_an_order_that_is_processed_says_what_it_is_and_what_was_charged(ada: APIClient) -> None:
    order_id = placed(ada)
    go_on(order_id, body=RESULT)
    assert messages(ada) == [
        ("received", OF_EACH),
        ("started", OF_EACH),
        ("completed", {**OF_EACH, "charged": VALUE}),
    ]


def test_an_order_that_is_cancelled_says_that_nothing_was_charged_and_why(ada: APIClient) -> None:
    order_id = placed(ada)
    go_on(order_id, body=RESULT, only=["reserve-stock"])
    assert ada.post(f"{ORDERS}/{order_id}/cancel").status_code == 202
    drain(wiring.scheduler())
    go_on(order_id, body=RESULT)
    ending = {**OF_EACH, "charged": NOTHING, "refunded": NOTHING, "reason": "customer_cancelled"}
    assert messages(ada)[-1] == ("compensated", ending)


def test_a_declined_payment_says_until_when_it_can_be_resolved(ada: APIClient) -> None:
    order_id = placed(ada)
    go_on(order_id, "declined", {"code": "card_declined", "message": "no"}, only=["authorise-payment"])
    kind, body = messages(ada)[-1]
    until = ada.get(f"{ORDERS}/{order_id}").json()["waiting_until"]
    declined = {"step": "authorise-payment", "code": "card_declined", "message": "no"}
    assert (kind, body) == ("payment_declined", {**OF_EACH, **declined, "waiting_until": until})


def test_a_failed_order_says_why(ada: APIClient) -> None:
    go_on(placed(ada), "refused", REFUSED, only=["reserve-stock"])
    failure = {"reason": "step_failed", "step": "reserve-stock", **REFUSED}
    assert messages(ada)[-1] == ("failed", {**OF_EACH, **failure})


def test_what_an_earlier_release_has_posted_can_be_read(ada: APIClient) -> None:
    """It has no number, says less, and its order may not be there."""
    run(
        "INSERT INTO orders_statusmessage (queue, order_id, kind, body) VALUES (%s, gen_random_uuid(), 'failed', %s)",
        [queue_of(ada.user.pk, "shop.1"), '{"step": "box", "code": "no"}'],
    )
    assert messages(ada) == [("failed", {"step": "box", "code": "no"})]
    assert ada.get(QUEUE).json()["results"][0]["sequence"] == 0


def test_a_message_is_read_as_it_was_posted_after_its_order_has_gone_on(ada: APIClient) -> None:
    order_id = placed(ada)
    go_on(order_id, body=RESULT)
    before = messages(ada)
    OrderProcess.objects.filter(pk=order_id).update(goal="compensate", process_state="pending")
    drain(wiring.scheduler())
    go_on(order_id, body=RESULT)
    *earlier, (kind, body) = messages(ada)
    assert earlier == before
    assert (kind, body) == ("compensated", {**OF_EACH, "charged": VALUE, "refunded": VALUE})
    assert [*StatusMessage.objects.order_by("id").values_list("sequence", flat=True)] == [1, 2, 3, 4]
