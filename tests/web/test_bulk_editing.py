"""An edit of many orders in the console and in the REST API: what it would do, and the action."""

import re
from typing import Any

import pytest

from orders.models import BulkAction, OrderProcess
from orders.vocabulary import TokenScope
from tests.services.edited_orders import DECLINED, GOUDA, a_placed_order
from tests.services.operated_orders import BEFORE_SHIPMENT, UNKNOWN
from tests.support.people import api_client, person, token_of
from tests.web.bulk_actions import ACTIONS
from tests.web.conftest import Desk
from tests.web.helpers import assert_problem

pytestmark = pytest.mark.django_db
TYPED = {f"ship_to.{name}": value for name, value in GOUDA.items()}
SETTINGS = {"waves": "1, 0", "rate": "20", "stop_percent": "20", "reason": "it is Gouda"}


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def failed_orders() -> list[OrderProcess]:
    """One that can be edited, and one whose shipment may have been made."""
    return [
        a_placed_order({**BEFORE_SHIPMENT, "create-shipment": step}, process_state="error")
        for step in (DECLINED, UNKNOWN)
    ]


def test_an_operator_edits_the_orders_of_a_filter(desk: Desk) -> None:
    orders, client = failed_orders(), desk("operator")
    answer = client.get("/console/bulk/new/", {"state": "error", "do": "edit"}, follow=True)
    assert answer.redirect_chain == [("/console/bulk/edit/?state=error&do=edit", 302)]
    assert "Edit 2 orders" in words(answer.content.decode())
    selection = {"state": "error", "do": "edit"}

    empty = client.post("/console/bulk/edit/", selection)
    assert empty.status_code == 422 and "Enter what is to change." in empty.content.decode()
    part = client.post("/console/bulk/edit/", {**selection, "ship_to.city": "Gouda"})
    needed = "Address: enter all of its fields, or none."
    missing = ["ship_to.name", "ship_to.street", "ship_to.country"]
    assert part.status_code == 422
    assert part.context["form"].errors == {name: [needed] for name in missing}
    assert "ship_to" not in words(part.content.decode())
    token = client.post("/console/bulk/edit/", {**selection, "payment_method": "gold card"})
    (mistake,) = token.context["form"].errors["payment_method"]
    assert mistake.startswith("Payment method (the gateway’s token) must be a token of the payment gateway")

    review = words(client.post("/console/bulk/edit/", {**selection, **TYPED}).content.decode())
    assert "It applies to 1 of 2 orders." in review
    assert "It does not apply to 1: It is unknown whether create-shipment was done." in review
    assert "create-shipment will use the new value in 1 order." in review
    assert "Markt 1, 2801 AB Gouda" in review and str(orders[0].pk)[-8:] in review
    assert not BulkAction.objects.exists()

    started = client.post("/console/bulk/edit/create/", {**selection, **TYPED, **SETTINGS, "seen": "2"})
    action = BulkAction.objects.get()
    assert (started.status_code, started["Location"]) == (302, f"/console/bulk/{action.pk}/")
    assert (action.kind, action.total, action.query["changes"]) == ("edit", 2, {"ship_to": GOUDA})
    assert "Edit 2 orders" in words(client.get(started["Location"]).content.decode())
    assert "Edit #" in client.get("/console/bulk/").content.decode()


def test_the_page_of_another_kind_takes_no_edit(desk: Desk) -> None:
    failed_orders()
    values = {"state": "error", "do": "edit", **SETTINGS}
    assert desk("operator").post("/console/bulk/create/", values).status_code == 404
    assert not BulkAction.objects.exists()


@pytest.fixture
def edit() -> dict[str, Any]:
    return {"kind": "edit", "filter": {"state": "error"}, "changes": {"ship_to": GOUDA}}


def test_a_program_previews_and_starts_the_same(edit: dict[str, Any]) -> None:
    program = api_client(token_of(person("operator"), TokenScope.OPERATE, TokenScope.COMPENSATE))
    orders = failed_orders()
    seen = program.post(f"{ACTIONS}/preview", edit).json()["edit"]
    assert (seen["examined"], seen["applies"]) == (2, 1)
    assert [reason["orders"] for reason in seen["reasons"]] == [1]
    assert seen["steps"] == [
        {"step": "create-shipment", "orders": 1},
        {"step": "send-confirmation", "orders": 1},
    ]
    (order,) = seen["orders"]
    assert (order["id"], order["changes"][0]["name"]) == (str(orders[0].pk), "Address")
    assert program.post(ACTIONS, edit).json()["kind"] == "edit"
    assert BulkAction.objects.get().query["changes"] == {"ship_to": GOUDA}


def test_wrong_changes_are_pointed_at(edit: dict[str, Any]) -> None:
    program = api_client(token_of(person("operator"), TokenScope.OPERATE, TokenScope.COMPENSATE))
    failed_orders()
    for wrong in (
        {**edit, "changes": {}},
        {**edit, "kind": "resubmit"},
        {**edit, "changes": {"email": "nobody"}},
    ):
        assert_problem(program.post(f"{ACTIONS}/preview", wrong), "validation_failed")
