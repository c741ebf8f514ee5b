"""The operators' REST API: acts on one order, on its steps, and on what was set aside."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.engine.channels import submissions
from orders.models import AuditEntry, Event, Order, OrderProcess, SetAside, SubmissionMessage
from orders.vocabulary import TokenScope
from tests.support.factories import ahead, step_of
from tests.support.finished_orders import archive, finished_order
from tests.support.order_bodies import DELFT
from tests.support.people import api_client, person, token_of
from tests.support.roles import history, stored
from tests.support.submissions import a_role
from tests.web.console_orders import BEFORE_SHIPMENT, an_order, in_error
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db

API = "/api/v1"
OPERATE, COMPENSATE = TokenScope.OPERATE, TokenScope.COMPENSATE
SHIPMENT = "steps/create-shipment"
EMAIL = "zelda@customer.example"
WHY = {"reason": "the carrier goes there now"}
DELFT_STREET = {"ship_to": {**DELFT, "street": "Markt 1"}}


def client_of(role: str, *scopes: TokenScope) -> APIClient:
    return api_client(token_of(person(role, f"{role}-{User.objects.count()}"), *scopes))


@pytest.fixture
def admin() -> APIClient:
    return client_of("admin")


def set_aside() -> SetAside:
    """A submission that cannot become an order."""
    submissions.post(order_id=uuid7(), client="guest", body={})
    a_role().run_once()
    return SetAside.objects.get()


class Act(NamedTuple):
    """An act with a valid body: its name in the audit log, and what it needs."""

    path: str
    body: Mapping[str, Any]
    name: str
    scope: TokenScope = OPERATE
    role: str = "operator"


def acts() -> list[Act]:
    order, aside = in_error(), set_aside()
    at = f"{API}/orders/{order.pk}"
    settlement, erasure = WHY | {"outcome": "not_done"}, WHY | {"confirm": "erase"}
    return [
        Act(f"{at}/resubmit", WHY, "resubmit"),
        Act(f"{at}/retry", WHY, "retry now"),
        Act(f"{at}/priority", WHY | {"priority": 9}, "set priority"),
        Act(f"{at}/{SHIPMENT}/edit", WHY | {"changes": DELFT_STREET}, "edit and resubmit"),
        Act(f"{at}/{SHIPMENT}/settle", settlement, "settle", COMPENSATE, "admin"),
        Act(f"{at}/erase", erasure, "erase", COMPENSATE, "admin"),
        Act(f"{API}/set-aside/{aside.pk}/replay", WHY, "replay"),
    ]


def test_each_act_needs_an_account_that_may_do_it_and_every_refusal_is_recorded() -> None:
    places = acts()
    for act in places:
        below = {"operator": ["customer", "viewer"], "admin": ["customer", "viewer", "operator"]}[act.role]
        assert_problem(APIClient().post(act.path, act.body), "not_authenticated")
        for role in below:
            assert_problem(client_of(role).post(act.path, act.body), "permission_denied")
        entries = AuditEntry.objects.filter(act=act.name, allowed=False)
        needed = {"operator": "needs orders.operate", "admin": "needs orders.administer"}[act.role]
        assert [entry.result for entry in entries] == [needed] * len(below)
        target = "submission" if act.name == "replay" else "order"
        assert {entry.target.partition(" ")[0] for entry in entries} == {target}
    assert not AuditEntry.objects.filter(allowed=True).exists()


def test_each_act_needs_its_scope() -> None:
    for act in acts():
        others = client_of(act.role, *(set(TokenScope) - {act.scope}))
        assert assert_problem(others.post(act.path, act.body), "scope_missing")["needed_scope"] == act.scope
        assert AuditEntry.objects.get(act=act.name).result == f"needs a token with the scope {act.scope}"


@pytest.mark.parametrize("body", ["[]", "0", '""', "false", "null"])
def test_a_body_that_is_no_object_is_refused(admin: APIClient, body: str) -> None:
    for act in acts():
        assert mistakes(admin.generic("POST", act.path, body, content_type="application/json")) == [""]
    assert not AuditEntry.objects.exists()


def test_what_must_be_said_is_asked_for(admin: APIClient) -> None:
    answers = {act.name: admin.post(act.path, content_type="application/json") for act in acts()}
    invalid = {name: mistakes(answer) for name, answer in answers.items() if answer.status_code == 400}
    assert invalid == {
        "set priority": ["/priority"],
        "edit and resubmit": ["/changes"],
        "settle": ["/reason", "/outcome"],
        "erase": ["/reason"],
    }


def test_what_is_not_there_is_not_found(admin: APIClient) -> None:
    order = in_error()
    for act in acts():
        path = act.path.replace(act.path.split("/")[4], str(uuid7() if "orders/" in act.path else 10**30))
        assert_problem(admin.post(path, act.body), "not_found")
    for name, body in (("edit", {"changes": {}}), ("settle", WHY | {"outcome": "done"})):
        assert_problem(admin.post(f"{API}/orders/{order.pk}/steps/x/{name}", body), "not_found")
    assert not AuditEntry.objects.exists()


def test_an_archived_order_can_no_longer_be_acted_on(admin: APIClient) -> None:
    order_id = finished_order()
    archive(order_id)
    for path, body in (("resubmit", {}), ("retry", {}), ("steps/mix/settle", WHY | {"outcome": "done"})):
        problem = assert_problem(admin.post(f"{API}/orders/{order_id}/{path}", body), "act_refused")
        assert problem["detail"].startswith("The order is not under way")


@pytest.mark.pattern("O2")
def test_an_order_is_resubmitted_with_all_its_failed_steps_once(operator: APIClient) -> None:
    order = in_error()
    path = f"{API}/orders/{order.pk}/resubmit"
    answer = operator.post(path, WHY)
    assert answer.json() == {"result": "done", "message": "Resubmitted create-shipment."}
    assert operator.post(path).json()["result"] == "already"
    assert history(order, "resubmitted") == [("resubmitted", "create-shipment")]
    assert stored(order).process_state == "pending"
    first = AuditEntry.objects.order_by("id").first()
    assert first and (first.act, first.target, first.reason) == (
        "resubmit",
        f"order {order.pk}",
        WHY["reason"],
    )


def test_what_waits_for_a_retry_is_retried_at_once(operator: APIClient) -> None:
    waits = {"state": "not_started", "attempt": 1, "outcome": "unknown", "not_before": ahead(900)}
    order = an_order({**BEFORE_SHIPMENT, "create-shipment": waits}, not_before=ahead(900))
    path = f"{API}/orders/{order.pk}/retry"
    assert operator.post(path, {"step": "capture-payment"}).json()["result"] == "already"
    problem = assert_problem(operator.post(path, {"step": "capture-paiment"}), "not_found")
    assert problem["detail"] == "The order has no step of this name."
    assert operator.post(path, WHY | {"step": "create-shipment"}).json()["result"] == "done"
    assert operator.post(path).json()["result"] == "already"
    assert step_of(order, "create-shipment").not_before is None
    assert Event.objects.get(order_id=order.pk, kind="hurried").detail["reason"] == WHY["reason"]
    assert AuditEntry.objects.filter(act="retry now", reason=WHY["reason"]).count() == 1


def test_a_priority_is_set_and_no_other_is_taken(operator: APIClient) -> None:
    order = an_order(BEFORE_SHIPMENT)
    path = f"{API}/orders/{order.pk}/priority"
    for priority in (-1, 10, 1.5, "9", True, None):
        assert mistakes(operator.post(path, {"priority": priority})) == ["/priority"]
    assert [operator.post(path, {"priority": 9}).json()["result"] for _ in range(2)] == ["done", "already"]
    assert (stored(order).priority, step_of(order, "create-shipment").priority) == (9, 9)
    ended = finished_order(days=1)
    assert_problem(operator.post(f"{API}/orders/{ended}/priority", {"priority": 9}), "act_refused")
    refused = AuditEntry.objects.get(target=f"order {ended}")
    assert (refused.act, refused.allowed, refused.result) == ("set priority", False, "The order has ended.")


@pytest.mark.pattern("O2")
def test_a_failed_step_is_edited_as_strictly_as_an_order_is_read(operator: APIClient) -> None:
    order = in_error()
    path = f"{API}/orders/{order.pk}/{SHIPMENT}/edit"
    wrong = {"ship_to": {**DELFT, "city": "\n"}}
    assert mistakes(operator.post(path, {"changes": wrong})) == ["/changes/ship_to/city"]
    for value in (5, "Delft", None, []):
        assert mistakes(operator.post(path, {"changes": {"ship_to": value}})) == ["/changes/ship_to"]
    others = {"lines": [], "a/b": 1, "ship_to": DELFT}
    assert mistakes(operator.post(path, {"changes": others})) == ["/changes/a~1b", "/changes/lines"]
    assert_problem(operator.post(path, {"changes": {"ship_to": DELFT}}), "act_refused")
    stale = {"changes": DELFT_STREET, "seen": {"ship_to": {**DELFT, "city": "Gouda"}}}
    assert "in the meantime" in assert_problem(operator.post(path, stale), "act_refused")["detail"]
    assert history(order, "edited") == []
    answer = operator.post(path, WHY | {"changes": DELFT_STREET, "seen": {"ship_to": DELFT}})
    assert answer.json()["result"] == "done"
    assert operator.post(path, {"changes": DELFT_STREET}).json()["result"] == "already"
    step = step_of(order, "create-shipment")
    assert (step.request["ship_to"]["street"], step.original["ship_to"]) == ("Markt 1", DELFT)
    assert (stored(order).process_state, history(order, "edited")) == (
        "pending",
        [("edited", "create-shipment")],
    )


@pytest.mark.pattern("F14", "O2")
def test_a_step_of_unknown_outcome_is_settled_by_hand(admin: APIClient) -> None:
    order = in_error(outcome="unknown")
    path = f"{API}/orders/{order.pk}/{SHIPMENT}/settle"
    result = {"tracking": "t-1"}
    assert mistakes(admin.post(path, WHY | {"outcome": "unknown"})) == ["/outcome"]
    assert mistakes(admin.post(path, WHY | {"outcome": "not_done", "result": result})) == ["/result"]
    assert mistakes(admin.post(path, WHY | {"outcome": "not_done", "results": result})) == ["/results"]
    problem = assert_problem(admin.post(path, WHY | {"outcome": "done", "result": {}}), "act_refused")
    assert "tracking" in problem["detail"]
    assert_problem(admin.post(path, WHY | {"outcome": "compensated"}), "act_refused")
    assert step_of(order, "create-shipment").state == "failed"
    done = WHY | {"outcome": "done", "result": result}
    assert [admin.post(path, done).json()["result"] for _ in range(2)] == ["done", "already"]
    step = step_of(order, "create-shipment")
    assert (step.state, step.outcome, step.result) == ("completed", "done", result)
    assert stored(order).process_state == "pending"
    allowed = AuditEntry.objects.filter(act="settle").order_by("id").values_list("allowed", flat=True)
    assert list(allowed) == [False, False, True, True]


def test_a_step_that_was_not_done_gets_a_new_key(admin: APIClient) -> None:
    order = in_error(outcome="unknown")
    path = f"{API}/orders/{order.pk}/{SHIPMENT}/settle"
    assert admin.post(path, WHY | {"outcome": "not_done"}).json()["result"] == "done"
    step = step_of(order, "create-shipment")
    assert (step.state, step.outcome, step.generation) == ("failed", "none", 2)


def test_a_failed_compensation_is_settled(admin: APIClient) -> None:
    failed = {"state": "failed", "outcome": "done", "compensation_failure_count": 6, "attempt": 7}
    order = an_order({"authorise-payment": failed}, process_state="error", goal="compensate")
    path = f"{API}/orders/{order.pk}/steps/authorise-payment/settle"
    assert admin.post(path, WHY | {"outcome": "compensated"}).json()["result"] == "done"
    assert step_of(order, "authorise-payment").state == "compensated"


@pytest.mark.pattern("S3")
def test_what_was_set_aside_is_replayed_once(operator: APIClient) -> None:
    aside = set_aside()
    path = f"{API}/set-aside/{aside.pk}/replay"
    assert [operator.post(path, WHY).json()["result"] for _ in range(2)] == ["done", "already"]
    assert SubmissionMessage.objects.get().order_id == aside.order_id
    entry = AuditEntry.objects.order_by("id").first()
    assert entry and (entry.act, entry.target, entry.reason) == (
        "replay",
        f"submission {aside.pk}",
        WHY["reason"],
    )


@pytest.mark.parametrize("days", [1, 91], ids=["finished", "archived"])
def test_the_customer_of_an_order_is_erased_only_when_confirmed(admin: APIClient, days: int) -> None:
    User.objects.create(username=EMAIL, email=EMAIL)
    order_id = finished_order(days=days, purchase={"email": EMAIL})
    if days > 90:
        archive(order_id)
    path, why = f"{API}/orders/{order_id}/erase", {"reason": f"{EMAIL} asked for it"}
    for confirm in ({}, {"confirm": "cancel"}):
        problem = assert_problem(admin.post(path, why | confirm), "act_refused")
        assert problem["detail"] == (
            "To confirm, send the word erase. The customer’s data would be erased (orders: 1, accounts: 1). The "
            "orders’ amounts are kept."
        )
    assert User.objects.filter(email=EMAIL).exists()
    refusals = AuditEntry.objects.filter(act="erase")
    assert {(entry.target, entry.allowed, entry.reason) for entry in refusals} == {
        (f"order {order_id}", False, "")
    }
    answer = admin.post(path, why | {"confirm": "erase"}).json()
    assert answer["result"] == "done" and "was erased" in answer["message"]
    assert not User.objects.filter(email=EMAIL).exists()
    assert admin.post(path, why | {"confirm": "erase"}).json()["result"] == "already"
    entry = AuditEntry.objects.get(act="erase", allowed=True)
    assert EMAIL not in f"{entry.target} {entry.reason}" and entry.reason.endswith("asked for it")


def test_a_customer_with_an_unfinished_order_is_not_erased(admin: APIClient) -> None:
    order_id = finished_order(days=1, purchase={"email": EMAIL})
    unfinished = in_error()
    Order.objects.filter(pk=unfinished.pk).update(email=EMAIL)
    body = WHY | {"confirm": "erase"}
    problem = assert_problem(admin.post(f"{API}/orders/{order_id}/erase", body), "act_refused")
    assert str(unfinished.pk) in problem["detail"]
    assert AuditEntry.objects.get().allowed is False
    Order.objects.filter(pk=order_id).update(email="")
    assert admin.post(f"{API}/orders/{order_id}/erase", body).json()["result"] == "already"
    assert OrderProcess.objects.count() == 2
