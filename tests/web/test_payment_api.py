"""A declined payment over REST: what the order waits for, and paying in another way, or again."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.engine.contracts import Workflows
from orders.models import AgentRequest, ArchivedOrder, Event, OrderProcess, SetAside, StepState
from orders.selectors.tracked_orders import order_of_customer
from orders.shop.rest import PaymentIn
from orders.shop.workflows import FulfilOrder
from orders.vocabulary import TokenScope
from orders.wording.customers.situations import situation_of
from tests.support.factories import ago, ahead, make_reply, step_of
from tests.support.finished_orders import archive
from tests.support.order_bodies import order_body
from tests.support.people import api_client, token_of
from tests.support.roles import a_scheduler, all_due, answer, drain, history, stored
from tests.web.helpers import ORDERS, assert_problem, in_threads, mistakes, place, run_submission
from tests.web.shopping import FULFIL, declined, done, note, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
SHOP: Workflows = {(FULFIL.name, FULFIL.version): FULFIL}
WAITING = {**done("reserve-stock"), "authorise-payment": declined()}
QUEUE = "/api/v1/response-queues/shop.1/messages"
DECLINE = {"code": "insufficient_funds", "message": "there is not enough money on it"}


def waiting_order(client: APIClient, **process: Any) -> OrderProcess:
    """An order of this client whose payment was declined."""
    return shop_order(WAITING, customer=client.user, **({"not_before": ahead(3_600)} | process))


def pay(client: APIClient, order: Any, body: Any = None) -> Any:
    return client.post(f"{ORDERS}/{order}/payment", body)


def seen(client: APIClient, order: Any) -> dict[str, Any]:
    response = client.get(f"{ORDERS}/{order}")
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    return body


# Paying.


@pytest.mark.pattern("T5")
def test_a_declined_order_is_paid_in_another_way_over_rest(ada: APIClient) -> None:
    order = waiting_order(ada)
    before = seen(ada, order.pk)
    assert before["waiting_for"] == "customer"
    assert datetime.fromisoformat(before["waiting_until"]) == step_of(order, "authorise-payment").not_before
    response = ada.post(before["links"]["payment"], {"payment_method": "card_slow"})
    assert response.status_code == 202
    body = response.json()
    assert (body["id"], body["waiting_for"], body["waiting_until"]) == (str(order.pk), None, None)
    assert "payment" not in body["links"]
    assert response["ETag"] == ada.get(f"{ORDERS}/{order.pk}")["ETag"]
    assert step_of(order, "authorise-payment").request["payment_method"] == "card_slow"
    (event,) = Event.objects.filter(order_id=order.pk, kind="paid_again")
    assert (event.actor_kind, event.actor_name) == ("customer", f"user:{ada.user.pk}")
    drain(a_scheduler(workflows=SHOP))
    assert AgentRequest.objects.get(order_id=order.pk).key == f"{order.pk}/authorise-payment/2"


@pytest.mark.parametrize("body", [None, {}, {"payment_method": "card_declined"}])
def test_the_same_payment_is_tried_again(ada: APIClient, body: Any) -> None:
    order = waiting_order(ada)
    StepState.objects.filter(process=order, name="authorise-payment").update(
        request={"amount": 7_800, "payment_method": "card_declined"}
    )
    assert pay(ada, order.pk, body).status_code == 202
    step = step_of(order, "authorise-payment")
    assert (step.state, step.generation) == ("not_started", 2)
    assert step.request == {"amount": 7_800, "payment_method": "card_declined"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("A3", "C9")
def test_any_number_of_payments_at_once_charge_once(ada: APIClient) -> None:
    order = waiting_order(ada)
    answers = in_threads(8, lambda _: pay(api_client(ada.token), order.pk, {"payment_method": "card_ok"}))
    responses = [future.result(timeout=60) for future in answers]
    accepted = [response for response in responses if response.status_code == 202]
    for response in responses:
        if response not in accepted:
            assert_problem(response, "not_waiting_for_customer")
    assert len(accepted) == 1
    assert len(history(order, "paid_again")) == 1
    drain(a_scheduler(workflows=SHOP))
    assert AgentRequest.objects.filter(order_id=order.pk).count() == 1
    assert step_of(order, "authorise-payment").generation == 2


def test_each_decline_can_be_paid_for_again_until_one_way_to_pay_is_good(ada: APIClient) -> None:
    order = waiting_order(ada)
    scheduler = a_scheduler(workflows=SHOP)
    for number in (2, 3):
        assert pay(ada, order.pk, {"payment_method": f"card_{number}"}).status_code == 202
        drain(scheduler)
        assert answer("declined", DECLINE, order=order) == {"authorise-payment"}
        drain(scheduler)
        assert seen(ada, order.pk)["waiting_for"] == "customer"
    assert pay(ada, order.pk, {"payment_method": "card_ok"}).status_code == 202
    while drain(scheduler) and answer(order=order):
        pass
    assert seen(ada, order.pk)["state"] == "processed"


# Refusals.


@pytest.mark.parametrize(
    "order",
    [
        {"steps": {"authorise-payment": "running"}, "process_state": "processing"},
        {"steps": done("authorise-payment")},
        {"steps": {"authorise-payment": "failed"}, "process_state": "error"},
        {"steps": done(*FULFIL.by_name), "process_state": "processed"},
    ],
)
def test_there_is_nothing_to_pay_where_no_payment_is_declined(ada: APIClient, order: dict[str, Any]) -> None:
    process = shop_order(customer=ada.user, **order)
    assert "payment" not in seen(ada, process.pk)["links"]
    assert_problem(pay(ada, process.pk), "not_waiting_for_customer")
    assert history(process) == []


@pytest.mark.parametrize("state", ["pending", "compensated"])
def test_an_order_that_is_cancelled_takes_no_payment(ada: APIClient, state: str) -> None:
    order = waiting_order(ada, goal="compensate", process_state=state)
    body = seen(ada, order.pk)
    assert (body["waiting_for"], "payment" in body["links"]) == (None, False)
    assert_problem(pay(ada, order.pk), "being_cancelled")


@pytest.mark.parametrize(
    ("goal", "state", "code"),
    [("complete", "processed", "not_waiting_for_customer"), ("compensate", "compensated", "being_cancelled")],
)
def test_an_archived_order_takes_no_payment(ada: APIClient, goal: str, state: str, code: str) -> None:
    order = shop_order(WAITING, customer=ada.user, goal=goal, process_state=state, finished_at=ago(60))
    archive(order.pk)
    assert ArchivedOrder.objects.filter(pk=order.pk).exists()
    assert seen(ada, order.pk)["waiting_for"] is None
    assert_problem(pay(ada, order.pk), code)


def test_another_clients_order_is_not_found_and_stays_as_it_is(ada: APIClient, bob: APIClient) -> None:
    for order in (waiting_order(ada), shop_order(WAITING)):
        assert_problem(pay(bob, order.pk, {"payment_method": "card_ok"}), "not_found")
        assert history(order) == []


def test_a_payment_needs_the_scope_of_orders(ada: APIClient) -> None:
    order = waiting_order(ada)
    reader = api_client(token_of(ada.user, TokenScope.READ))
    assert assert_problem(pay(reader, order.pk), "scope_missing")["needed_scope"] == "orders"
    assert_problem(pay(APIClient(), order.pk), "not_authenticated")


NOT_THIS = (
    "No step waits for what this changes. `correctable` of the order says what can be changed now. If you have sent "
    "this before, it was accepted: read the order."
)
NOTHING = (
    "No step of the order waits for its customer now. "
    "If you have sent this before, it was accepted: read the order."
)


def test_a_step_that_has_nothing_to_do_with_payments_is_not_tried_again(ada: APIClient) -> None:
    order = shop_order({"reserve-stock": declined(), **done("authorise-payment")}, customer=ada.user)
    assert seen(ada, order.pk)["waiting_for"] == "customer"
    problem = assert_problem(pay(ada, order.pk), "not_waiting_for_customer")
    assert (problem["title"], problem["detail"]) == (
        "What this changes is not waiting for the customer",
        NOT_THIS,
    )


def test_where_nothing_waits_for_the_customer_the_problem_says_so(ada: APIClient) -> None:
    order = waiting_order(ada)
    assert pay(ada, order.pk).status_code == 202
    problem = assert_problem(pay(ada, order.pk), "not_waiting_for_customer")
    assert problem["detail"] == NOTHING


STOCK_WAITS = {"reserve-stock": declined()}
SHIPMENT_WAITS = {**done("reserve-stock", "authorise-payment"), "create-shipment": declined()}


SILENT = {
    "authorise-payment": {"state": "failed", "error": {"code": "timeout", "message": "no answer in time"}}
}
BROKEN = {"state": "failed", "error": {"code": "refused", "message": "no"}}


@pytest.mark.parametrize(
    ("steps", "process", "names"),
    [
        (WAITING, {}, {"corrections", "payment"}),
        (STOCK_WAITS, {}, {"corrections"}),
        (SHIPMENT_WAITS, {}, {"corrections"}),
        ({**WAITING, **STOCK_WAITS}, {}, {"corrections", "payment"}),
        (done("reserve-stock"), {}, set()),
        ({**WAITING, "reserve-stock": BROKEN}, {"process_state": "error"}, {"corrections", "payment"}),
        (SILENT, {"process_state": "error"}, {"corrections", "payment"}),
        ({**SILENT, "reserve-stock": BROKEN}, {"process_state": "error"}, set()),
        (WAITING, {"goal": "compensate"}, set()),
        (WAITING, {"process_state": "error", "goal": "compensate"}, set()),
    ],
)
def test_an_order_links_to_its_payment_exactly_while_that_can_be_changed(
    ada: APIClient, steps: dict[str, Any], process: dict[str, Any], names: set[str]
) -> None:
    """The order itself and lists of orders say the same, and the payment is taken where they link to it."""
    order = shop_order(steps, customer=ada.user, **process)
    links = seen(ada, order.pk)["links"]
    assert links.keys() - {"self", "events", "progress", "stream"} == names
    (entry,) = ada.get(ORDERS).json()["results"]
    assert entry["links"] == links
    assert (pay(ada, order.pk).status_code == 202) == ("payment" in names)


def test_the_link_changes_the_fields_that_it_is_shown_for() -> None:
    (link,) = FulfilOrder.client_links.values()
    assert set(link.fields) == set(PaymentIn().fields)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"payment_method": method}, "/payment_method")
        for method in ("", "card ok", "-card", "tök", "a/b", "$(x)", "x" * 65, "card\n", 7, None, ["card_ok"])
    ]
    + [({"card": "card_ok"}, "/card"), ([], ""), (["card_ok"], "")],
)
def test_a_malformed_payment_is_refused(ada: APIClient, body: Any, where: str) -> None:
    order = waiting_order(ada)
    assert mistakes(pay(ada, order.pk, body)) == [where]
    assert history(order) == []


# What an order waits for.


def test_what_an_order_waits_for_has_an_event_and_so_another_tag(ada: APIClient) -> None:
    order = waiting_order(ada)
    scheduler = a_scheduler(workflows=SHOP)
    url = f"{ORDERS}/{order.pk}"
    tags: dict[str, set[Any]] = {}

    def look() -> Any:
        response = ada.get(url)
        body = response.json()
        wait = body["waiting_for"], body["waiting_until"]
        tags.setdefault(response["ETag"], set()).add(wait)
        return wait[0]

    assert look() == "customer"
    pay(ada, order.pk)
    assert look() is None
    drain(scheduler)
    assert look() is None
    answer("declined", DECLINE, order=order)
    drain(scheduler)
    assert look() == "customer"
    all_due(order)
    drain(scheduler)
    assert look() is None
    assert all(len(waits) == 1 for waits in tags.values()), tags
    assert len(tags) >= 4


@pytest.mark.parametrize(
    ("steps", "process", "waiting_for", "situation"),
    [
        (WAITING, {}, "customer", "declined"),
        ({"reserve-stock": "running", "authorise-payment": declined()}, {}, "customer", "declined"),
        ({"reserve-stock": "failed"}, {"process_state": "error"}, "operator", "stopped"),
        ({**WAITING, "reserve-stock": "failed"}, {"process_state": "error"}, "operator", "stopped"),
        (WAITING, {"goal": "compensate"}, None, "cancelling"),
        (WAITING, {"goal": "compensate", "process_state": "error"}, "operator", "cancel_stuck"),
        ({"reserve-stock": {"state": "awaiting", "awaits": {"kind": "decision"}}}, {}, "operator", "waiting"),
        ({"reserve-stock": {"state": "awaiting", "awaits": {"kind": "event"}}}, {}, "outside", "waiting"),
        ({"reserve-stock": {"state": "not_started", "attempt": 1, "not_before": ahead}}, {}, "retry", "retrying"),
        ({"reserve-stock": {"state": "not_started", "waiting_since": ago}}, {}, "agent", "waiting"),
        ({"reserve-stock": "running"}, {"process_state": "processing"}, None, "working"),
        (done(*FULFIL.by_name), {"process_state": "processed"}, None, "complete"),
    ],
)  # fmt: skip
def test_the_api_and_the_customers_page_say_the_same(
    ada: APIClient,
    steps: dict[str, Any],
    process: dict[str, Any],
    waiting_for: str | None,
    situation: str,
) -> None:
    at = {
        name: {key: value(60) if callable(value) else value for key, value in fields.items()}
        if isinstance(fields, dict)
        else fields
        for name, fields in steps.items()
    }
    order = shop_order(at, customer=ada.user, **process)
    body = seen(ada, order.pk)
    assert body["waiting_for"] == waiting_for
    tracked = order_of_customer(order_id=order.pk, customer_id=ada.user.pk)
    assert tracked is not None
    assert situation_of(tracked.order, tracked.occurrences) == situation
    (entry,) = ada.get(ORDERS).json()["results"]
    assert (entry["waiting_for"], entry["waiting_until"]) == (waiting_for, body["waiting_until"])


# What the client is told.


@pytest.mark.pattern("Q3")
def test_the_queue_and_the_history_say_what_was_declined_and_until_when(ada: APIClient) -> None:
    order_id = UUID(place(ada, reply_to="shop.1")["id"])
    run_submission()
    scheduler = a_scheduler(workflows=SHOP)
    drain(scheduler)
    make_reply(step_of(order_id, "authorise-payment"), "declined", {**DECLINE, "secret": "internal"})
    drain(scheduler)
    until = seen(ada, order_id)["waiting_until"]
    *_, message = ada.get(QUEUE).json()["results"]
    assert (message["kind"], message["order_id"]) == ("payment_declined", str(order_id))
    decline = {"step": "authorise-payment", **DECLINE, "waiting_until": until}
    assert message["body"].items() >= decline.items()
    assert "secret" not in message["body"]
    events = ada.get(f"{ORDERS}/{order_id}/events").json()["results"]
    (event,) = (event for event in events if event["kind"] == "step_declined")
    assert (event["step"], event["waiting_until"]) == ("authorise-payment", until)
    assert event["error"] == {**DECLINE, "waits_for": "customer"}


@pytest.mark.pattern("Q3")
def test_an_order_that_nobody_pays_for_says_why_it_was_cancelled(ada: APIClient) -> None:
    order = waiting_order(ada, reply_to=f"user:{ada.user.pk}/shop.1")
    all_due(order)
    scheduler = a_scheduler(workflows=SHOP)
    while drain(scheduler) and answer(order=order):
        pass
    assert stored(order).process_state == "compensated"
    *_, message = ada.get(QUEUE).json()["results"]
    assert (message["kind"], message["body"]["reason"]) == ("compensated", "customer_did_not_resolve")
    events = ada.get(f"{ORDERS}/{order.pk}/events").json()["results"]
    (event,) = (event for event in events if event["kind"] == "compensation_requested")
    assert event["reason"] == "customer_did_not_resolve"


def test_the_history_gives_deadlines_only_of_what_the_order_waits_for(ada: APIClient) -> None:
    order = waiting_order(ada)
    note(order, "hurried", "reserve-stock", until="2030-01-01T00:00:00+00:00")
    note(order, "awaiting", "reserve-stock", until="2030-01-01T00:00:00+00:00")
    note(order, "step_deferred", "reserve-stock", until=None)
    events = ada.get(f"{ORDERS}/{order.pk}/events").json()["results"]
    assert [event.get("waiting_until") for event in events] == [None, "2030-01-01T00:00:00Z", None]


# Tokens of payments.


@pytest.mark.parametrize(
    "token",
    ["card_ok", "pm_1NxAbCdEfGhIjKlMnOpQrStU", "tok_visa", "fake-valid-nonce", "tokencc_bf_9x3kqy_8r",
     "M5N7TQ4TG5PFWR50", "8415698462516992", "cnon:card-nonce-ok", "B-5YJ25834A3", "src.wmlfc3zyhqze", "x" * 64],
)  # fmt: skip
def test_the_tokens_of_payment_gateways_are_accepted(ada: APIClient, token: str) -> None:
    place(ada, payment_method=token)
    run_submission()
    assert not SetAside.objects.exists()


@pytest.mark.parametrize(
    "token", ["card!", "<card>", "4111 1111", "'; --", "{}", "_card", "card_ok ", "kärtchen"]
)
def test_an_order_with_a_malformed_token_is_refused_when_it_is_placed(ada: APIClient, token: str) -> None:
    assert mistakes(ada.post(ORDERS, order_body(payment_method=token))) == ["/payment_method"]
