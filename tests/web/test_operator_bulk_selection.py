"""Which orders a bulk action over REST takes, and how its preview and its count confirm them."""

from typing import Any
from uuid import UUID

import pytest
from django.http import QueryDict
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.api.operator_bulk_requests import PREVIEWS, read_one_of, selection_of
from orders.console.forms.bulk import SelectionForm
from orders.fields.order_numbers import spoken_number
from orders.models import Alert, AuditEntry, BulkAction, OrderProcess
from orders.selectors.desk import bulk_selection
from tests.support.desk import failed_orders, group_of, stop
from tests.support.factories import make_order, make_purchase
from tests.support.finished_orders import archive, finished_order
from tests.web.bulk_actions import ACTIONS, ACTS, ERRORS, orders_of, started
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "conditions",
    [
        {"q": "39.00"},
        {"state": "error", "older": "30m"},
        {"standing": "waiting_for_customer", "workflow": "fulfil-order"},
        {"step": "mix", "agent": "kitchen", "code": "refused", "priority": 0},
        {"waiting": "1", "priority": 7},
    ],
)
@pytest.mark.parametrize("kind", ["resubmit", "compensate"])
def test_a_filter_selects_what_the_same_one_selects_in_the_console(
    kind: str, conditions: dict[str, Any]
) -> None:
    query = QueryDict(mutable=True)
    fields = {name: str(value) for name, value in conditions.items()}
    if standing := fields.pop("standing", ""):
        fields["kind"] = standing.replace("_", " ")
    query.update(fields | {"do": kind})
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
        "edit": None,
        "kind": "resubmit",
        "selection": "orders in state error",
        "count": 12,
        "archived": 0,
        "is_too_many": False,
        "needs_count": False,
        "may_have_paid": False,
        "charged": [],
        "held": [],
        "worth": [{"amount": 3900, "currency": "EUR"}],
    }
    assert [UUID(order["id"]) for order in seen["orders"]] == ids[:1:-1]
    assert seen["orders"][0] == {
        "id": str(ids[-1]),
        "number": spoken_number(ids[-1]),
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


def test_where_there_are_no_orders_none_can_have_paid(operator: APIClient) -> None:
    for conditions in ({"state": "error"}, {"workflow": "fulfil-order"}):
        body = {"kind": "compensate", "filter": conditions}
        seen = operator.post(f"{ACTIONS}/preview", body).json()
        assert (seen["count"], seen["may_have_paid"]) == (0, False)


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
        stop(action)


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
    problem = assert_problem(operator.post(f"{ACTIONS}/preview", bodies[1]), "act_refused")
    assert problem["detail"] == "There is no alert group 7, so there is nothing to do."
    assert list(AuditEntry.objects.order_by("id").values_list("act", "allowed")) == [
        *[("bulk resubmit", False)] * 2,
        ("bulk compensate", False),
    ]


def test_more_orders_than_one_action_takes_are_refused(
    operator: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed_orders(4)
    monkeypatch.setattr(bulk_selection, "MOST", 3)
    seen = operator.post(f"{ACTIONS}/preview", ERRORS).json()
    assert (seen["count"], seen["is_too_many"]) == (4, True)
    problem = assert_problem(operator.post(ACTIONS, ERRORS), "act_refused")
    assert problem["detail"] == "One action takes at most 3 orders. Narrow the filter."
    assert AuditEntry.objects.values_list("act", "allowed").get() == ("bulk resubmit", False)


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


@pytest.mark.parametrize(
    ("members", "pointer", "detail"),
    [
        ({}, "/filter", "Say which orders: send `filter`, `group`, `orders` or `failed_of`."),
        ({"state": "error"}, "/filter", "Say which orders: send `filter`, `group`, `orders` or `failed_of`."),
        ({"state": "error"}, "/state", "This is a condition: send it within `filter`."),
        ({"group": 1, "orders": [str(uuid7())]}, "/orders", "Select orders in one way. There is `group` already."),
        ({"filter": {"kind": "error"}}, "/filter/kind", "There is no such condition. There are q, state, standing, "),
        ({"filter": {}}, "/filter", "Send at least one condition, such as `state`."),
        ({"filter": {"state": "error"}, "colour": "red"}, "/colour", "Unknown field."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", [ACTIONS, f"{ACTIONS}/preview"])
def test_a_mistake_in_a_selection_says_what_to_send_instead(
    operator: APIClient, path: str, members: dict[str, Any], pointer: str, detail: str
) -> None:
    problem = assert_problem(operator.post(path, {"kind": "resubmit"} | members), "validation_failed")
    details = {error["pointer"]: error["detail"] for error in problem["errors"]}
    assert details[pointer].startswith(detail)


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
    missing, wrong = (
        operator.post(ACTIONS, body).json()["detail"] for body in (ERRORS, ERRORS | {"count": 50})
    )
    assert missing.startswith("There is no `count`, and this needs one. Send as `count` how many")
    assert wrong.startswith("There are not 50 orders now. Look at them again. Send as `count` how many")
    assert "51" not in missing + wrong
    assert AuditEntry.objects.filter(allowed=False, act="bulk resubmit", target=ACTIONS).count() == 4
    few = {"kind": "resubmit", "orders": [str(OrderProcess.objects.first().pk)]}
    assert_problem(operator.post(ACTIONS, few | {"count": 2}), "count_not_confirmed")
    assert not BulkAction.objects.exists()
    assert operator.post(ACTIONS, cancellation | {"count": 51}).json()["total"] == 51
