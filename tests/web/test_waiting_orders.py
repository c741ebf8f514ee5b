"""How people see orders that wait for a decision, an event, a time or a later answer: never in raw words."""

from typing import Any

import pytest
from django.core.management import call_command

from orders.models import Event, StepState
from tests.support.factories import ahead, make_alert
from tests.web.conftest import Desk
from tests.web.console_orders import BEFORE_SHIPMENT, an_order

pytestmark = pytest.mark.django_db

KINDS = {
    "decision": ("waiting for a decision", "is waiting for somebody’s decision"),
    "event": ("waiting for an answer", "is waiting for an outside event"),
    "delay": ("waiting for its time", "is waiting for a set time"),
    "answer": ("waiting for an answer", "is waiting for an answer that comes later"),
}


def waiting(kind: str) -> Any:
    time = (
        {"complete_by": None, "not_before": ahead(4_000)}
        if kind == "delay"
        else {"complete_by": ahead(4_000)}
    )
    shipment = {"state": "awaiting", "awaits": {"kind": kind}, **time}
    order = an_order({**BEFORE_SHIPMENT, "create-shipment": shipment}, not_before=ahead(7_000))
    Event.objects.create(
        order_id=order.pk,
        kind="awaiting",
        step="create-shipment",
        attempt=1,
        actor_kind="scheduler",
        actor_name="scheduler:1",
        detail={"kind": kind, "until": ahead(4_000).isoformat()},
    )
    return order


@pytest.mark.parametrize("kind", KINDS)
def test_the_console_says_what_an_order_waits_for(desk: Desk, kind: str) -> None:
    order = waiting(kind)
    standing, sentence = KINDS[kind]
    page = desk("admin").get(f"/console/orders/{order.pk}/").content.decode()
    assert standing in page and sentence in page
    assert "overdue" not in page and "at risk" not in page


@pytest.mark.parametrize("kind", KINDS)
def test_orders_are_found_by_what_they_wait_for(desk: Desk, kind: str) -> None:
    order = waiting(kind)
    standing, _ = KINDS[kind]
    page = desk("viewer").get("/console/orders/", {"kind": standing}).content.decode()
    assert str(order.pk) in page
    StepState.objects.filter(process_id=order.pk, state="awaiting").update(
        state="running", outcome="unknown", complete_by=ahead(30)
    )
    assert str(order.pk) not in desk("viewer").get("/console/orders/", {"kind": standing}).content.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_says_so_too(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    order = waiting(kind)
    call_command("order", str(order.pk))
    printed = capsys.readouterr().out
    assert KINDS[kind][0] in printed and "retry" not in printed


def test_skipping_a_wait_speaks_of_no_agent(desk: Desk) -> None:
    order = waiting("decision")
    StepState.objects.filter(process_id=order.pk, name="create-shipment").update(agent="")
    page = desk("admin").get(f"/console/orders/{order.pk}/steps/create-shipment/skip/").content.decode()
    words = " ".join(page.split())
    assert "create-shipment will not be waited for, and the order counts as complete" in words
    order_page = desk("admin").get(f"/console/orders/{order.pk}/").content.decode()
    assert '/agents/#"' not in order_page


def test_an_alert_about_a_wait_names_no_agent(capsys: pytest.CaptureFixture[str]) -> None:
    order = an_order({**BEFORE_SHIPMENT, "create-shipment": "failed"}, process_state="error")
    StepState.objects.filter(process_id=order.pk, name="create-shipment").update(agent="")
    make_alert(order.pk, step="create-shipment")
    call_command("order", str(order.pk))
    assert "(create-shipment)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path", ["/console/", "/console/workflow/", "/console/compensation/", "/console/orders/"]
)
def test_pages_about_many_orders_show_those_that_wait(desk: Desk, path: str) -> None:
    for kind in KINDS:
        waiting(kind)
    assert desk("admin").get(path).status_code == 200
