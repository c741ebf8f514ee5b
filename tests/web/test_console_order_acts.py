"""The acts on the console's order pages: what each button really does."""

from typing import Any

import pytest
from uuid_utils.compat import uuid7

from orders.engine.channels import submissions
from orders.models import AuditEntry, BulkAction, Event, SetAside, SubmissionMessage
from orders.services.order_changes import resubmit_order
from tests.support.factories import ago, joint, make_item, step_of
from tests.support.order_bodies import DELFT
from tests.support.roles import history, stored
from tests.support.submissions import BODY, a_role
from tests.web.conftest import Desk
from tests.web.console_orders import BEFORE_SHIPMENT, HOSTILE, an_order, in_error, open_alert

pytestmark = pytest.mark.django_db


@pytest.mark.pattern("O2")
def test_a_step_is_skipped_only_when_its_name_was_typed(desk: Desk) -> None:
    steps = {**BEFORE_SHIPMENT, "create-shipment": "completed", "capture-payment": "completed"}
    order = an_order({**steps, "send-confirmation": "failed"}, process_state="error")
    client, address = desk("operator"), f"/console/orders/{order.pk}/steps/send-confirmation/skip/"
    assert "the order counts as complete without it" in " ".join(client.get(address).content.decode().split())
    for typed in ("", "capture-payment"):
        answer = client.post(address, {"reason": "she has no mail", "typed": typed})
        page = answer.content.decode()
        assert answer.status_code == 422 and 'role="alert"' in page and 'value="she has no mail"' in page
    assert step_of(order, "send-confirmation").state == "failed"
    client.post(address, {"reason": "she has no mail", "typed": " send-confirmation "})
    assert step_of(order, "send-confirmation").state == "skipped"
    allowed = AuditEntry.objects.filter(act="skip").order_by("id").values_list("allowed", flat=True)
    assert list(allowed) == [False, False, True]


def test_an_item_of_a_step_has_pages_of_its_own(desk: Desk) -> None:
    """Its name has a colon."""
    order = an_order({**BEFORE_SHIPMENT, "create-shipment": joint(1)}, process_state="error")
    make_item(order, "create-shipment", 1, state="failed", outcome="unknown")
    at, client = f"/console/orders/{order.pk}/", desk("admin")
    settle = f"{at}steps/create-shipment:1/settle/"
    assert settle in client.get(at).content.decode()
    client.post(settle, {"how": "done", "result.tracking": "t-1", "reason": "seen at the carrier"})
    assert step_of(order, "create-shipment:1").state == "completed"


@pytest.mark.parametrize("body", [BODY, {"lines": []}], ids=["on the queue", "set aside"])
def test_an_order_that_is_not_inserted_is_cancelled_on_its_page(desk: Desk, body: dict[str, Any]) -> None:
    order_id = uuid7()
    submissions.post(order_id=order_id, client="guest", body=body)
    if body is not BODY:
        a_role().run_once()
    at = f"/console/orders/{order_id}/"
    assert "Cancel the order" not in desk("viewer").get(at).content.decode()
    client = desk("operator")
    assert f'href="{at}compensate/"' in client.get(at).content.decode()
    assert "This cannot be taken back." in client.get(f"{at}compensate/").content.decode()
    assert client.post(f"{at}compensate/", {"reason": "by phone", "typed": "no"}).status_code == 422
    client.post(f"{at}compensate/", {"reason": "by phone", "typed": "cancel"})
    page = client.get(at).content.decode()
    assert "It is cancelled, and none of its steps will be started." in page
    assert f'href="{at}compensate/"' not in page
    assert "has already been cancelled" in client.get(f"{at}compensate/").content.decode()
    a_role().run_once()
    assert stored(order_id).process_state == "compensated"  # the catalogue has none of its products
    assert client.get(at).status_code == 200
    for query in ({"q": order_id.hex[-8:]}, {"state": "compensated"}):
        assert at in client.get("/console/orders/", query).content.decode()


def test_a_resubmission_waits_shows_that_and_can_be_undone(desk: Desk) -> None:
    order = in_error()
    client, other = desk("operator"), desk("operator")
    for clicks in (client, client, other):  # two clicks, two people
        clicks.post(f"/console/orders/{order.pk}/resubmit/")
    action = BulkAction.objects.get()
    assert stored(order).process_state == "error"
    page = other.get("/console/orders/").content.decode()
    assert "<span>will be resubmitted" in page and f"/console/bulk/{action.pk}/undo/" in page
    assert f"/console/orders/{order.pk}/resubmit/" not in page
    other.post(f"/console/bulk/{action.pk}/undo/")
    page = client.get("/console/orders/").content.decode()
    assert f"/console/orders/{order.pk}/resubmit/" in page and "<span>will be resubmitted" not in page
    assert stored(order).process_state == "error"


def test_a_click_on_resubmit_comes_too_late_once_the_order_goes_on(desk: Desk) -> None:
    order = in_error()
    client, at = desk("operator"), f"/console/orders/{order.pk}/resubmit/"
    too_long = client.post(at, {"reason": "r" * 201}, follow=True)
    assert "Shorten the reason to 200 characters." in too_long.content.decode()
    resubmit_order(order_id=order.pk, by="olga")
    late = client.post(at, follow=True)
    assert "nothing to resubmit" in late.content.decode()
    assert not BulkAction.objects.exists()


def test_an_edit_is_compared_confirmed_and_resubmitted_and_a_second_editor_is_refused(desk: Desk) -> None:
    order = in_error()
    at = f"/console/orders/{order.pk}/steps/create-shipment/edit/"
    client, other = desk("operator"), desk("operator")
    form = client.get(at).content.decode()
    assert 'value="Delft"' in form and "ship_to.country" in form and 'name="lines' not in form
    new = {f"ship_to.{part}": value for part, value in DELFT.items()} | {"ship_to.city": "Den Haag"}
    empty = client.post(at, new | {"ship_to.street": " "})
    assert empty.status_code == 422 and "ship_to.street" in empty.content.decode()
    compared, theirs = client.post(at, new), other.post(at, new | {"ship_to.city": "Gouda"})
    assert (
        "<del>Delft</del>" in compared.content.decode() and "<ins>Den Haag</ins>" in compared.content.decode()
    )
    assert step_of(order, "create-shipment").request["ship_to"]["city"] == "Delft"
    confirmed = {"confirm": "1", "reason": "she moved", "act_anyway": "1"}
    client.post(at, new | confirmed | {"seen": compared.context["seen"]})
    late = other.post(
        at, new | {"ship_to.city": "Gouda"} | confirmed | {"seen": theirs.context["seen"]}, follow=True
    )
    assert "Only a step that failed can be edited" in late.content.decode()
    step = step_of(order, "create-shipment")
    assert step.request["ship_to"]["city"] == "Den Haag" and step.original["ship_to"]["city"] == "Delft"
    assert (step.state, step.generation, stored(order).process_state) == ("not_started", 2, "pending")
    assert len(history(order, "edited")) == 1
    assert client.get(f"/console/orders/{order.pk}/steps/reserve-stock/edit/").status_code == 404


def test_a_step_of_unknown_outcome_is_settled_first(desk: Desk) -> None:
    order = in_error(outcome="unknown")
    admin = desk("admin")
    at = f"/console/orders/{order.pk}/steps/create-shipment"
    assert "Settle it by hand first" in admin.get(f"{at}/edit/").content.decode()
    assert admin.post(f"{at}/settle/", {"reason": "r"}).status_code == 422
    wrong = admin.post(f"{at}/settle/", {"how": "done", "result": '{"tracking": "t-1"}', "reason": "r"})
    assert wrong.status_code == 422 and wrong.context["form"].errors.keys() == {"result.tracking"}
    admin.post(f"{at}/settle/", {"how": "done", "result.tracking": "t-1", "reason": "seen at the carrier"})
    step = step_of(order, "create-shipment")
    assert (step.state, step.outcome, step.result) == ("completed", "done", {"tracking": "t-1"})
    assert stored(order).process_state == "pending"
    assert (
        "settled by hand as done: seen at the carrier"
        in admin.get(f"/console/orders/{order.pk}/").content.decode()
    )


@pytest.mark.pattern("F14", "O2")
@pytest.mark.parametrize(
    ("detail", "sentence", "proposed"),
    [
        ({"finding": "done", "result": {"tracking": "t-9"}}, "it was.", "done"),
        ({"finding": "not_done"}, "it was not.", "not done"),
        ({"finding": "unknown", "reason": "still packing"}, "it is unknown (still packing).", None),
    ],
)
def test_what_the_remote_service_says_is_proposed_where_a_step_is_settled(
    desk: Desk, detail: dict[str, Any], sentence: str, proposed: str | None
) -> None:
    order = in_error(outcome="unknown")
    for attempt, finding in ((1, detail), (9, {"finding": "done"})):  # the other is of another attempt
        Event.objects.create(
            order_id=order.pk,
            kind="inquired",
            step="create-shipment",
            attempt=attempt,
            actor_kind="agents",
            actor_name="agents:a",
            detail=finding,
        )
    page = desk("admin").get(f"/console/orders/{order.pk}/steps/create-shipment/settle/")
    text = " ".join(page.content.decode().split())
    assert f"asked whether this was done: {sentence}" in text
    assert page.context["form"]["how"].value() == proposed
    assert ("t-9" in text) is (proposed == "done")
    assert "is asked again first" in text
    history = desk("admin").get(f"/console/orders/{order.pk}/").content.decode()
    assert f"Asked whether step create-shipment was done: {sentence[:-1]}" in history


def test_compensating_an_order_that_was_paid_needs_the_amount_typed(desk: Desk) -> None:
    paid = an_order({**BEFORE_SHIPMENT, "capture-payment": "completed"}, process_state="pending")
    client = desk("operator")
    at = f"/console/orders/{paid.pk}/compensate/"
    page = client.get(at).content.decode()
    assert "Type 39.00 to confirm" in page and "€39.00" in page
    for typed in ("", "cancel", "39.01"):
        client.post(at, {"reason": "r", "typed": typed})
        assert stored(paid).goal == "complete"
    client.post(at, {"reason": "she asked", "typed": "39.00"})
    assert stored(paid).goal == "compensate"
    assert "already been cancelled" in client.get(at).content.decode()


def test_the_desk_shows_failed_compensations_and_settles_them_with_proof(desk: Desk) -> None:
    order = an_order(
        {
            **BEFORE_SHIPMENT,
            "reserve-stock": {"state": "failed", "outcome": "done", "compensation_failure_count": 6},
        },
        process_state="error",
        goal="compensate",
    )
    going = an_order({"reserve-stock": "compensating"}, process_state="processing", goal="compensate")
    open_alert(order.pk, kind="compensation_failed")
    admin = desk("admin")
    page = admin.get("/console/compensation/").content.decode()
    at = f"/console/orders/{order.pk}/steps/reserve-stock/settle/"
    assert at in page and str(going.pk) in page
    assert at not in desk("viewer").get("/console/compensation/").content.decode()
    assert (
        at in desk("operator").get("/console/compensation/").content.decode()
    )  # who asks for approval there
    admin.post(at, {"how": "compensated", "reason": ""})
    assert stored(order).process_state == "error"
    admin.post(at, {"how": "compensated", "reason": "mail of the warehouse, 12 March"})
    assert step_of(order, "reserve-stock").state == "compensated"
    assert stored(order).process_state == "pending"
    assert "No cancellation has failed." in admin.get("/console/compensation/").content.decode()


def test_a_submission_that_was_set_aside_is_shown_with_its_reason_and_replayed_once(desk: Desk) -> None:
    set_aside = SetAside.objects.create(
        order_id=uuid7(), client="guest", body={"x": HOSTILE}, reason=HOSTILE, posted_at=ago(60)
    )
    client = desk("operator")
    page = client.get("/console/set-aside/").content.decode()
    assert HOSTILE not in page and "&lt;script&gt;" in page
    for _ in range(2):
        client.post(f"/console/set-aside/{set_aside.pk}/replay/")
    assert SubmissionMessage.objects.get().order_id == set_aside.order_id
    assert "No submission is set aside." in client.get("/console/set-aside/").content.decode()
    assert AuditEntry.objects.filter(act="replay").count() == 2
