"""What operators do to orders whose steps run for each item of a list, and what happens to the items meanwhile."""

from typing import Any

import pytest

from orders.engine.contracts import Remedy
from orders.models import AgentRequest, Order, OrderProcess, StepState
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators import order_acts, settling
from orders.services.order_changes import compensate_order, resubmit_order
from tests.engine.test_branches import a_party, answer, changed, run
from tests.support.factories import ago, make_order, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    drain,
    expire,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.workflows import PARTIES, PARTY

pytestmark = pytest.mark.django_db
ADA = Actor(name="operator:ada")


def cooking() -> OrderProcess:
    """A party whose first dish is ready; the second one is being cooked."""
    order = a_party()
    run()
    answer(order, "dish:1", {"plate": 1})
    run()
    return order


def on(order: OrderProcess, step: str) -> dict[str, Any]:
    return {"order_id": order.order_id, "step": step, "actor": ADA, "reason": "nobody is hungry"}


@pytest.mark.pattern("O2")
def test_a_step_that_waits_for_its_items_is_neither_skipped_settled_nor_hurried() -> None:
    order = cooking()
    skipped = order_acts.skip(**on(order, "dish"))
    assert (skipped.status, skipped.message) == (
        ResultStatus.REFUSED,
        "Step dish waits for its items. Skip those that the order can do without.",
    )
    assert settling.settle_done(**on(order, "dish"), result={"plates": 2}).status is ResultStatus.REFUSED
    retried = order_acts.retry_now(order_id=order.order_id, actor=ADA, step="dish")
    assert retried.status is ResultStatus.ALREADY
    assert states(order)["dish"] == "awaiting"


@pytest.mark.pattern("O2")
def test_an_item_is_skipped_and_its_result_is_none() -> None:
    order = cooking()
    answer(order, "dish:2", outcome="refused")
    run()
    assert order_acts.skip(**on(order, "dish:2")).status is ResultStatus.DONE
    run()
    assert AgentRequest.objects.get(step="serve").body["results"]["dish"] == [{"plate": 1}, None]


@pytest.mark.pattern("O2")
def test_a_step_is_skipped_before_its_items_are_added() -> None:
    order = make_order({"invite": "running"}, workflow=PARTY, process_state="processing")
    assert order_acts.skip(**on(order, "dish")).status is ResultStatus.DONE
    answer(order, "invite", {"guests": 3})
    run()
    assert requested_steps() == {"serve"}
    assert AgentRequest.objects.get().body["results"] == {"music": None, "dish": None}


@pytest.mark.pattern("O2", "V4")
def test_items_go_on_while_one_has_put_the_order_into_error() -> None:
    order = a_party()
    run()
    answer(order, "dish:1", outcome="failed")
    StepState.objects.filter(process_id=order.order_id, name="dish:1").update(failure_count=2)
    run()
    answer(order, "dish:2", {"plate": 2})
    run()
    assert stored(order).process_state == "error"
    assert alerts_of(order) == [("step_failed", "dish:1", "no")]
    assert states(order)["dish:2"] == "completed"
    assert settling.settle_done(**on(order, "dish:1"), result={"plate": 1}).status is ResultStatus.DONE
    run()
    assert AgentRequest.objects.get(step="serve").body["results"]["dish"] == [{"plate": 1}, {"plate": 2}]


@pytest.mark.pattern("V4")
def test_a_refused_item_is_resubmitted_with_a_key_of_its_own() -> None:
    order = cooking()
    answer(order, "dish:2", outcome="refused")
    run()
    assert resubmit_order(order_id=order.order_id, by="ada").message == "Resubmitted dish:2."
    run()
    assert AgentRequest.objects.get().key == f"{order.order_id}/dish:2/2"


@pytest.mark.pattern("A9")
def test_items_have_the_priority_that_the_order_has_by_then() -> None:
    order = make_order({"invite": "running"}, workflow=PARTY, process_state="processing", priority=5)
    Order.objects.create(id=order.order_id, data={"dishes": ["soup", "cake"]}, placed_at=ago(1))
    assert order_acts.set_priority(order_id=order.order_id, priority=9, actor=ADA).status is ResultStatus.DONE
    answer(order, "invite", {"guests": 3})
    run()
    assert {step_of(order, name).priority for name in ("dish", "dish:1", "dish:2")} == {9}
    assert set(AgentRequest.objects.values_list("priority", flat=True)) == {9}


@pytest.mark.pattern("C10")
def test_an_order_that_is_compensated_before_its_items_are_added_never_has_any() -> None:
    order = make_order({"invite": "running"}, workflow=PARTY, process_state="processing")
    compensate_order(order_id=order.order_id, by="ada")
    answer(order, "invite", {"guests": 3})
    run()
    assert requested_steps() == {"invite"}
    answer(order, "invite")
    run()
    assert stored(order).process_state == "compensated"
    assert states(order) == {"invite": "compensated"}
    assert StepState.objects.filter(process_id=order.order_id).count() == len(PARTY.steps)


@pytest.mark.pattern("C10")
def test_an_order_whose_items_have_been_added_but_not_sent_has_nothing_else_to_compensate() -> None:
    order = a_party()
    a_scheduler(workflows=PARTIES).run_once()
    compensate_order(order_id=order.order_id, by="ada")
    run()
    assert requested_steps() == {"invite"}
    assert history(order, "wait_ended") == [("wait_ended", "dish")]
    answer(order, "invite")
    run()
    assert stored(order).process_state == "compensated"


@pytest.mark.pattern("C10", "V4")
def test_the_remedy_of_one_item_compensates_the_others() -> None:
    workflow = changed("dish", remedy=Remedy(then="compensate"))
    order = a_party(workflow=workflow)
    run(workflow)
    answer(order, "dish:1", {"plate": 1})
    run(workflow)
    leader = a_leader(workflows={(workflow.name, workflow.version): workflow})
    for _ in range(3):
        expire(order, "dish:2")
        leader.run_once()
        all_due(order)
        run(workflow)
    assert stored(order).goal == "compensate"
    assert set(AgentRequest.objects.filter(compensates=True).values_list("step", flat=True)) == {
        "dish:1",
        "dish:2",
    }


@pytest.mark.pattern("V1", "V2")
def test_an_order_that_overruns_while_it_waits_for_items_is_taken_up_again() -> None:
    order = cooking()
    OrderProcess.objects.filter(pk=order.order_id).update(complete_by=ago(1))
    a_leader(workflows=PARTIES).run_once()
    run()
    assert (stored(order).overruns, states(order)["dish"]) == (1, "awaiting")
    answer(order, "dish:2", {"plate": 2})
    run()
    assert "serve" in requested_steps()


@pytest.mark.pattern("C3")
def test_schedulers_take_turns_at_the_items_of_an_order() -> None:
    order = a_party(dishes=["soup", "cake", "pie"])
    ada, bob = (a_scheduler(f"scheduler:{name}", workflows=PARTIES) for name in ("ada", "bob"))
    drain(ada)
    for number, scheduler in enumerate((bob, ada, bob), 1):
        answer(order, f"dish:{number}", {"plate": number})
        drain(scheduler)
    assert len(AgentRequest.objects.get(step="serve").body["results"]["dish"]) == 3
    assert history(order, "step_completed").count(("step_completed", "dish")) == 1
