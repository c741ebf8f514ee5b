"""A second business beside the shop: console, search and API know its orders from their profile alone."""

import sys
from typing import Any
from uuid import UUID

import pytest
import yaml
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.business import Environment, Workflow, registry
from orders.models import (
    Order,
    OrderProcess,
    SetAside,
    StepState,
    SubmissionMessage,
    WorkflowDefinition,
)
from orders.services.audit import Actor
from orders.services.operators.erasure import erase
from tests.support.businesses import PACKAGE, Bakery
from tests.support.factories import ago
from tests.support.order_bodies import order_body
from tests.web.bakery_orders import ORDERS, a_cake, bakery, forget_document, take_in, the_role

__all__ = ["bakery"]
pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C4")]


def test_both_businesses_orders_take_their_own_workflow(ada: APIClient) -> None:
    cake, posters = a_cake(), ada.post(ORDERS, order_body()).json()["id"]
    take_in()
    assert dict(OrderProcess.objects.values_list("pk", "workflow")) == {
        cake: "bake",
        UUID(posters): "fulfil-order",
    }


def test_the_profile_is_stored_and_no_value_is_needed() -> None:
    order = Order.objects.get(pk=a_cake())
    assert (order.subject, order.title, order.attributes) == ("table 7", "walnut cake", ["icing=lemon"])
    assert (order.total, order.currency, order.email, order.customer) == (None, "", "", None)
    assert order.promised_by is not None and order.promised_by > order.placed_at


def test_it_is_ordered_over_rest(ada: APIClient) -> None:
    body = {"workflow": "bake", "cake": "walnut", "subject": "table 9", "priority": 2}
    answer = ada.post(ORDERS, body, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 202
    order = answer.json()
    assert {name: order[name] for name in ("workflow", "subject", "title", "total", "lines", "state")} == {
        "workflow": "bake",
        "subject": "table 9",
        "title": "walnut cake",
        "total": None,
        "lines": [],
        "state": "pending",
    }
    again = ada.post(ORDERS, body, headers={"Idempotency-Key": "k"})
    assert (again.json()["id"], again["Idempotent-Replayed"]) == (order["id"], "true")
    assert ada.post(ORDERS, {**body, "cake": "rye"}, headers={"Idempotency-Key": "k"}).status_code == 422
    take_in()
    stored = ada.get(f"{ORDERS}/{order['id']}").json()
    assert [step["name"] for step in stored["steps"]] == ["mix"]
    assert {name: stored[name] for name in ("workflow", "subject", "title", "total", "lines")} == {
        name: order[name] for name in ("workflow", "subject", "title", "total", "lines")
    }


def test_programs_get_what_its_customer_reads(ada: APIClient) -> None:
    order = ada.post(ORDERS, {"workflow": "bake", "cake": "walnut"}).json()
    url = order["links"]["progress"]
    placed = {"title": "We have your order", "state": "done", "at": order["placed_at"]}
    assert ada.get(url).json() == {
        "situation": "received",
        "status": "Received",
        "headline": "Thank you. We have your order.",
        "sentences": ["It’s safe with us, and we’ll start on it as soon as we can. You can close this page."],
        "stages": [placed, {"title": "Mix", "state": "later", "at": None}],
        "is_late": False,
        "may_cancel": True,
        "declined_until": None,
    }
    take_in()
    OrderProcess.objects.update(process_state="error")
    StepState.objects.update(state="failed", attempt=1, error={"code": "burnt", "message": "the oven"})
    stopped = ada.get(url).json()
    assert (stopped["situation"], stopped["may_cancel"]) == ("stopped", True)
    assert stopped["stages"] == [placed, {"title": "Mix", "state": "stop", "at": None}]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"workflow": "bake"}, "/cake"),
        ({"workflow": "bake", "cake": "a\nb"}, "/cake"),
        ({"workflow": "brew", "cake": "walnut"}, "/workflow"),
        ({"workflow": ["bake"], "cake": "walnut"}, "/workflow"),
        ({"workflow": "bake", "cake": "walnut", "placed_at": "2030-01-01T00:00:00Z"}, "/placed_at"),
        ({"workflow": "bake", "cake": "walnut", "priority": 10}, "/priority"),
        ({"workflow": "bake", "cake": "walnut", "subject": "x" * 121}, "/subject"),
    ],
)
def test_a_mistake_is_shown_at_its_place(ada: APIClient, body: dict[str, Any], pointer: str) -> None:
    answer = ada.post(ORDERS, body)
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def new_orders(client: APIClient) -> dict[str, dict[str, Any]]:
    """What the document of the API says of the bodies of new orders, by the workflow that each names."""
    forget_document()
    schemas = yaml.safe_load(client.get("/api/schema/").text)["components"]["schemas"]
    bodies = [schemas[body["$ref"].rpartition("/")[2]] for body in schemas["NewOrderRequest"]["oneOf"]]
    return {" or ".join(body["properties"]["workflow"]["enum"]): body for body in bodies}


def test_the_document_of_the_api_has_the_orders_of_both(ada: APIClient) -> None:
    bodies = new_orders(ada)
    assert list(bodies) == ["fulfil-order", "bake"]
    posters, cake = bodies["fulfil-order"], bodies["bake"]
    common = {"workflow", "subject", "priority", "reply_to", "reference", "metadata"}
    assert (
        posters["properties"].keys()
        == {"lines", "ship_to", "email", "payment_method", "language", "gift_note"} | common
    )
    assert cake["properties"].keys() == common
    assert (cake["required"], "workflow" in posters["required"]) == (["workflow"], False)
    assert posters["properties"]["workflow"]["default"] == "fulfil-order"


def test_an_order_that_names_no_workflow_is_of_the_one_that_a_setting_names(
    ada: APIClient, settings: Any
) -> None:
    settings.DEFAULT_WORKFLOW = "bake"
    assert "workflow" in new_orders(ada)["fulfil-order"]["required"]
    answer = ada.post(ORDERS, {"cake": "walnut"})
    assert (answer.status_code, answer.json()["workflow"]) == (202, "bake")
    take_in()
    assert OrderProcess.objects.get().workflow == "bake"


def test_the_document_does_not_name_what_is_closed_to_clients(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bakery, "is_open_to_clients", False)
    assert list(new_orders(ada)) == ["fulfil-order"]
    assert "bake" not in ada.get("/api/schema/").text


def test_a_kind_that_is_not_open_to_clients_is_none_to_them(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bakery, "is_open_to_clients", False)
    answer = ada.post(ORDERS, {"workflow": "bake", "cake": "walnut"})
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error == {
        "pointer": "/workflow",
        "detail": "There is no such workflow. This must be one of fulfil-order.",
    }
    assert a_cake()


def test_a_client_cannot_pass_for_a_business(ada: APIClient) -> None:
    body = {"workflow": "bake", "cake": "walnut", "subject": "lab.sample:7"}
    assert [error["pointer"] for error in ada.post(ORDERS, body).json()["errors"]] == ["/subject"]
    key = {"Idempotency-Key": "bake/seven"}
    ada.post(ORDERS, {**body, "subject": "mine"}, headers=key)
    assert a_cake(key="seven", customer_id=ada.user.pk)


def test_one_key_is_not_used_for_orders_of_two_kinds(ada: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    class Loaves(Bakery):
        name = "bake-bread"

        @classmethod
        def versions(cls, environment: Environment) -> list[Workflow]:
            return [Workflow(name="bake-bread", version=1, steps=(cls.step,))]

    monkeypatch.setattr(sys.modules[f"{PACKAGE}.workflows"], "Loaves", Loaves, raising=False)
    monkeypatch.setattr(
        sys.modules[f"{PACKAGE}.workflows"], "Cakes", type("Cakes", (Bakery,), {}), raising=False
    )
    registry.forget()
    key = {"Idempotency-Key": "k"}
    assert ada.post(ORDERS, {"workflow": "bake", "cake": "walnut"}, headers=key).status_code == 202
    assert ada.post(ORDERS, {"workflow": "bake-bread", "cake": "walnut"}, headers=key).status_code == 422


def test_a_kind_that_fails_holds_up_no_other_and_loses_nothing(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first such order is set aside. From the second on it is the release, and they wait in the queue."""

    def fail(data: Any, *, placed_at: Any) -> Any:
        raise KeyError("price")

    monkeypatch.setattr(Bakery, "profile", fail)
    cakes = [Bakery.start(f"table {number}", {"cake": "walnut"}) for number in range(5)]
    posters = UUID(ada.post(ORDERS, order_body()).json()["id"])
    role = the_role()
    for _ in range(3):
        role.run_once()
    assert [*OrderProcess.objects.values_list("pk", flat=True)] == [posters]
    assert [*SetAside.objects.values_list("order_id", flat=True)] == cakes[:1]
    assert [*SubmissionMessage.objects.order_by("id").values_list("order_id", flat=True)] == cakes[1:]
    (trouble,) = role.troubles()
    assert (trouble.subject, trouble.code) == ("bake", "kind_failing")
    assert "KeyError: 'price'" in trouble.message


def test_orders_of_a_workflow_of_a_later_release_wait_for_it(ada: APIClient) -> None:
    body = {"workflow": "brew", "placed_at": "2030-01-01T12:00:00Z"}
    beer = SubmissionMessage.objects.create(order_id=uuid7(), client="guest", body=body)
    SubmissionMessage.objects.update(posted_at=ago(61))
    cake = a_cake()
    role = the_role()
    role.run_once()
    assert [*OrderProcess.objects.values_list("pk", flat=True)] == [cake]
    assert SubmissionMessage.objects.get() == beer
    (trouble,) = role.troubles()
    assert (trouble.subject, trouble.code) == ("brew", "unknown_workflow")


def test_a_workflow_that_was_changed_in_place_stops_no_other(ada: APIClient) -> None:
    cake = a_cake()
    OrderProcess.objects.filter(pk=cake).update(fingerprint="another")
    WorkflowDefinition.objects.filter(name="bake").update(fingerprint="another", definition={})
    posters = UUID(ada.post(ORDERS, order_body()).json()["id"])
    waiting = Bakery.start("table 8", {"cake": "rye"})
    role = the_role()
    role.run_once()
    assert {*OrderProcess.objects.values_list("pk", flat=True)} == {cake, posters}
    assert SubmissionMessage.objects.get().order_id == waiting
    assert [trouble.code for trouble in role.troubles()] == ["workflow_changed"]


def test_what_names_a_person_is_erased_as_the_kind_says(ada: APIClient) -> None:
    order_id = a_cake(customer_id=ada.user.pk)
    Order.objects.filter(pk=order_id).update(
        email="grace@example.com", placed_at=ago(9), title="Grace Hopper cake"
    )
    OrderProcess.objects.filter(pk=order_id).update(process_state="processed", finished_at=ago(1))
    erase(email="grace@example.com", actor=Actor(name="olga"), reason="she asked")
    order = Order.objects.get(pk=order_id)
    assert (order.data, order.attributes) == ({}, [])
    assert "Grace" not in order.title
