"""A business answers what its order waits for by the order's subject."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from orders import wiring
from orders.business import registry
from orders.models import AuditEntry, OrderProcess, StepState
from orders.services.answers import BadAnswerError, NothingWaitsError
from orders.services.signalling import SeveralWaitError, signal
from orders.testing import run_to_end
from tests.support.businesses import Oven, TastedCakes, business
from tests.support.people import person, signed_in
from tests.support.roles import answer, drain, staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("C1")]


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The bakery, beside the shop."""
    with business(settings, kinds=[TastedCakes], agents=[Oven()]):
        staff(registry.workflows())
        yield


def start(subject: Any = "table 7") -> UUID:
    order_id = TastedCakes.start(subject, {"cake": "walnut"})
    drain(wiring.submission())
    drain(wiring.scheduler())
    answer(order=order_id)  # it is mixed
    drain(wiring.scheduler())
    return order_id


def results(order_id: UUID) -> dict[str, Any]:
    return dict(StepState.objects.filter(process_id=order_id).values_list("name", "result"))


def test_a_decision_and_an_event_are_given_by_the_subject() -> None:
    order_id, other = start(), start("table 8")
    assert signal("table 7", "taste", {"choice": "serve", "note": "good"}, by="olga") == order_id
    drain(wiring.scheduler())
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.act, entry.target) == ("olga", "signal", f"order {order_id}")
    assert entry.after == {"step": "taste", "choice": "serve", "note": "good"}
    page = signed_in(person("viewer")).get(f"/console/orders/{order_id}/").content.decode()
    assert "Step taste completed: olga decided “serve” (good)" in page
    assert signal("table 7", "flour", {"sacks": 3}, by="till") == order_id
    drain(wiring.scheduler())
    assert results(order_id) == {
        "taste": {"choice": "serve", "by": "olga", "note": "good"},
        "flour": {"sacks": 3},
        "mix": {"did": "mix"},
    }
    assert dict(OrderProcess.objects.values_list("pk", "process_state")) == {
        order_id: "processed",
        other: "pending",
    }


def test_a_row_can_be_the_subject() -> None:
    group = Group.objects.create(name="table 9")
    order_id = start(group)
    assert signal(group, "taste", {"choice": "serve"}, by="olga") == order_id


def test_a_signal_counts_only_if_the_transaction_commits() -> None:
    order_id = start()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        signal("table 7", "taste", {"choice": "serve"}, by="olga")
        raise ZeroDivisionError
    drain(wiring.scheduler())
    assert results(order_id)["taste"] is None
    assert signal("table 7", "taste", {"choice": "serve"}, by="olga") == order_id


@pytest.mark.parametrize(
    ("subject", "step"), [("table 6", "taste"), ("table 7", "mix"), ("table 7", "nothing")]
)
def test_nothing_waits(subject: str, step: str) -> None:
    start()
    with pytest.raises(NothingWaitsError, match=f"waits for '{step}'"):
        signal(subject, step, {"choice": "serve"}, by="olga")


def test_an_order_about_nothing_is_not_found_by_that() -> None:
    start("")
    with pytest.raises(NothingWaitsError, match="this is about nothing"):
        signal("", "taste", {"choice": "serve"}, by="olga")


def test_a_second_answer_is_refused() -> None:
    start()
    signal("table 7", "taste", {"choice": "serve"}, by="olga")
    with pytest.raises(NothingWaitsError):
        signal("table 7", "taste", {"choice": "bin"}, by="otto")


def test_several_orders_about_one_subject_are_not_confused() -> None:
    start()
    start()
    with pytest.raises(SeveralWaitError, match="Several orders about 'table 7' wait for 'taste'"):
        signal("table 7", "taste", {"choice": "serve"}, by="olga")


def test_what_is_no_choice_is_refused() -> None:
    start()
    with pytest.raises(BadAnswerError, match="'' is not one of the choices"):
        signal("table 7", "taste", {}, by="olga")


@pytest.mark.parametrize(("choice", "state"), [("serve", "processed"), ("bin", "compensated")])
def test_a_test_runs_such_an_order_to_its_end(choice: str, state: str) -> None:
    order_id = TastedCakes.start("table 7", {"cake": "walnut"})
    ended = run_to_end(order_id, answers={"taste": {"choice": choice}, "flour": {"sacks": 3}})
    assert ended.state == state
    assert (ended.steps["taste"].result or {})["choice"] == choice


def test_without_an_answer_its_time_passes() -> None:
    ended = run_to_end(TastedCakes.start("table 7", {"cake": "walnut"}))
    assert (ended.state, (ended.steps["flour"].error or {})["code"]) == ("error", "no_answer")
    assert ended.seconds_skipped > 3_500
