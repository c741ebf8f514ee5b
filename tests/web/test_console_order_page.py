"""The console's page of an order: what it shows, and who is offered which act."""

from collections.abc import Iterator

import pytest
from django.test import Client

from orders.models import AuditEntry, Event, OrderProcess, StepState
from orders.services.operators import bulk as bulk_services
from tests.support.roles import history, stored
from tests.web.conftest import Desk
from tests.web.console_orders import HOSTILE, an_order, in_error

pytestmark = pytest.mark.django_db


def test_a_remote_services_message_is_escaped_and_shortened(desk: Desk) -> None:
    order = in_error(error={"code": HOSTILE, "message": HOSTILE * 300})
    StepState.objects.filter(process_id=order.pk, name="reserve-stock").update(result={"said": HOSTILE * 900})
    for kind, detail in (
        ("step_started", {"key": "k", "agent": "carrier"}),
        ("call_failed", {"code": HOSTILE, "message": HOSTILE * 300, "try": 1}),
        ("step_refused", {"error": {"code": HOSTILE, "message": HOSTILE}}),
        ("a_kind_of_tomorrow", {"what": HOSTILE}),
    ):
        Event.objects.create(
            order_id=order.pk,
            kind=kind,
            step="create-shipment",
            attempt=1,
            actor_kind="operator",
            actor_name=HOSTILE,
            detail=detail,
        )
    answer = desk("admin").get(f"/console/orders/{order.pk}/")
    page = answer.content.decode()
    assert HOSTILE not in page and "&lt;script&gt;" in page
    assert len(page) < 120_000
    assert "A kind of tomorrow" in page and "more characters" in page
    assert f"{order.pk}/create-shipment/1" in page


def test_only_the_newest_events_are_shown_until_all_are_requested(desk: Desk) -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing")
    Event.objects.bulk_create(
        Event(order_id=order.pk, kind="claimed", actor_kind="scheduler", actor_name=f"scheduler:{n}")
        for n in range(230)
    )
    client = desk("viewer")
    page = client.get(f"/console/orders/{order.pk}/").content.decode()
    assert "scheduler:229" in page and "scheduler:29<" not in page and "Show the 30 earlier events" in page
    assert "scheduler:29<" in client.get(f"/console/orders/{order.pk}/?events=all").content.decode()


def test_a_row_that_no_step_declares_is_shown_like_any_other(desk: Desk) -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing")
    row = StepState.objects.get(process_id=order.pk, name="reserve-stock")
    row.pk, row.name, row.position, row.state, row.complete_by = None, "reserve-stock:1", 9, "failed", None
    row.save(force_insert=True)
    client = desk("operator")
    page = client.get(f"/console/orders/{order.pk}/").content.decode()
    skip = f"/console/orders/{order.pk}/steps/reserve-stock:1/skip/"
    assert skip in page
    assert client.get(skip).status_code == 200


def acts(order: OrderProcess) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Every act: who may do it, its url, and its form."""
    at = f"/console/orders/{order.pk}/"
    yield "operator", f"{at}resubmit/", {}
    yield "operator", f"{at}retry/", {}
    yield "operator", f"{at}priority/", {"priority": "9"}
    yield "operator", f"{at}compensate/", {"reason": "r", "typed": "cancel"}
    yield "operator", f"{at}steps/create-shipment/skip/", {"reason": "r", "typed": "create-shipment"}
    yield "operator", f"{at}steps/create-shipment/edit/", {}
    yield "admin", f"{at}steps/create-shipment/settle/", {"how": "not done", "reason": "r"}
    yield "admin", f"{at}erase/", {"reason": "r", "typed": "erase"}
    yield "operator", "/console/set-aside/1/replay/", {}


@pytest.mark.parametrize("role", ["customer", "viewer", "operator"])
def test_a_viewer_is_not_offered_any_act_and_cannot_perform_one(desk: Desk, role: str) -> None:
    order = in_error(outcome="unknown")
    client = desk(role)
    before = (stored(order).process_state, history(order))
    refused = []
    for needed, address, form in acts(order):
        if role == "operator" and needed == "operator":
            continue
        assert client.post(address, form).status_code == 403, address
        refused.append(address)
    assert (stored(order).process_state, history(order)) == before
    assert AuditEntry.objects.filter(allowed=False).count() == len(refused)
    answer = client.get(f"/console/orders/{order.pk}/")
    if role == "customer":
        assert answer.status_code == 403
        return
    page = answer.content.decode()
    forms = {
        f"/console/orders/{order.pk}/steps/create-shipment/settle/",
        f"/console/orders/{order.pk}/erase/",
    }
    forms_to_ask = forms if role == "operator" else set()  # these forms ask for approval there
    assert not [address for address in refused if f'"{address}"' in page and address not in forms_to_ask]
    assert (f"/console/orders/{order.pk}/resubmit/" in page) is (role == "operator")
    assert client.get(f"/console/orders/{order.pk}/resubmit/").status_code == (
        302 if role == "operator" else 403
    )


def test_an_act_without_a_csrf_token_changes_nothing(desk: Desk) -> None:
    order = in_error()
    signed_in = desk("admin")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    for _, address, form in acts(order):
        assert strict.post(address, form).status_code == 403, address
    assert stored(order).process_state == "error"


def test_the_order_page_shows_the_action_under_way(desk: Desk) -> None:
    order = in_error()
    action = bulk_services.resubmit_one(
        order_id=order.pk, actor=bulk_services.audit.Actor(name="olga"), reason=""
    )
    page = desk("operator").get(f"/console/orders/{order.pk}/").content.decode()
    assert f"/console/bulk/{action.pk}/undo/" in page
