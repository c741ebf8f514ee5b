"""Bulk actions over REST: which orders they take, how they run, and who may start, pause, stop and undo them."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.models import AuditEntry, BulkAction, OrderProcess
from orders.vocabulary import TokenScope
from tests.support.desk import carry_on, failed_orders, stop, succeed
from tests.support.factories import ago
from tests.support.people import api_client, person, token_of
from tests.web.bulk_actions import ACTIONS, ACTS, COMPENSATE, ERRORS, OPERATE, orders_of, started
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db


# --- who may do what


def test_each_act_needs_the_access_level_and_the_scope_and_every_refusal_is_recorded(
    operator: APIClient,
) -> None:
    failed_orders(2)
    action = started(operator)
    places: dict[str, tuple[TokenScope, Any, str, str]] = {
        ACTIONS: (COMPENSATE, ERRORS, "bulk create", ACTIONS),
        f"{ACTIONS}/preview": (OPERATE, ERRORS, "bulk action preview", f"{ACTIONS}/preview"),
        **{
            f"{ACTIONS}/{action.pk}/{act}": (scope, {}, f"{act} action", f"bulk {action.pk}")
            for act, scope in ACTS.items()
        },
    }
    for role in ("viewer", "customer"):
        client = api_client(token_of(person(role)))
        for path, (_, body, _, _) in places.items():
            assert_problem(client.post(path, body), "permission_denied")
            assert_problem(APIClient().post(path, body), "not_authenticated")
    otto = person("operator", "otto")
    for path, (scope, body, _, _) in places.items():
        others = api_client(token_of(otto, *(set(TokenScope) - {scope})))
        assert assert_problem(others.post(path, body), "scope_missing")["needed_scope"] == scope
    refused = AuditEntry.objects.filter(allowed=False).values_list("actor", "act", "target", "result")
    assert sorted(refused) == sorted(
        (name, act, target, why or f"needs a token with the scope {scope}")
        for scope, _, act, target in places.values()
        for name, why in (
            ("viewer", "needs orders.operate"),
            ("customer", "needs orders.operate"),
            ("otto", ""),
        )
    )
    assert BulkAction.objects.get().state == "running"


@pytest.mark.parametrize("path", ["", "/7", "/7/orders"])
def test_a_viewer_reads_and_a_customer_does_not(path: str) -> None:
    assert api_client(token_of(person("viewer"))).get(f"{ACTIONS}{path}").status_code in (200, 404)
    assert_problem(api_client(token_of(person("customer"))).get(f"{ACTIONS}{path}"), "permission_denied")
    assert not AuditEntry.objects.exists()


# --- how they run


@pytest.mark.pattern("O2")
def test_a_canary_goes_first_and_each_order_has_its_result(operator: APIClient) -> None:
    ids = failed_orders(4)
    answer = operator.post(
        ACTIONS, ERRORS | {"waves": [1, 2], "rate": 5.5, "stop_percent": 0, "reason": "fixed"}
    )
    shown = answer.json()
    assert shown == operator.get(answer["Location"]).json()
    assert (shown["waves"], shown["rate"], shown["stop_percent"], shown["reason"]) == (
        [1, 2, 1],
        5.5,
        0,
        "fixed",
    )
    assert shown["can_be_undone"]
    action = BulkAction.objects.get()
    carry_on(action)
    assert orders_of(operator, action) == [(ids[3], "acted"), *((each, "waiting") for each in ids[2::-1])]
    succeed(ids[3])
    carry_on(action)
    carry_on(action)
    page = operator.get(f"{ACTIONS}/{action.pk}/orders?page_size=1").json()
    (first,) = page["results"]
    assert (first["order_id"], first["wave"], first["state"], first["result"]) == (
        *(str(ids[3]), 0, "done", "processed"),
    )
    assert first["ended_at"] is not None
    assert operator.get(page["next"]).json()["results"][0]["order_id"] == str(ids[2])
    waves = operator.get(answer["Location"]).json()["by_wave"]
    assert [(wave["size"], wave["done"], wave["acted"], wave["waiting"]) for wave in waves] == [
        *((1, 1, 0, 0), (2, 0, 2, 0), (1, 0, 0, 1)),
    ]
    assert orders_of(operator, action, "?state=acted") == [(ids[2], "acted"), (ids[1], "acted")]
    assert mistakes(operator.get(f"{ACTIONS}/{action.pk}/orders?state=lost")) == ["state"]
    assert not operator.get(answer["Location"]).json()["can_be_undone"]


@pytest.mark.pattern("O2")
def test_an_action_is_paused_resumed_and_stopped_and_each_act_counts_once(operator: APIClient) -> None:
    failed_orders(3)
    action = started(operator)
    carry_on(action)
    for act, state in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        for _ in range(2):
            answer = operator.post(f"{ACTIONS}/{action.pk}/{act}", {"reason": "to look at them"})
            assert (answer.status_code, answer.json()["state"]) == (200, state)
    acts = AuditEntry.objects.filter(target=f"bulk {action.pk}").order_by("id")
    assert list(acts.values_list("act", "allowed", "reason"))[1:] == [
        (f"{act} action", True, "to look at them") for act in ("pause", "resume", "stop")
    ]
    assert [state for _, state in orders_of(operator, action)] == ["acted", "nothing", "nothing"]


def test_an_action_is_undone_in_time_and_afterwards_that_is_refused_and_recorded(operator: APIClient) -> None:
    failed_orders(1)
    early = started(operator)
    for _ in range(2):
        answer = operator.post(f"{ACTIONS}/{early.pk}/undo", {"reason": "wrong orders"})
        assert (answer.status_code, answer.json()["state"]) == (200, "undone")
    late = started(operator)
    entry = AuditEntry.objects.get(act="undo action")
    assert (entry.allowed, entry.reason) == (True, "wrong orders")
    carry_on(late)
    problem = assert_problem(operator.post(f"{ACTIONS}/{late.pk}/undo"), "act_refused")
    assert problem["detail"] == "The action has begun, so it can no longer be undone. You can stop it."
    assert_problem(operator.post(f"{ACTIONS}/{early.pk}/resume"), "act_refused")
    refused = AuditEntry.objects.filter(allowed=False).order_by("id")
    assert list(refused.values_list("act", "target")) == [
        ("undo action", f"bulk {late.pk}"),
        ("resume action", f"bulk {early.pk}"),
    ]


@pytest.mark.parametrize("act", ACTS)
def test_an_act_on_an_action_that_there_is_not_is_not_found(operator: APIClient, act: str) -> None:
    for number in (7, 10**30):
        assert_problem(operator.post(f"{ACTIONS}/{number}/{act}"), "not_found")
        assert_problem(operator.get(f"{ACTIONS}/{number}/orders"), "not_found")


def test_actions_are_listed_newest_first(operator: APIClient) -> None:
    failed_orders(1)
    newest_first: list[int] = []
    for _ in range(3):
        action = started(operator)
        stop(action)
        newest_first.insert(0, action.pk)
    assert [action["id"] for action in operator.get(ACTIONS).json()["results"]] == newest_first
    page = operator.get(f"{ACTIONS}?page_size=2").json()
    last = operator.get(page["next"]).json()
    assert [action["id"] for action in page["results"] + last["results"]] == newest_first
    assert last["next"] is None


# --- sent twice


def test_a_request_that_is_repeated_with_its_key_makes_one_action(operator: APIClient) -> None:
    failed_orders(1)
    first, again = (operator.post(ACTIONS, ERRORS, headers={"Idempotency-Key": "monday"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json()
    assert (first.get("Idempotent-Replayed"), again.get("Idempotent-Replayed")) == (None, "true")
    succeed(OrderProcess.objects.get().pk)  # although no order matches any more
    assert (
        operator.post(ACTIONS, ERRORS, headers={"Idempotency-Key": "monday"}).json()["id"]
        == first.json()["id"]
    )
    other = ERRORS | {"reason": "another one"}
    answer = operator.post(ACTIONS, other, headers={"Idempotency-Key": "monday"})
    assert_problem(answer, "idempotency_key_reused")
    otto = api_client(token_of(person("operator", "otto")))
    stop(BulkAction.objects.get())
    failed_orders(1)
    assert otto.post(ACTIONS, ERRORS, headers={"Idempotency-Key": "monday"}).json()["by"] == "otto"
    stop(BulkAction.objects.get(by="otto"))
    assert mistakes(operator.post(ACTIONS, ERRORS, headers={"Idempotency-Key": "\u00e9"})) == [
        "Idempotency-Key"
    ]
    BulkAction.objects.filter(by="olga").update(created_at=ago(3_700))
    answer = operator.post(ACTIONS, other, headers={"Idempotency-Key": "monday"})
    assert answer.json()["id"] != first.json()["id"]
