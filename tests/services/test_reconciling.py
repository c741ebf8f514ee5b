"""Compares remote services, whose books a test writes, with the database."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.engine.contracts import Effect, EffectPage, NotDone, Unknown
from orders.engine.errors import Refused, Transient, Unresolved
from orders.models import Event, OrderProcess, StepState, SubmissionMessage
from orders.reconciliation import asking, check
from orders.reconciliation.check import AgentReport, reconcile
from tests.support.agents import AskableAgent, ScriptedAgent
from tests.support.bookkeeping import BookkeepingAgent, effect_of
from tests.support.factories import ago, make_order
from tests.support.roles import in_thread
from tests.support.workflows import BAKED, CAKES, PACKED

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "FIRST_BACKOFF", 0.001)


def run(
    agent: ScriptedAgent, *, since: float = 3_600.0, most: int = check.MOST, fault: str = ""
) -> AgentReport:
    (report,) = reconcile(agents=[agent], workflows=CAKES, since=ago(since), most=most)
    assert agent.closed
    assert report.fault == fault
    return report


def kinds(report: AgentReport) -> list[tuple[str, UUID, str]]:
    """The discrepancies of a report, each as kind, order and step."""
    return [(each.kind.value, each.order_id, each.step) for each in report.discrepancies]


def mixed_order(**process: Any) -> OrderProcess:
    """An order under way whose mix was completed a minute ago."""
    order = make_order({"mix": "completed"}, **({"process_state": "processing"} | process))
    StepState.objects.filter(process=order, name="mix").update(completed_at=ago(60))
    return order


@pytest.mark.pattern("F35")
def test_both_sides_agree_about_ordinary_orders() -> None:
    orders = [mixed_order() for _ in range(5)]
    agent = BookkeepingAgent("kitchen", *(effect_of(order.order_id, "mix") for order in orders))
    report = run(agent)
    assert (report.effects, report.steps, kinds(report)) == (5, 5, [])
    assert not report.is_incomplete
    assert agent.listings == ["", "2", "4"]
    assert {request.key for request in agent.inquiries} == {effect.key for effect in agent.effects}


@pytest.mark.pattern("F35")
def test_an_effect_without_an_order_is_a_discrepancy_and_a_waiting_submission_is_an_order() -> None:
    lost, waiting, reversed_order = uuid7(), uuid7(), uuid7()
    SubmissionMessage.objects.create(order_id=waiting, client="c", body={})
    agent = BookkeepingAgent(
        "kitchen",
        effect_of(lost, "mix", age=30),
        effect_of(waiting, "mix"),
        effect_of(reversed_order, "mix", is_reversed=True),
        effect_of(reversed_order, "mix", is_compensation=True),
    )
    report = run(agent)
    assert kinds(report) == [("order_unknown", lost, "mix")]
    (discrepancy,) = report.discrepancies
    effect = agent.effects[0]
    assert (discrepancy.agent, discrepancy.key) == ("kitchen", f"{lost}/mix/1")
    assert (discrepancy.operation, discrepancy.at) == ("mix-it", effect.at)


@pytest.mark.pattern("F35")
def test_a_step_that_the_service_has_not_done_is_a_discrepancy() -> None:
    orders = [mixed_order() for _ in range(3)]
    agent = BookkeepingAgent("kitchen", *(effect_of(order.order_id, "mix") for order in orders[1:]))
    report = run(agent)
    assert kinds(report) == [("not_done_there", orders[0].order_id, "mix")]
    assert report.discrepancies[0].operation == "mix-it"
    request = next(each for each in agent.inquiries if each.order_id == orders[0].order_id)
    assert (request.key, request.data, request.compensates) == (
        f"{orders[0].order_id}/mix/1", {"portions": 1}, False,
    )  # fmt: skip


def test_a_step_is_asked_about_with_the_results_that_it_needs() -> None:
    order = make_order(PACKED | {"deliver": "completed"}, process_state="processing")
    StepState.objects.filter(process=order).update(completed_at=ago(60))
    agent = BookkeepingAgent("courier")
    run(agent)
    (request,) = agent.inquiries
    assert (request.operation, request.results) == (
        "deliver-it", {"bake": {"ok": True}, "box": {"ok": True}},
    )  # fmt: skip


def test_an_effect_that_was_reversed_on_one_side_only_is_a_discrepancy_once() -> None:
    here, there = (
        make_order({"mix": "compensated"}, process_state="compensated", goal="compensate"),
        mixed_order(),
    )
    agent = BookkeepingAgent(
        "kitchen",
        effect_of(there.order_id, "mix", is_reversed=True),
        effect_of(here.order_id, "mix"),
        effect_of(there.order_id, "mix", is_compensation=True),
    )
    assert kinds(run(agent)) == [
        ("reversed_there", there.order_id, "mix"),
        ("not_reversed_there", here.order_id, "mix"),
    ]


def test_a_notice_is_not_expected_to_be_reversed() -> None:
    order = make_order({"tell": "compensated"}, process_state="compensated", goal="compensate")
    agent = BookkeepingAgent(
        "post", effect_of(order.order_id, "tell"), effect_of(order.order_id, "tell", is_compensation=True)
    )
    assert kinds(run(agent)) == []


def test_what_an_operator_settled_with_proof_is_no_discrepancy() -> None:
    done = mixed_order()
    compensated = make_order({"mix": "compensated"}, process_state="compensated", goal="compensate")
    agent = BookkeepingAgent("kitchen", effect_of(compensated.order_id, "mix"))
    assert len(run(agent).discrepancies) == 2
    for order, kind in [(done, "settled_done"), (compensated, "settled_compensated")]:
        Event.objects.create(
            order_id=order.order_id, kind=kind, step="mix", actor_kind="operator", actor_name="operator:ada"
        )
    assert kinds(run(agent)) == []


def test_effects_that_orders_under_way_will_ask_for_are_only_counted() -> None:
    under_way, failed = (make_order(process_state=state) for state in ("pending", "error"))
    agent = BookkeepingAgent(
        "kitchen", effect_of(under_way.order_id, "mix"), effect_of(failed.order_id, "mix")
    )
    report = run(agent)
    assert report.awaited == 1
    assert kinds(report) == [("not_recorded", failed.order_id, "mix")]


def test_effects_under_keys_of_others_are_only_counted() -> None:
    agent = BookkeepingAgent("kitchen", Effect(key="invoice-7", operation="mix-it", at=ago(5)))
    report = run(agent)
    assert (report.effects, report.foreign, kinds(report)) == (1, 1, [])


@pytest.mark.pattern("F35")
def test_only_the_time_that_was_asked_for_is_compared() -> None:
    mixed_order()
    agent = BookkeepingAgent("kitchen", effect_of(uuid7(), "mix", age=60))
    report = run(agent, since=30)
    assert (report.effects, report.steps, kinds(report)) == (0, 0, [])


# --- what changes while it is looked at


def meanwhile(call: int, act: Callable[[], object]) -> Callable[[int], None]:
    """Runs `act` in the middle of the call with that number, on a connection of its own."""

    def before_answer(number: int) -> None:
        if number == call:
            in_thread(act).result(timeout=60)

    return before_answer


@pytest.mark.pattern("F35")
def test_an_effect_that_is_cancelled_while_its_step_is_settled_is_no_discrepancy(
    transactional_db: None,
) -> None:
    """The listing still shows the effect; by then an operator has cancelled it and settled the step as not done."""
    order = make_order({"mix": {"state": "failed", "outcome": "unknown"}}, process_state="error")
    agent = BookkeepingAgent("kitchen", effect_of(order.order_id, "mix"))

    def cancel_and_settle() -> None:
        agent.effects = [effect_of(order.order_id, "mix", is_reversed=True)]
        StepState.objects.filter(process=order, name="mix").update(outcome="none", generation=2)

    agent.before_answer = meanwhile(1, cancel_and_settle)
    assert kinds(run(agent)) == []
    assert agent.listings == ["", ""]


@pytest.mark.pattern("F35")
def test_a_compensation_that_comes_through_meanwhile_is_no_discrepancy(transactional_db: None) -> None:
    """The service is asked about a completed step just when the compensation has reversed it."""
    order = mixed_order()
    agent = BookkeepingAgent("kitchen")

    def compensate() -> None:
        OrderProcess.objects.filter(pk=order.pk).update(goal="compensate")
        StepState.objects.filter(process=order, name="mix").update(state="compensated")

    agent.before_answer = meanwhile(2, compensate)
    assert kinds(run(agent)) == []
    assert len(agent.inquiries) == 1


def test_an_order_that_is_placed_again_meanwhile_is_no_discrepancy(transactional_db: None) -> None:
    lost = uuid7()
    agent = BookkeepingAgent("kitchen", effect_of(lost, "mix"))
    agent.before_answer = meanwhile(
        2, lambda: SubmissionMessage.objects.create(order_id=lost, client="c", body={})
    )
    assert kinds(run(agent)) == []


# --- services that cannot be compared


def test_a_call_that_fails_for_now_is_tried_again() -> None:
    lost = uuid7()
    agent = BookkeepingAgent("kitchen", effect_of(lost, "mix"))
    agent.before_answer = lambda number: Transient("http_503", "not now") if number in (1, 2) else None
    report = run(agent)
    assert kinds(report) == [("order_unknown", lost, "mix")]
    assert not report.is_incomplete


@pytest.mark.parametrize(
    ("error", "text", "calls"),
    [
        (Transient("http_503", "not now"), "http_503: not now", 3),
        (Unresolved("misconfigured", "answer 404"), "misconfigured: answer 404", 1),
        (Refused("http_422", "no"), "http_422: no", 1),
        (RuntimeError("broken"), "agent_failed: RuntimeError: broken", 1),
    ],
)
def test_a_service_that_cannot_be_listed_is_reported_with_its_fault(
    error: Exception, text: str, calls: int
) -> None:
    agent = BookkeepingAgent("kitchen")
    agent.before_answer = lambda number: error
    report = run(agent, fault=text)
    assert (len(agent.listings), agent.inquiries) == (calls, [])
    assert report.is_incomplete and report.is_checkable


def test_a_service_that_cannot_list_is_still_asked_about_steps() -> None:
    order = mixed_order()
    agent = BookkeepingAgent("kitchen")
    agent.before_answer = lambda number: Unresolved("misconfigured", "no such page") if number == 1 else None
    report = run(agent, fault="misconfigured: no such page")
    assert kinds(report) == [("not_done_there", order.order_id, "mix")]


def test_a_service_that_fails_while_it_is_asked_keeps_the_discrepancies_so_far() -> None:
    lost = uuid7()
    mixed_order()
    agent = BookkeepingAgent("kitchen", effect_of(lost, "mix"))
    agent.before_answer = lambda number: Transient("timeout", "no answer in time") if number > 2 else None
    report = run(agent, fault="timeout: no answer in time")
    assert kinds(report) == [("order_unknown", lost, "mix")]


def test_a_service_that_hangs_is_given_up() -> None:
    async def hang(request: object) -> None:
        await asyncio.Event().wait()

    mixed_order()
    agent = AskableAgent("kitchen", findings=[hang], call_timeout=0.01)
    run(agent, fault="no_answer: no answer within 0.01 s")
    assert len(agent.inquiries) == 3


def test_a_service_that_cannot_tell_makes_the_comparison_incomplete() -> None:
    for _ in range(2):
        mixed_order()
    agent = BookkeepingAgent("kitchen")
    agent.finding = lambda request: Unknown(reason="the books are closed")
    report = run(agent)
    assert (report.unclear, report.reason, kinds(report)) == (2, "the books are closed", [])
    assert report.is_incomplete


def test_an_agent_that_cannot_ask_about_one_step_can_ask_about_the_others() -> None:
    first, second = mixed_order(), mixed_order()
    agent = BookkeepingAgent("kitchen")

    def finding(request: Any) -> NotDone:
        if request.order_id == first.order_id:
            raise KeyError("portions")
        return NotDone()

    agent.finding = finding
    report = run(agent)
    assert kinds(report) == [("not_done_there", second.order_id, "mix")]
    assert (report.unclear, report.reason) == (1, "KeyError: 'portions'")


def test_a_step_of_another_release_cannot_be_asked_about() -> None:
    mixed_order(version=99)
    agent = BookkeepingAgent("kitchen")
    report = run(agent)
    assert (report.unclear, report.reason) == (1, "this release has no bake-cake v99")
    assert agent.inquiries == []


def test_agents_are_compared_as_far_as_they_can_be() -> None:
    mixed_order()
    mute = run(ScriptedAgent("kitchen"))
    assert (mute.effects, mute.steps, mute.is_checkable, mute.is_incomplete) == (None, None, False, False)
    askable = run(AskableAgent("kitchen", findings=[NotDone()]))
    assert (askable.effects, askable.steps, askable.is_checkable) == (None, 1, True)
    assert len(askable.discrepancies) == 1


def test_a_service_that_lists_in_circles_is_left() -> None:
    class CirclingAgent(ScriptedAgent):
        async def list_effects(self, *, since: datetime, after: str) -> EffectPage:
            return EffectPage(effects=[], following="the same again")

    run(CirclingAgent("kitchen"), fault="bad_answer: the service lists the same effects again and again")


@pytest.mark.pattern("F35")
def test_too_many_discrepancies_end_the_comparison() -> None:
    agent = BookkeepingAgent("kitchen", *(effect_of(uuid7(), "mix") for _ in range(9)))
    report = run(agent, most=3)
    assert len(report.discrepancies) == 3
    assert report.is_full and report.is_incomplete
    assert len(agent.listings) <= 4
    assert not run(agent, most=9).is_full


def test_every_step_of_a_long_list_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "AT_ONCE", 2)
    orders = [make_order(BAKED, process_state="processing") for _ in range(5)]
    StepState.objects.filter(state="completed").update(completed_at=ago(60))
    agent = BookkeepingAgent("oven", *(effect_of(order.order_id, "bake") for order in orders))
    agent.done = {f"{order.order_id}/heat-oven/1" for order in orders}
    report = run(agent)
    assert (report.steps, kinds(report)) == (10, [])
    assert len({request.key for request in agent.inquiries}) == len(agent.inquiries) == 10
