"""Decisions over REST: a program decides once, as an operator does in the console."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.services.answers import LARGEST_RESULT, LONGEST_NOTE
from orders.services.operators.order_acts import UNCONFIRMED
from orders.vocabulary import TokenScope
from tests.support.factories import ago, step_of
from tests.support.people import api_client, person, token_of
from tests.support.roles import a_scheduler, stored
from tests.web.decided_cakes import (
    API,
    TASTED,
    a_cake,
    answers,
    at,
    audited,
    bakery,
    decision_of,
)
from tests.web.helpers import assert_problem, in_threads, mistakes

__all__ = ["bakery"]
pytestmark = pytest.mark.django_db


def test_a_token_decides_once(operator: APIClient) -> None:
    order = a_cake()
    body = {"choice": "serve", "note": "well done\nindeed"}
    done = operator.post(decision_of(order), body)
    assert (done.status_code, done.json()) == (200, {"result": "done", "message": "Decided taste: serve."})
    a_scheduler(workflows=TASTED).run_once()
    assert step_of(order, "taste").result == {"choice": "serve", "by": "olga", "note": "well done\nindeed"}
    assert_problem(operator.post(decision_of(order), body), "already_answered")
    assert [(actor, allowed) for actor, _, _, allowed in audited()] == [("olga", True), ("olga", False)]


def test_refusals_of_a_decision_are_told_apart(operator: APIClient) -> None:
    order, late = a_cake(), a_cake(complete_by=ago(1))
    assert mistakes(operator.post(decision_of(order), {})) == ["/choice"]
    assert mistakes(operator.post(decision_of(order), {"choice": "serve", "why": "x"})) == ["/why"]
    long = {"choice": "serve", "note": "x" * (LONGEST_NOTE + 1)}
    assert mistakes(operator.post(decision_of(order), long)) == ["/note"]
    unknown = assert_problem(operator.post(decision_of(order), {"choice": "eat"}), "validation_failed")
    assert unknown["errors"] == [
        {"pointer": "/choice", "detail": "'eat' is not one of the choices: serve, bake again, bin."}
    ]
    assert_problem(operator.post(decision_of(late), {"choice": "serve"}), "too_late")
    for path in (f"{at(order)[len('/console') :]}steps/mix", f"/orders/{order.pk}/steps/ice"):
        assert_problem(operator.post(f"{API}{path}/decision", {"choice": "serve"}), "not_found")
    nowhere = f"{API}/orders/018f0000-0000-7000-8000-000000000000/steps/taste/decision"
    assert_problem(operator.post(nowhere, {"choice": "serve"}), "not_found")
    assert answers() == []


@pytest.mark.pattern("C10")
def test_a_token_needs_the_scope_and_the_confirmation_of_a_compensation() -> None:
    order, olga = a_cake(), person("operator", "olga")
    plain = api_client(token_of(olga, TokenScope.READ, TokenScope.OPERATE))
    entitled = api_client(token_of(olga))
    body = {"choice": "bin", "note": "burnt", "confirm": "39.00"}
    problem = assert_problem(plain.post(decision_of(order), body), "scope_missing")
    assert problem["needed_scope"] == "compensate"
    for wrong in ({"confirm": "cancel"}, {"note": ""}):
        assert_problem(entitled.post(decision_of(order), body | wrong), "act_refused")
    assert answers() == []
    assert entitled.post(decision_of(order), body).json()["result"] == "done"
    a_scheduler(workflows=TASTED).run_once()
    assert stored(order).goal == "compensate"
    assert [(result, allowed) for _, result, _, allowed in audited()] == [
        ("needs a token with the scope compensate", False),
        (UNCONFIRMED, False),
        ("Say why. bin has the order cancelled and €39.00 refunded.", False),
        ("Decided taste: bin. The order will be cancelled and €39.00 refunded.", True),
    ]
    assert plain.post(decision_of(a_cake()), {"choice": "serve"}).status_code == 200


def test_a_token_reports_an_outside_event_once(operator: APIClient) -> None:
    order = a_cake()
    path = f"{API}/orders/{order.pk}/steps/flour/event"
    for wrong in ({}, {"result": []}, {"result": None}, {"result": {"text": "\x00"}}):
        assert mistakes(operator.post(path, wrong)) == ["/result"]
    large = {"result": {"text": "x" * LARGEST_RESULT}}
    assert_problem(operator.post(path, large), "body_too_large")
    assert_problem(operator.post(path.replace("flour", "taste"), {"result": {}}), "not_found")
    assert operator.post(path, {"result": {"sacks": 3}}).json()["message"] == "Reported flour."
    assert_problem(operator.post(path, {"result": {"sacks": 4}}), "already_answered")
    a_scheduler(workflows=TASTED).run_once()
    assert step_of(order, "flour").result == {"sacks": 3}
    assert audited("report event")[-2:] == [
        ("olga", "Reported flour.", "", True),
        ("olga", "Step flour has been answered already.", "", False),
    ]


@pytest.mark.parametrize("client", [APIClient(), Client()])
def test_a_stranger_learns_nothing(client: Client) -> None:
    order = a_cake()
    for path in (decision_of(order), f"{API}/orders/{order.pk}/steps/flour/event"):
        assert_problem(client.post(path, {}), "not_authenticated")
    assert_problem(client.get(f"{API}/decisions"), "not_authenticated")


# --- at once


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("C6")
def test_of_many_who_decide_at_once_one_is_heard() -> None:
    order = a_cake()
    clients = [api_client(token_of(person("operator", f"op-{number}"))) for number in range(6)]

    def press(number: int) -> int:
        choice = ("serve", "bake again")[number % 2]
        return clients[number].post(decision_of(order), {"choice": choice}).status_code

    codes = [future.result(timeout=60) for future in in_threads(len(clients), press)]
    assert sorted(codes) == [200, *[409] * 5]
    assert len(answers()) == 1
    assert [entry[3] for entry in audited()].count(True) == 1
    winner = next(entry for entry in audited() if entry[3])
    assert answers()[0]["by"] == winner[0]
