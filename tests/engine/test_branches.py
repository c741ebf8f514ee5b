"""Steps on a condition, and steps for each item of a list, through the roles and on real rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from orders.engine.contracts import Compensation, Remedy, Workflow
from orders.models import AgentRequest, Event, Order, OrderProcess, StepState
from orders.services.order_changes import resubmit_order
from tests.support.factories import ago, make_order, make_reply, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    drain,
    event_of,
    expire,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.workflows import PARTIES, PARTY

pytestmark = pytest.mark.django_db

DISHES = ("soup", "cake")
FEW, MANY = {"guests": 3}, {"guests": 30}


def a_party(
    steps: Mapping[str, Any] | None = None,
    *,
    dishes: Sequence[str] = DISHES,
    guests: Mapping[str, int] = FEW,
    workflow: Workflow = PARTY,
    **fields: Any,
) -> OrderProcess:
    """An order whose guests have been invited."""
    invited = {"invite": {"state": "completed", "result": dict(guests)}}
    order = make_order({**invited, **(steps or {})}, workflow=workflow, **fields)
    Order.objects.create(id=order.order_id, data={"dishes": list(dishes)}, placed_at=ago(1))
    return order


def of(workflow: Workflow) -> dict[tuple[str, int], Workflow]:
    return {(workflow.name, workflow.version): workflow}


def changed(name: str, **changes: Any) -> Workflow:
    return replace(PARTY, steps=tuple(replace(s, **changes) if s.name == name else s for s in PARTY.steps))


def run(workflow: Workflow = PARTY) -> None:
    drain(a_scheduler(workflows=of(workflow)))


def reversed_steps() -> set[str]:
    return set(AgentRequest.objects.filter(compensates=True).values_list("step", flat=True))


def answer(order: OrderProcess, name: str, result: Any = None, outcome: str = "done") -> None:
    """The host's answer to a step's request, which it deletes."""
    make_reply(step_of(order, name), outcome, result)
    AgentRequest.objects.filter(order_id=order.order_id, step=name).delete()


@pytest.mark.pattern("C1", "C4")
def test_a_step_whose_condition_does_not_hold_is_skipped_and_nothing_is_sent() -> None:
    order = a_party()
    run()
    assert states(order)["music"] == "skipped"
    assert requested_steps() == {"dish:1", "dish:2"}
    assert event_of(order, "step_skipped").detail == {"condition": False}
    assert step_of(order, "music").attempt == 0


def test_a_step_whose_condition_holds_is_started_and_the_history_says_so() -> None:
    order = a_party(guests=MANY)
    run()
    assert requested_steps() == {"music", "dish:1", "dish:2"}
    started = Event.objects.get(order_id=order.order_id, kind="step_started", step="music")
    assert started.detail["condition"] is True


def test_a_condition_is_asked_of_the_result_that_came_in_this_pass() -> None:
    order = make_order({"invite": "running"}, workflow=PARTY, process_state="processing")
    Order.objects.create(id=order.order_id, data={"dishes": []}, placed_at=ago(1))
    answer(order, "invite", MANY)
    run()
    assert requested_steps() == {"music"}


def test_a_condition_knows_the_steps_before_it_and_no_others() -> None:
    """What another step has answered by then is chance."""
    questions: list[Any] = []
    workflow = changed("music", when=lambda order, results: bool(questions.append((order, results))))
    order = a_party(
        {"dish": {"state": "completed", "agent": "", "result": [{"plate": 1}]}}, workflow=workflow
    )
    run(workflow)
    assert questions == [({"dishes": list(DISHES)}, {"invite": FEW})]
    assert states(order)["music"] == "skipped"


def test_a_condition_is_asked_of_a_step_and_not_of_its_items() -> None:
    questions: list[Any] = []
    workflow = changed("dish", when=lambda order, results: questions.append(results) or True)
    a_party(workflow=workflow)
    run(workflow)
    assert requested_steps() == {"dish:1", "dish:2"}
    assert questions == [{"invite": FEW}]


def test_a_step_that_was_sent_is_not_asked_again() -> None:
    """A later release that answers otherwise does not leave out what may have been done."""
    order = a_party({"music": {"state": "not_started", "attempt": 1, "answered": 1, "outcome": "unknown"}})
    run()
    assert "music" in requested_steps()
    assert states(order)["music"] == "running"


@pytest.mark.pattern("C1", "C6")
def test_each_item_has_a_request_and_a_key_of_its_own() -> None:
    order = a_party(priority=7)
    run()
    requests = {request.step: request for request in AgentRequest.objects.all()}
    assert {name: request.body["data"] for name, request in requests.items()} == {
        "dish:1": {"dish": "soup"},
        "dish:2": {"dish": "cake"},
    }
    assert all(request.body["results"] == {"invite": FEW} for request in requests.values())
    assert {request.key for request in requests.values()} == {
        f"{order.order_id}/dish:1/1",
        f"{order.order_id}/dish:2/1",
    }
    assert {request.agent for request in requests.values()} == {"kitchen"}
    assert {request.priority for request in requests.values()} == {7}
    joint = step_of(order, "dish")
    assert (joint.state, joint.agent, joint.awaits) == ("awaiting", "", {"kind": "items", "items": 2})


@pytest.mark.pattern("C4")
def test_the_next_step_starts_once_all_items_are_completed_and_gets_their_results_in_order() -> None:
    order = a_party(dishes=[f"dish {n}" for n in range(1, 12)])
    run()
    for number in (11, *range(2, 11)):
        answer(order, f"dish:{number}", {"plate": number})
    run()
    assert "serve" not in requested_steps()
    answer(order, "dish:1", {"plate": 1})
    run()
    results = AgentRequest.objects.get(step="serve").body["results"]
    assert results == {"music": None, "dish": [{"plate": number} for number in range(1, 12)]}
    assert step_of(order, "dish").result == results["dish"]
    answer(order, "serve")
    run()
    assert stored(order).process_state == "processed"


def test_a_list_without_items_is_completed_at_once() -> None:
    order = a_party(dishes=())
    run()
    assert AgentRequest.objects.get().body["results"] == {"music": None, "dish": []}
    assert states(order) == {
        "invite": "completed",
        "music": "skipped",
        "dish": "completed",
        "serve": "running",
    }


def test_items_are_added_once_however_often_the_order_is_looked_at() -> None:
    order = a_party()
    for _ in range(3):
        all_due(order)
        run()
    assert StepState.objects.filter(process_id=order.order_id, name__startswith="dish:").count() == 2
    assert (stored(order).process_state, states(order)["dish"]) == ("processing", "awaiting")


@pytest.mark.pattern("C4")
def test_a_step_does_not_join_items_that_are_only_being_added() -> None:
    """A step that is skipped in the same pass has the others looked at again."""
    invite, music, dish, serve = PARTY.steps
    workflow = replace(PARTY, steps=(invite, dish, music, serve))
    order = a_party(workflow=workflow)
    run(workflow)
    assert states(order)["music"] == "skipped"
    assert requested_steps() == {"dish:1", "dish:2"}
    assert states(order)["dish"] == "awaiting"


@pytest.mark.pattern("S2", "T6")
def test_a_scheduler_that_dies_after_it_has_added_the_items_leaves_them_to_another() -> None:
    order = a_party()
    counts = a_scheduler(workflows=PARTIES).run_once()
    assert counts.busy
    assert states(order)["dish"] == "awaiting" and not requested_steps()
    drain(a_scheduler("scheduler:b", workflows=PARTIES))
    assert requested_steps() == {"dish:1", "dish:2"}


@pytest.mark.pattern("V3", "V4")
def test_an_item_fails_and_is_resubmitted_alone() -> None:
    order = a_party()
    run()
    answer(order, "dish:1", {"plate": 1})
    answer(order, "dish:2", outcome="refused")
    run()
    assert stored(order).process_state == "error"
    assert alerts_of(order) == [("step_failed", "dish:2", "no")]
    assert states(order)["dish:1"] == "completed"


@pytest.mark.pattern("V1", "V2")
def test_an_item_that_is_overdue_is_tried_again() -> None:
    order = a_party()
    run()
    expire(order, "dish:2")
    a_leader(workflows=PARTIES).run_once()
    assert step_of(order, "dish:2").failure_count == 1
    all_due(order)
    run()
    assert step_of(order, "dish:2").attempt == 2


@pytest.mark.pattern("C10")
def test_items_are_compensated_each_with_its_own_key_after_what_depends_on_them() -> None:
    order = a_party()
    run()
    for number in (1, 2):
        answer(order, f"dish:{number}", {"plate": number})
    run()
    answer(order, "serve", {"served": True})
    OrderProcess.objects.filter(pk=order.order_id).update(goal="compensate")
    run()
    assert reversed_steps() == {"serve"}
    answer(order, "serve")
    run()
    assert reversed_steps() == {"dish:1", "dish:2"}
    reversals = AgentRequest.objects.filter(step="dish:2", compensates=True).values_list(
        "key", "reverses", "body__results__dish:2"
    )
    assert list(reversals) == [
        (f"{order.order_id}/dish:2/1/undo", f"{order.order_id}/dish:2/1", {"plate": 2})
    ]
    for number in (1, 2):
        answer(order, f"dish:{number}")
    run()
    answer(order, "invite")
    run()
    assert stored(order).process_state == "compensated"
    assert history(order, "step_compensated") == [
        ("step_compensated", name) for name in ("serve", "dish:1", "dish:2", "invite")
    ]


@pytest.mark.pattern("C10")
def test_an_order_is_compensated_while_its_items_are_under_way() -> None:
    order = a_party()
    run()
    answer(order, "dish:1", {"plate": 1})
    run()
    OrderProcess.objects.filter(pk=order.order_id).update(
        goal="compensate", process_state="pending", locked_by=None
    )
    answer(order, "dish:2", {"plate": 2})
    run()
    assert reversed_steps() == {"dish:1", "dish:2"}


def test_a_notice_on_a_condition_is_not_sent_about_what_was_never_to_happen() -> None:
    workflow = changed("music", compensation=Compensation.NOTICE)
    order = a_party({"music": "skipped", "dish": "skipped"}, workflow=workflow, goal="compensate")
    run(workflow)
    assert requested_steps() == {"invite"}
    answer(order, "invite")
    run(workflow)
    assert stored(order).process_state == "compensated"


@pytest.mark.parametrize(
    ("step", "change", "reason"),
    [
        (
            "music",
            {"when": lambda order, _: order["band"]},
            "the condition of step 'music' failed: KeyError('band')",
        ),
        (
            "dish",
            {"each": lambda order, _: order["menu"]},
            "the items of step 'dish' failed: KeyError('menu')",
        ),
        (
            "dish",
            {"each": lambda order, _: order.get("menu", [7])},
            "an item of step 'dish' is no object but 7",
        ),
        (
            "dish",
            {"each": lambda order, _: order.get("menu", [{}, ""])},
            "an item of step 'dish' is no object but ''",
        ),
        (
            "dish",
            {"each": lambda order, _: order.get("menu", [{"at": {1}}])},
            "an item of step 'dish' cannot be stored: Object of type set is not JSON serializable",
        ),
        (
            "dish",
            {"each": lambda order, _: order.get("menu", [{}] * 101)},
            "step 'dish' has 101 items; the most is 100",
        ),
    ],
)
@pytest.mark.pattern("V4")
def test_orders_whose_branches_fail_go_into_error_and_hold_up_no_other(
    step: str, change: dict[str, Any], reason: str
) -> None:
    """However many there are: it is the code of a business, and the scheduler has others."""
    workflow = changed(step, remedy=Remedy(then="compensate"), **change)
    *orders, other = (a_party(workflow=workflow) for _ in range(4))
    fixed = {"dishes": ["soup"], "band": True, "menu": [{}]}
    Order.objects.filter(pk=other.order_id).update(data=fixed)
    run(workflow)
    assert stored(other).process_state == "processing"
    for order in orders:
        assert (stored(order).process_state, stored(order).goal) == ("error", "complete")
        assert step_of(order, step).error == {"code": "branch_failed", "message": reason}
        assert alerts_of(order) == [("step_failed", step, "branch_failed")]
    Order.objects.update(data=fixed)
    resubmit_order(order_id=orders[0].order_id, by="ada")
    run(workflow)
    assert states(orders[0])[step] in ("running", "awaiting")
