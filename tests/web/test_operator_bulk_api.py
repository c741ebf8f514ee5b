"""Bulk actions over REST: which orders they take, how they run, and who may start, pause, stop and undo them."""

from typing import Any
from uuid import UUID

import pytest
from django.http import QueryDict
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.api.operator_bulk_requests import PREVIEWS, read_one_of, selection_of
from orders.console.forms.bulk import SelectionForm
from orders.models import Alert, AuditEntry, BulkAction, OrderProcess
from orders.vocabulary import TokenScope
from tests.support.desk import carry_on, failed_orders, group_of, succeed
from tests.support.factories import ago, make_order, make_purchase
from tests.support.finished_orders import archive, finished_order
from tests.support.people import api_client, person, token_of
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db

ACTIONS = "/api/v1/bulk-actions"
ERRORS = {"kind": "resubmit", "filter": {"state": "error"}}
OPERATE, COMPENSATE = TokenScope.OPERATE, TokenScope.COMPENSATE
ACTS = {"pause": OPERATE, "resume": COMPENSATE, "stop": OPERATE, "undo": OPERATE}


@pytest.fixture
def operator() -> APIClient:
    return api_client(token_of(person("operator")))


def started(operator: APIClient, **members: Any) -> BulkAction:
    """A new action on all orders in Error, or on those that `members` say."""
    answer = operator.post(ACTIONS, ERRORS | members)
    assert answer.status_code == 202, answer.content
    return BulkAction.objects.get(pk=answer.json()["id"])


def orders_of(operator: APIClient, action: BulkAction, query: str = "") -> list[tuple[UUID, str]]:
    page = operator.get(f"{ACTIONS}/{action.pk}/orders{query}").json()["results"]
    return [(UUID(item["order_id"]), item["state"]) for item in page]


# --- who may do what


def test_each_act_needs_the_access_level_and_the_scope_and_every_refusal_is_recorded(
    operator: APIClient,
) -> None:
    failed_orders(2)
    action = started(operator)
    places: dict[str, tuple[TokenScope, Any, str, str]] = {
        ACTIONS: (COMPENSATE, ERRORS, "bulk-create", ACTIONS),
        f"{ACTIONS}/preview": (OPERATE, ERRORS, "bulk-action-preview", f"{ACTIONS}/preview"),
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
    olga = person("operator", "olga")
    for path, (scope, body, _, _) in places.items():
        others = api_client(token_of(olga, *(set(TokenScope) - {scope})))
        assert assert_problem(others.post(path, body), "scope_missing")["needed_scope"] == scope
    refused = AuditEntry.objects.filter(allowed=False).values_list("actor", "act", "target", "result")
    assert sorted(refused) == sorted(
        (name, act, target, why or f"needs a token with the scope {scope}")
        for scope, _, act, target in places.values()
        for name, why in (
            ("viewer", "needs orders.operate"),
            ("customer", "needs orders.operate"),
            ("olga", ""),
        )
    )
    assert BulkAction.objects.get().state == "running"


@pytest.mark.parametrize("path", ["", "/7", "/7/orders"])
def test_a_viewer_reads_and_a_customer_does_not(path: str) -> None:
    assert api_client(token_of(person("viewer"))).get(f"{ACTIONS}{path}").status_code in (200, 404)
    assert_problem(api_client(token_of(person("customer"))).get(f"{ACTIONS}{path}"), "permission_denied")
    assert not AuditEntry.objects.exists()


# --- which orders


@pytest.mark.parametrize(
    "conditions",
    [
        {"q": "39.00"},
        {"state": "error", "older": "30m"},
        {"standing": "waiting for customer", "workflow": "fulfil-order"},
        {"step": "mix", "agent": "kitchen", "code": "refused", "priority": 0},
        {"waiting": "1", "priority": 7},
    ],
)
@pytest.mark.parametrize("kind", ["resubmit", "compensate"])
def test_a_filter_selects_what_the_same_one_selects_in_the_console(
    kind: str, conditions: dict[str, Any]
) -> None:
    query = QueryDict(mutable=True)
    names = {"standing": "kind"}
    query.update({names.get(name, name): str(value) for name, value in conditions.items()} | {"do": kind})
    body = read_one_of(PREVIEWS, {"kind": kind, "filter": conditions})
    assert selection_of(body) == SelectionForm(query).selection() is not None


def test_a_preview_says_how_many_orders_and_shows_the_first_without_doing_anything(
    operator: APIClient,
) -> None:
    ids = failed_orders(12)
    make_purchase(ids[-1], title="a cake", subject="table 7")
    make_order({"mix": "running"}, process_state="processing")
    seen = operator.post(f"{ACTIONS}/preview", ERRORS).json()
    assert {name: seen[name] for name in seen if name != "orders"} == {
        "kind": "resubmit",
        "selection": "orders in state error",
        "count": 12,
        "archived": 0,
        "is_too_many": False,
        "needs_count": False,
        "may_have_paid": True,
    }
    assert [UUID(order["id"]) for order in seen["orders"]] == ids[:1:-1]
    assert seen["orders"][0] == {
        "id": str(ids[-1]),
        "workflow": "bake-cake",
        "title": "a cake",
        "subject": "table 7",
        "state": "error",
        "standing": "error",
        "total": {"amount": 3900, "currency": "EUR"},
    }
    assert seen["orders"][1]["total"] is None
    assert not BulkAction.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_cancellation_takes_orders_in_any_state_and_leaves_archived_ones_out(operator: APIClient) -> None:
    failed = failed_orders(1)
    under_way = make_order({"mix": "running"}, process_state="processing").pk
    archived = finished_order()
    archive(archived)
    ids = [*map(str, failed), str(under_way), str(archived), str(uuid7())]
    for kind, expected in (("resubmit", failed), ("compensate", [*failed, under_way])):
        body = {"kind": kind, "orders": ids}
        seen = operator.post(f"{ACTIONS}/preview", body).json()
        assert (seen["count"], seen["archived"]) == (len(expected), 1)
        number = operator.post(ACTIONS, body | {"count": len(expected)}).json()["id"]
        action = BulkAction.objects.get(pk=number)
        assert [order_id for order_id, _ in orders_of(operator, action)] == expected


def test_an_alert_that_opens_after_the_preview_adds_no_order_to_that_of_its_group(
    operator: APIClient,
) -> None:
    first = failed_orders(2)
    group, upto = group_of().pk, Alert.objects.latest("id").pk
    failed_orders(1)
    body = {"kind": "resubmit", "group": group, "upto": upto}
    assert operator.post(f"{ACTIONS}/preview", body).json()["count"] == 2
    answer = operator.post(ACTIONS, body)
    action = BulkAction.objects.get(pk=answer.json()["id"])
    assert [order_id for order_id, _ in orders_of(operator, action)] == first
    assert answer.json()["group"] == group


def test_where_there_is_nothing_to_do_the_act_is_refused_and_recorded(operator: APIClient) -> None:
    bodies = [ERRORS, {"kind": "resubmit", "group": 7}, {"kind": "compensate", "orders": [str(uuid7())]}]
    for body in bodies:
        assert_problem(operator.post(ACTIONS, body), "act_refused")
    assert_problem(operator.post(f"{ACTIONS}/preview", bodies[1]), "act_refused")
    assert list(AuditEntry.objects.order_by("id").values_list("act", "allowed")) == [
        *[("bulk resubmit", False)] * 2,
        ("bulk compensate", False),
    ]


@pytest.mark.parametrize(
    ("members", "where"),
    [
        ({"filter": {}}, ["/filter"]),
        ({"filter": {"state": "lost", "q": "a"}}, ["/filter/q", "/filter/state"]),
        ({"filter": {"older": "soon"}}, ["/filter/older"]),
        ({"filter": {"kind": "error"}}, ["/filter/kind"]),
        ({"group": 1}, ["/group"]),
        ({"upto": 1}, ["/upto"]),
        ({"kind": "erase"}, ["/kind"]),
        ({"waves": [0]}, ["/waves/0"]),
        ({"waves": [1] * 20}, ["/waves"]),
        ({"rate": 0.05}, ["/rate"]),
        ({"rate": "20"}, ["/rate"]),
        ({"rate": 10**400}, ["/rate"]),
        ({"stop_percent": True}, ["/stop_percent"]),
        ({"stop_percent": 100.5}, ["/stop_percent"]),
        ({"count": 0}, ["/count"]),
    ],
)
def test_a_body_that_is_not_valid_is_refused(
    operator: APIClient, members: dict[str, Any], where: list[str]
) -> None:
    failed_orders(1)
    assert sorted(mistakes(operator.post(ACTIONS, ERRORS | members))) == where
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("body", ["[]", "0", '""', "false", "null", '[{"kind": "resubmit"}]'])
def test_a_body_that_is_no_object_is_refused(operator: APIClient, body: str) -> None:
    failed_orders(1)
    action = started(operator)
    for path in ("", "/preview", *(f"/{action.pk}/{act}" for act in ACTS)):
        answer = operator.generic("POST", f"{ACTIONS}{path}", body, content_type="application/json")
        assert mistakes(answer) == [""]
    assert mistakes(operator.post(ACTIONS, {"kind": "resubmit"})) == ["/filter"]
    assert BulkAction.objects.get().state == "running"


def test_the_count_must_be_right_and_must_be_sent_for_many_orders_and_every_cancellation(
    operator: APIClient,
) -> None:
    failed_orders(51)
    cancellation = {"kind": "compensate", "filter": {"state": "error"}}
    for body in (ERRORS, ERRORS | {"count": 50}, cancellation, cancellation | {"count": 52}):
        assert_problem(operator.post(ACTIONS, body), "count_not_confirmed")
    assert AuditEntry.objects.filter(allowed=False, act="bulk resubmit", target=ACTIONS).count() == 2
    few = {"kind": "resubmit", "orders": [str(OrderProcess.objects.first().pk)]}
    assert_problem(operator.post(ACTIONS, few | {"count": 2}), "count_not_confirmed")
    assert not BulkAction.objects.exists()
    assert operator.post(ACTIONS, cancellation | {"count": 51}).json()["total"] == 51


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
    early, late = started(operator), started(operator)
    for _ in range(2):
        answer = operator.post(f"{ACTIONS}/{early.pk}/undo", {"reason": "wrong orders"})
        assert (answer.status_code, answer.json()["state"]) == (200, "undone")
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
    newest_first = [started(operator).pk for _ in range(3)][::-1]
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
    succeed(OrderProcess.objects.get().pk)  # although no order matches any more
    assert (
        operator.post(ACTIONS, ERRORS, headers={"Idempotency-Key": "monday"}).json()["id"]
        == first.json()["id"]
    )
    other = ERRORS | {"reason": "another one"}
    answer = operator.post(ACTIONS, other, headers={"Idempotency-Key": "monday"})
    assert_problem(answer, "idempotency_key_reused")
    olga = api_client(token_of(person("operator", "olga")))
    failed_orders(1)
    assert olga.post(ACTIONS, ERRORS, headers={"Idempotency-Key": "monday"}).json()["by"] == "olga"
    assert mistakes(operator.post(ACTIONS, ERRORS, headers={"Idempotency-Key": "\u00e9"})) == [
        "Idempotency-Key"
    ]
    BulkAction.objects.filter(by="operator").update(created_at=ago(3_700))
    answer = operator.post(ACTIONS, other, headers={"Idempotency-Key": "monday"})
    assert answer.json()["id"] != first.json()["id"]
