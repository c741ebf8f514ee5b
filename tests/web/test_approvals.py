"""Asking for approval in the console, over REST and by commands: who is offered what, and what becomes of it."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.models import ApprovalRequest, AuditEntry, BulkAction, Circuit, OrderProcess
from orders.vocabulary import TokenScope
from tests.commands.running import run
from tests.services.operated_orders import BEFORE_SHIPMENT, UNKNOWN, an_order, in_error
from tests.support.desk import failed_orders, stop
from tests.support.factories import ago, make_purchase, step_of
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.roles import stored
from tests.web.conftest import Desk
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db

API = "/api/v1/approvals"
NOT_DONE = {"outcome": "not_done", "reason": "I looked"}


@pytest.fixture
def above_30(settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, approve_refunds_above={"EUR": 3_000})


@pytest.fixture
def bob() -> APIClient:
    return api_client(token_of(person("operator", "bob")))


@pytest.fixture
def ann() -> APIClient:
    return api_client(token_of(person("admin", "ann")))


def doubtful() -> OrderProcess:
    return in_error({**BEFORE_SHIPMENT, "create-shipment": UNKNOWN})


def charged() -> OrderProcess:
    order = an_order({**BEFORE_SHIPMENT, "capture-payment": "completed"}, process_state="pending")
    make_purchase(order.pk)
    return order


def settle_url(order: OrderProcess) -> str:
    return f"/console/orders/{order.pk}/steps/create-shipment/settle/"


def text_of(page: Any) -> str:
    return " ".join(page.content.decode().split())


def ask_to_settle(client: Client, order: OrderProcess) -> Any:
    return client.post(f"{settle_url(order)}ask/", {"how": "not done", "reason": "I looked"}, follow=True)


def to_settle(order: OrderProcess, **body: Any) -> dict[str, Any]:
    step = {"act": "settle_step", "order": str(order.pk), "step": "create-shipment"}
    return step | {"body": NOT_DONE} | body


# --- the console


def test_a_page_says_who_settles_a_step_and_offers_an_operator_to_ask(desk: Desk) -> None:
    order = doubtful()
    at = f"/console/orders/{order.pk}/"
    viewer, operator, admin = (desk(role) for role in ("viewer", "operator", "admin"))
    assert "An admin settles this" in text_of(viewer.get(at))
    assert settle_url(order) not in text_of(viewer.get(at))
    assert "operators and admins can act" in text_of(viewer.get(at))
    assert "An admin settles this" in text_of(operator.get(at)) and settle_url(order) in text_of(
        operator.get(at)
    )
    assert "An admin settles this" not in text_of(admin.get(at))
    form = text_of(operator.get(settle_url(order)))
    assert "Ask for approval</button>" in form and "Settle the step</button>" not in form
    form = text_of(admin.get(settle_url(order)))
    assert "Settle the step</button>" in form and "Ask for approval" not in form


def test_what_an_operator_asks_for_an_admin_approves_with_one_click(desk: Desk) -> None:
    order = doubtful()
    bob, ann = signed_in(person("operator", "bob")), signed_in(person("admin", "ann"))
    invalid = bob.post(f"{settle_url(order)}ask/", {"how": "", "reason": "I looked"})
    assert invalid.status_code == 422 and not ApprovalRequest.objects.exists()
    page = text_of(ask_to_settle(bob, order))
    assert "Asked for approval as request" in page and "Withdraw</button>" in page
    request = ApprovalRequest.objects.get()
    approve = f"/console/approvals/{request.pk}/approve/"
    assert approve not in page
    assert bob.post(approve).status_code == 403
    page = text_of(ann.get("/console/approvals/"))
    assert "Settle create-shipment as not done" in page and "1<span" in page and approve in page
    assert approve in text_of(ann.get(f"/console/orders/{order.pk}/"))
    assert "Approved." in text_of(ann.post(approve, follow=True))
    assert step_of(order, "create-shipment").outcome == "none"
    assert "Nothing is waiting for approval." in text_of(ann.get("/console/approvals/"))
    assert "by ann" in text_of(ann.get("/console/approvals/?show=all"))


def test_an_admin_who_asks_is_not_offered_to_approve_and_is_refused() -> None:
    order, ann = doubtful(), signed_in(person("admin", "ann"))
    page = text_of(ask_to_settle(ann, order))
    request = ApprovalRequest.objects.get()
    assert f"/console/approvals/{request.pk}/approve/" not in page
    page = text_of(ann.post(f"/console/approvals/{request.pk}/approve/", follow=True))
    assert "another admin has to approve it" in page
    assert step_of(order, "create-shipment").outcome == "unknown"


def test_a_declined_request_says_why_and_a_withdrawn_one_is_gone_from_the_list() -> None:
    order = doubtful()
    bob, ann = signed_in(person("operator", "bob")), signed_in(person("admin", "ann"))
    ask_to_settle(bob, order)
    request = ApprovalRequest.objects.get()
    ann.post(f"/console/approvals/{request.pk}/decline/", {"note": "call the carrier"})
    assert "call the carrier" in text_of(bob.get(f"/console/orders/{order.pk}/"))
    ask_to_settle(bob, order)
    second = ApprovalRequest.objects.latest("id")
    bob.post(f"/console/approvals/{second.pk}/withdraw/")
    assert ApprovalRequest.objects.get(pk=second.pk).state == "withdrawn"
    assert ann.post("/console/approvals/987654/approve/").status_code == 404


def test_an_operator_asks_to_force_a_circuit_on_the_page_of_the_agents() -> None:
    Circuit.objects.create(agent="carrier")
    bob = signed_in(person("operator", "bob"))
    at = "/console/agents/carrier/force/ask/"
    assert f'formaction="{at}"' in text_of(bob.get("/console/agents/"))
    bob.post(at, {"state": "open", "seconds": "900", "reason": "it misbehaves"})
    request = ApprovalRequest.objects.get()
    assert request.summary == "Force the circuit of carrier open for 15 min"
    assert Circuit.objects.get().forced == ""
    page = text_of(bob.get("/console/agents/"))
    assert request.summary in page and f"/console/approvals/{request.pk}/withdraw/" in page
    ann = signed_in(person("admin", "ann"))
    assert f"/console/approvals/{request.pk}/approve/" in text_of(ann.get("/console/agents/"))
    ann.post(f"/console/approvals/{request.pk}/decline/")
    assert request.summary not in text_of(ann.get("/console/agents/"))


@pytest.mark.usefixtures("above_30")
def test_the_page_that_cancels_asks_for_approval_of_a_large_refund() -> None:
    order, bob = charged(), signed_in(person("operator", "bob"))
    at = f"/console/orders/{order.pk}/compensate/"
    page = text_of(bob.get(at))
    assert "needs the approval of an admin other than you" in page and "Ask for approval</button>" in page
    assert bob.post(at, {"reason": "r", "typed": "38.00"}).status_code == 422
    assert "Asked for approval" in text_of(bob.post(at, {"reason": "r", "typed": "39.00"}, follow=True))
    assert stored(order).goal == "complete"
    assert ApprovalRequest.objects.get().summary == "Cancel the order and refund €39.00"


def bulk_form(kind: str, *order_ids: Any, **fields: Any) -> dict[str, Any]:
    numbers = {"waves": "0", "rate": "20", "stop_percent": "20"}
    return {"do": kind, "orders": [str(order_id) for order_id in order_ids], **numbers, **fields}


@pytest.mark.usefixtures("above_30")
def test_a_bulk_action_that_refunds_is_asked_for_in_the_console() -> None:
    order, bob = charged(), signed_in(person("operator", "bob"))
    form = bulk_form("compensate", order.pk, typed="1", reason="recall")
    assert "Ask for approval" in text_of(bob.get(f"/console/bulk/new/?do=compensate&orders={order.pk}"))
    page = bob.post("/console/bulk/create/", form, follow=True)
    assert "Asked for approval" in text_of(page) and not BulkAction.objects.exists()


def test_the_console_offers_the_orders_that_no_other_action_has() -> None:
    ids, bob = failed_orders(3), signed_in(person("operator", "bob"))
    bob.post("/console/bulk/create/", bulk_form("resubmit", ids[0]))
    first = BulkAction.objects.get()
    refused = bob.post("/console/bulk/create/", bulk_form("resubmit", *ids))
    page = text_of(refused)
    assert refused.status_code == 422 and f'href="/console/bulk/{first.pk}/"' in page
    assert "1 of the 3 orders is in bulk action" in page and "Resubmit 2 orders" in page
    bob.post("/console/bulk/create/", bulk_form("resubmit", *ids, leave_out_busy="on"))
    assert BulkAction.objects.latest("id").total == 2


# --- over REST


def test_a_program_asks_lists_and_approves(bob: APIClient, ann: APIClient) -> None:
    order = doubtful()
    answer = bob.post(API, to_settle(order))
    assert answer.status_code == 202, answer.content
    request = answer.json()
    assert answer["Location"] == f"{API}/{request['id']}"
    assert (request["state"], request["asked_by"], request["order_id"]) == ("waiting", "bob", str(order.pk))
    assert bob.post(API, to_settle(order)).json()["id"] == request["id"]
    assert [row["id"] for row in bob.get(f"{API}?state=waiting").json()["results"]] == [request["id"]]
    assert ann.get("/api/v1/status").json()["open_approvals"] == 1
    assert_problem(bob.post(f"{API}/{request['id']}/approve"), "permission_denied")
    assert ann.post(f"{API}/{request['id']}/approve").json()["result"] == "done"
    assert step_of(order, "create-shipment").outcome == "none"
    assert ann.get(f"{API}/{request['id']}").json()["decided_by"] == "ann"
    assert_problem(bob.post(f"{API}/{request['id']}/withdraw"), "act_refused")
    assert_problem(ann.post(f"{API}/987654/decline"), "not_found")


def test_a_program_that_may_not_settle_is_told_how_to_ask(bob: APIClient) -> None:
    url = f"/api/v1/orders/{doubtful().pk}/steps/create-shipment/settle"
    problem = assert_problem(bob.post(url, NOT_DONE), "permission_denied")
    assert "POST /api/v1/approvals" in problem["detail"]


def test_what_is_wrong_with_what_is_asked_for_is_said_where_it_is(bob: APIClient) -> None:
    order = doubtful()
    assert mistakes(bob.post(API, {"act": "settle_step", "body": NOT_DONE})) == ["/order", "/step"]
    assert mistakes(bob.post(API, to_settle(order, agent="carrier"))) == ["/agent"]
    assert mistakes(bob.post(API, to_settle(order, body={"outcome": "maybe"}))) == [
        "/body/reason",
        "/body/outcome",
    ]
    assert_problem(bob.post(API, to_settle(order, step="bake")), "not_found")
    assert_problem(bob.post(API, {"act": "unforce_circuit", "agent": "nobody"}), "not_found")
    done = {"outcome": "done", "reason": "r", "result": {}}
    assert_problem(bob.post(API, to_settle(order, body=done)), "act_refused")
    assert not ApprovalRequest.objects.exists()


@pytest.mark.usefixtures("above_30")
def test_a_refund_that_needs_approval_is_a_problem_that_says_what_to_ask_for(
    bob: APIClient, ann: APIClient
) -> None:
    order = charged()
    body = {"reason": "r", "confirm": "39.00"}
    problem = assert_problem(ann.post(f"/api/v1/orders/{order.pk}/compensate", body), "approval_required")
    assert problem["ask"] == "compensate_order" and "POST /api/v1/approvals" in problem["detail"]
    ask = {"act": problem["ask"], "order": str(order.pk), "body": body}
    weak = api_client(token_of(person("operator", "weak"), TokenScope.OPERATE))
    assert_problem(weak.post(API, ask), "scope_missing")
    number = bob.post(API, ask).json()["id"]
    assert ann.post(f"{API}/{number}/approve").status_code == 200
    assert stored(order).goal == "compensate"


@pytest.mark.usefixtures("above_30")
def test_a_bulk_action_that_refunds_is_a_problem_until_it_is_asked_for(
    bob: APIClient, ann: APIClient
) -> None:
    order = charged()
    body = {"kind": "compensate", "orders": [str(order.pk)], "count": 1, "reason": "recall"}
    problem = assert_problem(bob.post("/api/v1/bulk-actions", body), "approval_required")
    answer = bob.post(API, {"act": problem["ask"], "body": body})
    assert answer.status_code == 202, answer.content
    assert ann.post(f"{API}/{answer.json()['id']}/approve").status_code == 200
    assert BulkAction.objects.get().total == 1
    wrong = {"act": problem["ask"], "body": body | {"count": 2}}
    stop(BulkAction.objects.get())
    assert_problem(bob.post(API, wrong), "count_not_confirmed")


def test_orders_of_another_action_are_a_problem_that_names_it(bob: APIClient) -> None:
    ids = failed_orders(2)
    body = {"kind": "resubmit", "orders": [str(order_id) for order_id in ids]}
    first = bob.post("/api/v1/bulk-actions", body | {"orders": [str(ids[0])]}).json()["id"]
    problem = assert_problem(bob.post("/api/v1/bulk-actions", body), "orders_busy")
    assert (problem["bulk_actions"], problem["busy_orders"]) == ([first], 1)
    assert bob.post("/api/v1/bulk-actions", body | {"leave_out_busy": True}).json()["total"] == 1
    assert mistakes(bob.post("/api/v1/bulk-actions", body | {"leave_out_busy": "yes"})) == ["/leave_out_busy"]


# --- by commands


@pytest.mark.usefixtures("above_30")
def test_a_command_that_refunds_asks_and_another_approves() -> None:
    order = charged()
    person("admin", "ann")
    person("operator", "bob")
    ran = run("compensate", order.pk, "--reason", "r", "--by", "operator:ann")
    assert ran.code == 1 and "Asked for approval as request" in ran.words
    request = ApprovalRequest.objects.get()
    assert f"{request.pk} waiting Cancel the order and refund €39.00" in run("approvals").words
    for name, expected in (("nobody", 2), ("bob", 2), ("ann", 1)):  # no account, no admin, the one who asked
        assert run("approvals", "approve", request.pk, "--by", name).code == expected
    assert stored(order).goal == "complete"
    person("admin", "eve")
    assert run("approvals", "approve", request.pk, "--by", "eve").code == 0
    assert run("approvals", "approve", request.pk, "--by", "eve").code == 3
    assert stored(order).goal == "compensate"
    assert run("approvals").words.strip() == "nothing waits for approval"
    assert run("approvals", "--all", "--json").json()[0]["decided_by"] == "eve"
    assert run("approvals", "decline", 987_654, "--by", "eve").code == 2


def test_an_expired_request_is_shown_as_expired_and_not_counted(bob: APIClient, ann: APIClient) -> None:
    bob.post(API, to_settle(doubtful()))
    ApprovalRequest.objects.update(expires_at=ago(1))
    assert ann.get("/api/v1/status").json()["open_approvals"] == 0
    assert [row["state"] for row in ann.get(f"{API}?state=expired").json()["results"]] == ["expired"]
    assert ann.get(f"{API}?state=waiting").json()["results"] == []


def test_a_request_that_nobody_has_answered_does_not_read_as_answered() -> None:
    order, bob = doubtful(), signed_in(person("operator", "bob"))
    ask_to_settle(bob, order)
    ApprovalRequest.objects.update(expires_at=ago(1))
    at = f"/console/orders/{order.pk}/"
    page = text_of(bob.get(at))
    assert "<dt>Expired</dt>" in page and "<dt>Answered</dt>" not in page
    ask_to_settle(bob, order)
    request = ApprovalRequest.objects.latest("id")
    bob.post(f"/console/approvals/{request.pk}/withdraw/")
    assert "<dt>Withdrawn</dt>" in text_of(bob.get(at))


def test_refused_attempts_are_recorded(bob: APIClient) -> None:
    number = bob.post(API, to_settle(doubtful())).json()["id"]
    bob.post(f"{API}/{number}/approve")
    assert AuditEntry.objects.filter(act="approve", target=f"request {number}", allowed=False).count() == 1
