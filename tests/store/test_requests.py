"""The request queue, scheduler's side: what travels with a request, and what can be taken back (C5, C10)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries

from orders.engine.channels import leases, requests
from orders.engine.channels.leases import Answer
from orders.engine.channels.requests import NewRequest
from orders.models import AgentReply, AgentRequest, StepState
from tests.support.factories import ago, make_order, make_request, step_of
from tests.support.two_sessions import PATIENCE, Session, held

NewSession = Callable[[], Session]


def ask(step: StepState, **fields: Any) -> NewRequest:
    declared: dict[str, Any] = {
        "step_id": step.pk,
        "operation": "bake-it",
        "needs": "",
        "compensates": False,
        "key": f"key of {step.pk}",
        "reverses": "",
        "priority": 5,
    }
    return NewRequest(**(declared | fields))


def lease(*, me: str = "agents:1") -> list[leases.Lease]:
    return leases.claim(room={"kitchen": 10, "oven": 10}, me=me, seconds=8.0)


# --- posting


@pytest.mark.django_db
@pytest.mark.pattern("C5", "A3")
def test_a_request_carries_the_steps_own_data_and_the_results_that_it_needs() -> None:
    order = make_order(
        {
            "mix": {"state": "completed", "result": {"dough": "há", "kg": 1.5}},
            "heat-oven": "skipped",
            "bake": {"state": "running", "attempt": 7, "request": {"portions": 3}},
        }
    )
    make_order({"mix": {"state": "completed", "result": {"dough": "another order's"}}})
    bake = step_of(order, "bake")
    requests.post([ask(bake, needs="mix,heat-oven", priority=8)])
    posted = AgentRequest.objects.get()
    assert (posted.order_id, posted.step_id, posted.step) == (order.order_id, bake.pk, "bake")
    assert (posted.agent, posted.operation, posted.attempt) == ("oven", "bake-it", 7)
    assert (posted.compensates, posted.key, posted.reverses) == (False, f"key of {bake.pk}", "")
    assert posted.complete_by == bake.complete_by
    assert (posted.priority, posted.deliveries) == (8, 0)
    assert (posted.leased_by, posted.leased_until) == (None, None)
    assert posted.body == {
        "data": {"portions": 3},
        "results": {"mix": {"dough": "há", "kg": 1.5}, "heat-oven": None},
    }


@pytest.mark.django_db
@pytest.mark.pattern("C5", "C10")
def test_a_compensation_names_the_call_it_reverses_and_carries_that_steps_answer() -> None:
    order = make_order(
        {
            "mix": {"state": "completed", "result": {"dough": 1}},
            "bake": {"state": "compensating", "result": {"cake": 2}},
        },
        goal="compensate",
    )
    requests.post(
        [ask(step_of(order, "bake"), needs="mix,bake", compensates=True, key="k/undo", reverses="k")]
    )
    posted = AgentRequest.objects.get()
    assert (posted.compensates, posted.key, posted.reverses) == (True, "k/undo", "k")
    assert posted.body["results"] == {"mix": {"dough": 1}, "bake": {"cake": 2}}


@pytest.mark.django_db
def test_a_request_that_needs_nothing_carries_no_results() -> None:
    order = make_order({"mix": {"state": "running", "result": {"old": 1}}})
    requests.post([ask(step_of(order, "mix"))])
    assert AgentRequest.objects.get().body == {"data": {"portions": 1}, "results": {}}


@pytest.mark.django_db
def test_any_number_of_requests_takes_one_statement(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    steps = [step_of(make_order({"mix": "running"}), "mix") for _ in range(30)]
    with django_assert_num_queries(1):
        requests.post([ask(step) for step in steps])
    assert AgentRequest.objects.count() == 30
    with django_assert_num_queries(0):
        requests.post([])
        requests.discard([])
        assert requests.recall([]) == set()


# --- before asking again


@pytest.mark.django_db
@pytest.mark.pattern("A5", "A7")
def test_a_step_is_requested_again_only_after_its_earlier_request_was_discarded() -> None:
    """P3: the former holder of the discarded request can no longer answer."""
    order = make_order({"mix": "running", "box": "running"})
    mix, box = step_of(order, "mix"), step_of(order, "box")
    make_request(box)
    make_request(mix)
    (former,) = [claimed for claimed in lease() if claimed.step == "mix"]
    StepState.objects.filter(pk=mix.pk).update(attempt=2)
    with pytest.raises(IntegrityError, match="step_id"), transaction.atomic():
        requests.post([ask(mix)])
    requests.discard([mix.pk])
    requests.post([ask(mix)])
    assert set(AgentRequest.objects.values_list("step", "attempt")) == {("mix", 2), ("box", 1)}
    answer = Answer(former.id, former.deliveries, "done", "{}", 1)
    assert leases.complete([answer], me="agents:1") == 0
    assert AgentRequest.objects.count() == 2
    assert AgentReply.objects.count() == 0


# --- taking back


@pytest.mark.django_db
@pytest.mark.pattern("C10")
def test_only_requests_that_no_agent_ever_received_are_recalled() -> None:
    order = make_order(dict.fromkeys(("mix", "heat-oven", "bake", "box"), "running"))
    never, is_held, lapsed, other = (step_of(order, name) for name in ("mix", "heat-oven", "bake", "box"))
    make_request(never)
    make_request(is_held, deliveries=1, leased_by="agents:1", leased_until=ago(1))
    make_request(lapsed, deliveries=1)
    make_request(other)
    assert requests.recall([never.pk, is_held.pk, lapsed.pk, 0]) == {never.pk}
    remaining = {is_held.pk, lapsed.pk, other.pk}
    assert set(AgentRequest.objects.values_list("step_id", flat=True)) == remaining
    assert requests.recall([never.pk]) == set()


@pytest.mark.django_db
@pytest.mark.pattern("C10", "A7")
@pytest.mark.parametrize(
    ("has_called", "is_under_way", "is_recalled"),
    [(False, False, True), (True, False, False), (True, True, False)],
)
def test_a_request_that_was_given_back_is_recalled_only_if_its_host_had_not_called(
    has_called: bool, is_under_way: bool, is_recalled: bool
) -> None:
    mix = step_of(make_order({"mix": "running"}), "mix")
    make_request(mix)
    (leased,) = lease()
    leases.release([leases.GivenBack(leased.id, leased.deliveries, has_called, is_under_way)], me="agents:1")
    (again,) = lease()
    assert (again.may_be_begun, again.may_be_under_way) == (has_called, is_under_way)
    leases.release([leases.GivenBack(again.id, again.deliveries, False, False)], me="agents:1")
    assert requests.recall([mix.pk]) == ({mix.pk} if is_recalled else set())


@pytest.mark.pattern("C10")
def test_a_request_that_is_being_claimed_is_not_recalled(new_session: NewSession) -> None:
    order = make_order({"mix": "running", "box": "running"})
    mix, box = step_of(order, "mix"), step_of(order, "box")
    make_request(mix)
    agent, scheduler = new_session(), new_session()
    agent.begin()
    assert [claimed.step for claimed in agent.do(lease)] == ["mix"]
    make_request(box)
    scheduler.begin()
    assert scheduler.do(lambda: requests.recall([mix.pk, box.pk])) == {box.pk}
    agent.commit()
    scheduler.commit()
    assert AgentRequest.objects.get().leased_by == "agents:1"


@pytest.mark.pattern("C10")
def test_a_request_that_is_being_recalled_is_not_claimed(new_session: NewSession) -> None:
    order = make_order({"mix": "running", "box": "running"})
    mix, box = step_of(order, "mix"), step_of(order, "box")
    make_request(mix)
    make_request(box)
    agent, scheduler = new_session(), new_session()
    scheduler.begin()
    assert scheduler.do(lambda: requests.recall([mix.pk])) == {mix.pk}
    assert [claimed.step for claimed in agent.do(lambda: in_transaction(lease))] == ["box"]
    scheduler.commit()
    assert AgentRequest.objects.get().step == "box"


@pytest.mark.pattern("C10")
def test_a_request_that_was_claimed_between_choice_and_lock_is_not_recalled(new_session: NewSession) -> None:
    order = make_order({"mix": "running", "box": "running"})
    mix, box = step_of(order, "mix"), step_of(order, "box")
    make_request(box, agent="courier")
    make_request(mix)
    scheduler = new_session()
    scheduler.begin()
    with held(scheduler, lambda: requests.recall([mix.pk, box.pk]), at="deliveries = 0") as recalled:
        assert [claimed.step for claimed in in_transaction(lease)] == ["mix"]
    assert recalled.result(timeout=PATIENCE) == {box.pk}
    scheduler.commit()
    assert AgentRequest.objects.get().step == "mix"


def in_transaction(act: Callable[[], list[leases.Lease]]) -> list[leases.Lease]:
    with transaction.atomic():
        return act()
