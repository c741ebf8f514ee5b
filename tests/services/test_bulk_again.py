"""What came of a bulk action: its sums, why orders failed again, and how those are resubmitted as one action (O2)."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from rest_framework.test import APIClient

from orders.models import BulkAction, Event
from orders.selectors.database_clock import now
from orders.selectors.desk.bulk import find_action, item_page
from orders.selectors.desk.bulk_again import causes_of, failed_again
from orders.services.operators import bulk as bulk_services
from orders.services.operators.bulk import BusyOrdersError
from orders.wording.bulk_sums import money_of_action, sums_of, worth_sentence
from tests.support.desk import OLGA, OTTO, carry_on, fail, failed_orders, group_of, now_of, succeed
from tests.support.factories import make_purchase
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.two_sessions import all_at_once
from tests.web.helpers import assert_problem

pytestmark = pytest.mark.django_db


def resubmitted(ids: list[UUID], **fields: Any) -> BulkAction:
    defaults = {"kind": "resubmit", "selection": "them", "actor": OLGA, "waves": (0,), "stop_share": 1.0}
    action = bulk_services.create(**(defaults | {"order_ids": ids, "rate": 1000.0} | fields))
    carry_on(action)
    return action


def an_ended_action() -> tuple[BulkAction, list[UUID]]:
    """Its orders: fine, failed again for another cause, failed again and changed since, failed again and fixed."""
    ids = failed_orders(5)
    action = resubmitted(ids)
    succeed(ids[0])
    fail(*ids[1:4], code="http_500", message="another error")
    fail(ids[4])
    carry_on(action)
    succeed(ids[3])
    Event.objects.create(order_id=ids[2], kind="edited", actor_kind="operator", actor_name="olga")
    assert now_of(action).state == "finished"
    return action, ids


@pytest.mark.pattern("O2")
def test_orders_that_failed_again_are_grouped_by_cause_without_those_that_somebody_has_changed() -> None:
    action, ids = an_ended_action()
    assert [(cause.group, cause.orders) for cause in causes_of(action.pk)] == [
        (group_of("http_500"), 3),
        (group_of("http_503"), 1),
    ]
    causes = [item.cause for item in item_page(action.pk, state="", after=None).items]  # type: ignore[attr-defined]
    assert causes == [None, *[group_of("http_500").pk] * 3, group_of("http_503").pk]
    assert failed_again(action.pk, most=10) == [ids[1], ids[4]]
    assert failed_again(action.pk, most=1) == [ids[1]]


@pytest.mark.pattern("O2")
def test_nothing_is_resubmitted_of_an_action_that_still_runs_or_never_was() -> None:
    ids = failed_orders(2)
    action = resubmitted(ids, waves=(1, 0))
    fail(ids[0])
    carry_on(action)
    assert now_of(action).state == "running"
    assert failed_again(action.pk, most=10) == []
    assert failed_again(10**9, most=10) == []


def test_the_console_resubmits_them_as_one_action_with_a_canary_that_names_the_one_before() -> None:
    action, _ = an_ended_action()
    bob = signed_in(person("operator", "bob"))
    page = " ".join(bob.get(f"/console/bulk/{action.pk}/").content.decode().split())
    assert "3 orders: <a" in page and "1 order: <a" in page and f"?failed_of={action.pk}" in page
    page = bob.get(f"/console/bulk/new/?failed_of={action.pk}").content.decode()
    assert "Resubmit 2 orders" in " ".join(page.split())
    form = {"do": "resubmit", "failed_of": action.pk, "waves": "1, 0", "rate": "20", "stop_percent": "20"}
    answer = bob.post("/console/bulk/create/", form | {"seen": 2})
    successor = BulkAction.objects.latest("id")
    assert answer.status_code == 302 and (successor.total, successor.waves) == (2, [1, 1])
    assert (successor.predecessor, now_of(action).successor) == (action.pk, successor.pk)
    for number, other in ((action.pk, successor.pk), (successor.pk, action.pk)):
        assert f'href="/console/bulk/{other}/"' in bob.get(f"/console/bulk/{number}/").content.decode()


def test_a_program_previews_and_resubmits_them() -> None:
    action, ids = an_ended_action()
    bob: APIClient = api_client(token_of(person("operator", "bob")))
    body = {"kind": "resubmit", "failed_of": action.pk}
    assert [row["id"] for row in bob.post("/api/v1/bulk-actions/preview", body).json()["orders"]] == [
        str(ids[1]),
        str(ids[4]),
    ]
    again = bob.post("/api/v1/bulk-actions", body).json()
    assert (again["total"], again["predecessor"]) == (2, action.pk)
    assert bob.get(f"/api/v1/bulk-actions/{action.pk}").json()["successor"] == again["id"]
    rows = bob.get(f"/api/v1/bulk-actions/{action.pk}/orders?state=failed").json()["results"]
    assert rows[0]["cause"] == group_of("http_500").pk
    assert_problem(bob.post("/api/v1/bulk-actions", body), "orders_busy")


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("F33")
def test_two_who_resubmit_them_at_once_start_one_action() -> None:
    action, _ = an_ended_action()

    def again(n: int) -> int | None:
        try:
            successor = bulk_services.create(
                kind="resubmit",
                order_ids=failed_again(action.pk, most=10),
                selection="again",
                actor=(OLGA, OTTO)[n],
                predecessor=action.pk,
            )
        except BusyOrdersError:
            return None
        finally:
            connection.close()
        return successor.pk

    numbers = all_at_once(2, again)
    assert numbers.count(None) == 1
    assert now_of(action).successor in numbers


def test_an_action_says_what_its_orders_are_worth_in_each_state_and_currency() -> None:
    ids = failed_orders(4)
    for order_id, fields in zip(ids, ({}, {"total": 100}, {"total": 500, "currency": "JPY"}), strict=False):
        make_purchase(order_id, **fields)
    action = resubmitted(ids)
    succeed(ids[0])
    carry_on(action)
    progress = find_action(action.pk, now=now())
    assert progress is not None
    assert {state: sums_of(back) for state, back in progress.sums.items()} == {
        "acted": "€1.00 and ¥500",
        "done": "€39.00",
    }
    assert money_of_action("resubmit", progress.money) == (
        "The orders were worth €40.00 and ¥500 in all when this was requested."
    )
    assert money_of_action("compensate", progress.money) == (
        "When this was requested, there was €40.00 and ¥500 to refund."
    )
    assert worth_sentence(1, progress.money) == "The order is worth €40.00 and ¥500."
    bob = signed_in(person("operator", "bob"))
    assert "of 4 · €39.00" in bob.get(f"/console/bulk/{action.pk}/").content.decode()
    sums = (
        api_client(token_of(person("operator", "eve")))
        .get(f"/api/v1/bulk-actions/{action.pk}")
        .json()["sums"]
    )
    assert {"state": "done", "amount": {"amount": 3900, "currency": "EUR"}, "is_held": False} in sums
