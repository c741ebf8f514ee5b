"""The console's pages about orders: what they show, to whom, and what each button really does."""

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from uuid_utils.compat import uuid7

from orders.console.forms.filters import OrderFilterForm
from orders.models import (
    Alert,
    AlertGroup,
    AuditEntry,
    BulkAction,
    Event,
    Order,
    OrderProcess,
    SetAside,
    StepState,
    SubmissionMessage,
)
from orders.selectors.desk import search
from orders.selectors.desk.supervisor import retry_limits
from orders.services.operators import bulk as bulk_services
from orders.workflow.editing import WORKFLOWS
from tests.support.factories import ago, ahead, make_order, make_request, step_of
from tests.support.roles import happened, stored

((_, FULFIL),) = WORKFLOWS.items()
ROLES = {
    "viewer": ["view_console"],
    "operator": ["view_console", "operate"],
    "admin": ["view_console", "operate", "administer"],
    "customer": [],
}
ADDRESS = {"name": "Ada", "street": "Lane 1", "city": "Delft", "postal_code": "2611", "country": "NL"}
REFUSED = {
    "state": "failed",
    "attempt": 1,
    "outcome": "refused",
    "error": {"code": "no_route", "message": "we do not go there"},
    "request": {"lines": [], "ship_to": ADDRESS},
}
BEFORE_SHIPMENT = {"reserve-stock": "completed", "authorise-payment": "completed"}
HOSTILE = "<script>alert(1)</script>"

Desk = Callable[[str], Client]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("unhurried")]


@pytest.fixture
def desk(db: None) -> Desk:
    """A signed-in browser of somebody with this role."""

    def sign_in(role: str) -> Client:
        user = User.objects.create(username=f"{role}-{User.objects.count()}")
        user.user_permissions.set(Permission.objects.filter(codename__in=ROLES[role]))
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return sign_in


def an_order(steps: dict[str, Any], *, email: str = "ada@example.com", **process: Any) -> OrderProcess:
    """An order of the shop's own workflow, with its row in the orders database."""
    made = make_order(steps, workflow=FULFIL, **process)
    Order.objects.create(
        id=made.pk,
        email=email,
        currency="EUR",
        total=3900,
        ship_to=ADDRESS,
        payment_method="card_ok",
        placed_at=made.created_at or ago(0),
    )
    return made


def in_error(**step: Any) -> OrderProcess:
    """An order whose shipment failed, with its alert."""
    order = an_order({**BEFORE_SHIPMENT, "create-shipment": {**REFUSED, **step}}, process_state="error")
    open_alert(order.pk)
    return order


def open_alert(order_id: UUID, code: str = "no_route", kind: str = "step_failed") -> Alert:
    group, _ = AlertGroup.objects.get_or_create(kind=kind, agent="carrier", code=code, pattern="p")
    return Alert.objects.create(
        group=group,
        order_id=order_id,
        kind=kind,
        agent="carrier",
        code=code,
        message=HOSTILE,
        step="create-shipment",
    )


# --- the list


def found(**asked: str) -> set[UUID]:
    at = ahead(0)
    return {
        one.order_id
        for one in search.page(
            OrderFilterForm(asked).filter, after=None, limit=50, tries=retry_limits(), now=at
        ).orders
    }


def test_each_filter_finds_exactly_its_orders() -> None:
    failed = in_error()
    undoing = an_order(
        {"reserve-stock": {"state": "failed", "outcome": "done", "undo_failure_count": 6}},
        process_state="error",
        goal="compensate",
    )
    running = an_order({"reserve-stock": "running"}, process_state="processing", email="Bob@Example.com")
    waiting = an_order({"authorise-payment": {"waiting_since": ago(30)}}, process_state="pending", priority=8)
    retrying = an_order(
        {
            "reserve-stock": {
                "state": "not_started",
                "attempt": 1,
                "outcome": "unknown",
                "failure_count": 1,
                "not_before": ahead(300),
            }
        },
        process_state="pending",
        not_before=ahead(300),
    )
    declined = an_order(
        {"authorise-payment": {"state": "failed", "not_before": ahead(900)}},
        process_state="pending",
        not_before=ahead(900),
    )
    asked = an_order({"reserve-stock": "running"}, process_state="processing")
    make_request(step_of(asked, "reserve-stock"))
    done = an_order(
        {}, process_state="processed", finished_at=ago(1), order_id=UUID(int=uuid7().int - (3 << 102))
    )
    OrderProcess.objects.filter(pk=done.pk).update(created_at=ago(7200))
    wanted: list[tuple[dict[str, str], set[OrderProcess]]] = [
        ({}, {failed, undoing, running, waiting, retrying, declined, asked, done}),
        ({"state": "error"}, {failed, undoing}),
        ({"state": "processed"}, {done}),
        ({"kind": "error"}, {failed}),
        ({"kind": "compensation failed"}, {undoing}),
        ({"kind": "running"}, {running}),
        ({"kind": "waiting for agent"}, {waiting, asked}),
        ({"kind": "retrying"}, {retrying}),
        ({"kind": "waiting for customer"}, {declined}),
        ({"kind": "processed"}, {done}),
        ({"step": "create-shipment"}, {failed}),
        ({"agent": "payments"}, {waiting, declined}),
        ({"waiting": "payments"}, {waiting}),
        ({"waiting": "1"}, {waiting, retrying, declined, asked}),
        ({"code": "no_route"}, {failed}),
        ({"priority": "8"}, {waiting}),
        ({"older": "1h"}, {done}),
        ({"older": "3h"}, set()),
        ({"q": "bob@example.COM"}, {running}),
        ({"q": str(running.pk)}, {running}),
        ({"q": str(running.pk)[-9:]}, {running}),
        ({"q": str(done.pk)[:13]}, {done}),
        ({"state": "error", "kind": "running"}, set()),
        ({"state": "nonsense"}, set()),
        ({"older": "soon"}, set()),
        ({"priority": "ten"}, set()),
        ({"q": "'; drop table"}, set()),
        ({"unknown": "x", "state": "error"}, {failed, undoing}),
    ]
    for asked_for, orders in wanted:
        assert found(**asked_for) == {order.pk for order in orders}, asked_for
        chosen = OrderFilterForm(asked_for).filter
        ids = set(search.matching(chosen, most=100, tries=retry_limits(), now=ahead(0)))
        assert ids == {order.pk for order in orders}, asked_for
        counted = search.count(chosen, now=ahead(0))
        assert counted in (None, len(orders)), asked_for


def test_pages_follow_one_another_without_gap_or_overlap() -> None:
    made = [an_order({"reserve-stock": "running"}, process_state="processing").pk for _ in range(7)]
    for asked in ({}, {"kind": "running"}, {"agent": "warehouse"}):
        seen: list[UUID] = []
        after = None
        while True:
            page = search.page(
                OrderFilterForm(asked).filter, after=after, limit=3, tries=retry_limits(), now=ahead(0)
            )
            seen += [one.order_id for one in page.orders]
            if (after := page.after) is None:
                break
        assert seen == sorted(made, reverse=True), asked


def test_the_list_has_a_fixed_number_of_queries_and_its_empty_states(
    desk: Desk, django_assert_max_num_queries: Any
) -> None:
    client = desk("operator")
    assert "No orders yet." in client.get("/console/orders/").content.decode()
    for _ in range(12):
        in_error()
    none = client.get("/console/orders/?state=pending").content.decode()
    assert "No order matches." in none
    assert "a complete email, or an order ID or at least 4 digits" in none
    refused = client.get("/console/orders/?older=soon").content.decode()
    assert "Enter an age as a number" in refused and "No order matches." in refused
    with django_assert_max_num_queries(22):
        answer = client.get("/console/orders/?state=error")
    page = answer.content.decode()
    assert page.count("<tr data-row") == 12 and "12 orders" in page
    assert "/console/bulk/new/?state=error" in page


def test_a_whole_id_of_a_submission_leads_to_its_page(desk: Desk) -> None:
    order_id = uuid7()
    SubmissionMessage.objects.create(order_id=order_id, client="guest", body={})
    answer = desk("viewer").get(f"/console/orders/?q={order_id}", follow=True)
    assert answer.redirect_chain == [(f"/console/orders/{order_id}/", 302)]
    assert "On the submission queue" in answer.content.decode()
    assert desk("viewer").get(f"/console/orders/{uuid7()}/").status_code == 404


def test_a_file_of_orders_runs_no_formula_and_is_in_the_audit_log(desk: Desk) -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing", email="=cmd|' /C calc'!A0")
    open_alert(order.pk, code="@SUM(1)")
    an_order({}, process_state="processed", finished_at=ago(1))
    answer = desk("viewer").get("/console/orders.csv?state=processing")
    assert answer.headers["Content-Type"].startswith("text/csv")
    text = b"".join(answer.streaming_content).decode().removeprefix("\ufeff")
    (head, row) = csv.reader(io.StringIO(text))
    assert dict(zip(head, row, strict=True)) | {"age_seconds": ""} == {
        "order": str(order.pk),
        "state": "processing",
        "standing": "running",
        "goal": "complete",
        "step": "reserve-stock",
        "failures": "0",
        "priority": "5",
        "age_seconds": "",
        "total": "39.00",
        "currency": "EUR",
        "email": "'=cmd|' /C calc'!A0",
        "alert_code": "'@SUM(1)",
    }
    entry = AuditEntry.objects.get(act="export")
    assert entry.said == "exported orders in state processing"


# --- one order


def test_what_a_remote_service_said_is_shown_harmless_and_cut_short(desk: Desk) -> None:
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


def test_only_the_newest_events_are_shown_until_all_are_asked_for(desk: Desk) -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing")
    Event.objects.bulk_create(
        Event(order_id=order.pk, kind="claimed", actor_kind="scheduler", actor_name=f"scheduler:{n}")
        for n in range(230)
    )
    client = desk("viewer")
    page = client.get(f"/console/orders/{order.pk}/").content.decode()
    assert "scheduler:229" in page and "scheduler:29<" not in page and "Show the 30 earlier events" in page
    assert "scheduler:29<" in client.get(f"/console/orders/{order.pk}/?events=all").content.decode()


@pytest.mark.pattern("O2")
def test_a_step_is_skipped_only_when_its_name_was_typed(desk: Desk) -> None:
    steps = {**BEFORE_SHIPMENT, "create-shipment": "completed", "capture-payment": "completed"}
    order = an_order({**steps, "send-confirmation": "failed"}, process_state="error")
    client, address = desk("operator"), f"/console/orders/{order.pk}/steps/send-confirmation/skip/"
    assert "the order counts as complete without it" in client.get(address).content.decode()
    for typed in ("", "capture-payment"):
        answer = client.post(address, {"reason": "she has no mail", "typed": typed})
        page = answer.content.decode()
        assert answer.status_code == 422 and 'role="alert"' in page and 'value="she has no mail"' in page
    assert step_of(order, "send-confirmation").state == "failed"
    client.post(address, {"reason": "she has no mail", "typed": " send-confirmation "})
    assert step_of(order, "send-confirmation").state == "skipped"
    kept = AuditEntry.objects.filter(act="skip").order_by("id").values_list("allowed", flat=True)
    assert list(kept) == [False, False, True]


def acts(order: OrderProcess) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Every act: who may do it, where, and with what."""
    at = f"/console/orders/{order.pk}/"
    yield "operator", f"{at}resubmit/", {}
    yield "operator", f"{at}retry/", {}
    yield "operator", f"{at}priority/", {"priority": "9"}
    yield "operator", f"{at}compensate/", {"reason": "r", "typed": "cancel"}
    yield "operator", f"{at}steps/create-shipment/skip/", {"reason": "r", "typed": "create-shipment"}
    yield "operator", f"{at}steps/create-shipment/edit/", {}
    yield "admin", f"{at}steps/create-shipment/settle/", {"how": "not done", "reason": "r"}
    yield "operator", "/console/set-aside/1/replay/", {}


@pytest.mark.parametrize("role", ["customer", "viewer", "operator"])
def test_who_may_not_act_cannot_and_is_not_offered_it(desk: Desk, role: str) -> None:
    order = in_error(outcome="unknown")
    client = desk(role)
    before = (stored(order).process_state, happened(order))
    refused = []
    for needed, address, form in acts(order):
        if role == "operator" and needed == "operator":
            continue
        assert client.post(address, form).status_code == 403, address
        refused.append(address)
    assert (stored(order).process_state, happened(order)) == before
    assert AuditEntry.objects.filter(allowed=False).count() == len(refused)
    answer = client.get(f"/console/orders/{order.pk}/")
    if role == "customer":
        assert answer.status_code == 403
        return
    page = answer.content.decode()
    assert not [address for address in refused if f'"{address}"' in page]
    assert (f"/console/orders/{order.pk}/resubmit/" in page) is (role == "operator")
    assert client.get(f"/console/orders/{order.pk}/resubmit/").status_code in (403, 405)


def test_an_act_without_a_token_of_ours_is_forged_and_changes_nothing(desk: Desk) -> None:
    order = in_error()
    signed_in = desk("admin")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    for _, address, form in acts(order):
        assert strict.post(address, form).status_code == 403, address
    assert stored(order).process_state == "error"


def test_a_resubmission_waits_shows_that_and_can_be_undone(desk: Desk) -> None:
    order = in_error()
    client, other = desk("operator"), desk("operator")
    for clicks in (client, client, other):  # two clicks, two people
        clicks.post(f"/console/orders/{order.pk}/resubmit/")
    action = BulkAction.objects.get()
    assert stored(order).process_state == "error"
    page = other.get("/console/orders/").content.decode()
    assert "resubmits" in page and f"/console/bulk/{action.pk}/undo/" in page
    assert f"/console/orders/{order.pk}/resubmit/" not in page
    other.post(f"/console/bulk/{action.pk}/undo/")
    page = client.get("/console/orders/").content.decode()
    assert f"/console/orders/{order.pk}/resubmit/" in page and "resubmits" not in page
    assert stored(order).process_state == "error"


def test_at_once_is_at_once_and_a_second_time_says_so(desk: Desk) -> None:
    order = in_error()
    client = desk("operator")
    first = client.post(
        f"/console/orders/{order.pk}/resubmit/", {"now": "1", "reason": "mended"}, follow=True
    )
    again = client.post(f"/console/orders/{order.pk}/resubmit/", {"now": "1"}, follow=True)
    assert "Resubmitted create-shipment." in first.content.decode()
    assert "nothing was resubmitted" in again.content.decode()
    assert happened(order, "resubmitted") == [("resubmitted", "create-shipment")]
    late = client.post(f"/console/orders/{order.pk}/resubmit/", follow=True)
    assert "nothing to resubmit" in late.content.decode()
    assert not BulkAction.objects.exists()


def test_an_edit_is_compared_confirmed_and_resubmitted_and_refused_to_who_comes_second(desk: Desk) -> None:
    order = in_error()
    at = f"/console/orders/{order.pk}/steps/create-shipment/edit/"
    client, other = desk("operator"), desk("operator")
    form = client.get(at).content.decode()
    assert 'value="Delft"' in form and "ship_to.country" in form and 'name="lines' not in form
    new = {f"ship_to.{part}": value for part, value in ADDRESS.items()} | {"ship_to.city": "Den Haag"}
    empty = client.post(at, new | {"ship_to.street": " "})
    assert empty.status_code == 422 and "ship_to.street" in empty.content.decode()
    compared, theirs = client.post(at, new), other.post(at, new | {"ship_to.city": "Gouda"})
    assert (
        "<del>Delft</del>" in compared.content.decode() and "<ins>Den Haag</ins>" in compared.content.decode()
    )
    assert step_of(order, "create-shipment").request["ship_to"]["city"] == "Delft"
    confirmed = {"confirm": "1", "reason": "she moved"}
    client.post(at, new | confirmed | {"seen": compared.context["seen"]})
    late = other.post(
        at, new | {"ship_to.city": "Gouda"} | confirmed | {"seen": theirs.context["seen"]}, follow=True
    )
    assert "Only a step that failed can be edited" in late.content.decode()
    step = step_of(order, "create-shipment")
    assert step.request["ship_to"]["city"] == "Den Haag" and step.original["ship_to"]["city"] == "Delft"
    assert (step.state, step.generation, stored(order).process_state) == ("not_started", 2, "pending")
    assert len(happened(order, "edited")) == 1
    assert client.get(f"/console/orders/{order.pk}/steps/reserve-stock/edit/").status_code == 404


def test_a_step_nobody_knows_the_outcome_of_is_settled_first(desk: Desk) -> None:
    order = in_error(outcome="unknown")
    admin = desk("admin")
    at = f"/console/orders/{order.pk}/steps/create-shipment"
    assert "Settle it by hand first" in admin.get(f"{at}/edit/").content.decode()
    assert admin.post(f"{at}/settle/", {"reason": "r"}).status_code == 422
    wrong = admin.post(f"{at}/settle/", {"how": "done", "result": "[1]", "reason": "r"})
    assert wrong.status_code == 422 and "JSON object" in wrong.content.decode()
    admin.post(
        f"{at}/settle/", {"how": "done", "result": '{"shipment": "s-1"}', "reason": "seen at the carrier"}
    )
    step = step_of(order, "create-shipment")
    assert (step.state, step.outcome, step.result) == ("completed", "done", {"shipment": "s-1"})
    assert stored(order).process_state == "pending"
    assert (
        "settled by hand as done: seen at the carrier"
        in admin.get(f"/console/orders/{order.pk}/").content.decode()
    )


def test_undoing_an_order_that_was_paid_needs_the_amount_typed(desk: Desk) -> None:
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


def test_the_desk_shows_what_could_not_be_undone_and_settles_it_with_proof(desk: Desk) -> None:
    order = an_order(
        {**BEFORE_SHIPMENT, "reserve-stock": {"state": "failed", "outcome": "done", "undo_failure_count": 6}},
        process_state="error",
        goal="compensate",
    )
    going = an_order({"reserve-stock": "compensating"}, process_state="processing", goal="compensate")
    open_alert(order.pk, kind="compensation_failed")
    admin = desk("admin")
    page = admin.get("/console/compensation/").content.decode()
    at = f"/console/orders/{order.pk}/steps/reserve-stock/settle/"
    assert at in page and str(going.pk) in page
    assert at not in desk("operator").get("/console/compensation/").content.decode()
    admin.post(at, {"how": "undone", "reason": ""})
    assert stored(order).process_state == "error"
    admin.post(at, {"how": "undone", "reason": "mail of the warehouse, 12 March"})
    assert step_of(order, "reserve-stock").state == "compensated"
    assert stored(order).process_state == "pending"
    assert "No compensation has failed." in admin.get("/console/compensation/").content.decode()


def test_a_submission_that_was_set_aside_is_shown_with_its_reason_and_replayed_once(desk: Desk) -> None:
    kept = SetAside.objects.create(
        order_id=uuid7(), client="guest", body={"x": HOSTILE}, reason=HOSTILE, posted_at=ago(60)
    )
    client = desk("operator")
    page = client.get("/console/set-aside/").content.decode()
    assert HOSTILE not in page and "&lt;script&gt;" in page
    for _ in range(2):
        client.post(f"/console/set-aside/{kept.pk}/replay/")
    assert SubmissionMessage.objects.get().order_id == kept.order_id
    assert "No submission is set aside." in client.get("/console/set-aside/").content.decode()
    assert AuditEntry.objects.filter(act="replay").count() == 2


def test_the_order_page_tells_what_was_done_about_it(desk: Desk) -> None:
    order = in_error()
    action = bulk_services.resubmit_one(
        order_id=order.pk, actor=bulk_services.audit.Actor(name="olga"), reason=""
    )
    page = desk("operator").get(f"/console/orders/{order.pk}/").content.decode()
    assert f"/console/bulk/{action.pk}/undo/" in page and "Resubmit now" not in page
