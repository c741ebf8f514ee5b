"""An edit has what a failed step may have done reversed first, and the step done anew as edited (O2, A3, rule 5)."""

from collections.abc import Callable
from typing import Any

import pytest

from orders.models import AgentRequest, OrderProcess, StepPause, StepState
from orders.services.act_results import Result, ResultStatus
from orders.services.operators import settling
from orders.services.operators.order_editing import ReversalNeededError, edit_order, preview
from orders.services.order_changes import compensate_order, resubmit_order
from tests.services.edited_orders import GOUDA, a_placed_order
from tests.services.operated_orders import BEFORE_SHIPMENT, OLGA, UNKNOWN, pass_over
from tests.support.factories import ago, ahead, make_reply, step_of
from tests.support.order_bodies import DELFT
from tests.support.roles import alerts_of, answer, event_of, everything, history, stored
from tests.support.two_sessions import Session, all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O2", "A3")]

SHIPMENT = "create-shipment"


def in_doubt(**shipment: Any) -> OrderProcess:
    """An order in Error, of which it is unknown whether its parcel was sent."""
    lost = {**UNKNOWN, "answered": 3, "sent_at": ago(60), "settles_at": ago(20), **shipment}
    return a_placed_order({**BEFORE_SHIPMENT, SHIPMENT: lost}, process_state="error")


def corrected(order: OrderProcess, *steps: str, to: Any = GOUDA, seen: Any = DELFT) -> Result:
    return edit_order(
        order_id=order.pk,
        changes={"ship_to": to},
        seen={"ship_to": seen},
        actor=OLGA,
        reason="she moved",
        reverse=steps or (SHIPMENT,),
    )


def late_answer(order: OrderProcess) -> None:
    """The parcel was sent after all: the answer to the attempt that was given up."""
    make_reply(StepState.objects.get(process_id=order.pk, name=SHIPMENT), "done")


def sent() -> list[tuple[bool, str, str]]:
    """The requests that wait for the carrier, as direction, key and the key that is reversed, without the order."""
    rows = AgentRequest.objects.filter(step=SHIPMENT).order_by("id")
    return [
        (request.compensates, request.key.partition("/")[2], request.reverses.partition("/")[2])
        for request in rows
    ]


def test_the_shipment_is_reversed_as_it_was_asked_for_and_then_asked_for_anew() -> None:
    order = in_doubt()
    result = corrected(order)
    assert (result.status, result.message) == (
        ResultStatus.DONE,
        "Edited the order. Resubmitted create-shipment. It is unknown whether create-shipment was done. So it is "
        "reversed first, in case it was, and then done again with the new values.",
    )
    assert event_of(order, "edited").detail["reversed_first"] == [SHIPMENT]
    assert event_of(order, "resubmitted").detail["reversed_first"] is True
    pass_over()
    assert sent() == [(True, "create-shipment/1/undo", "create-shipment/1")]
    assert step_of(order, SHIPMENT).request["ship_to"] == DELFT, (
        "the reversal is sent with what was asked for"
    )
    answer("done", order=order, only=[SHIPMENT])
    pass_over()
    after = step_of(order, SHIPMENT)
    assert sent() == [(False, "create-shipment/2", "")]
    assert (after.state, after.generation, after.next_request) == ("running", 2, None)
    assert (after.request["ship_to"], after.original["ship_to"]) == (GOUDA, DELFT)
    assert history(order, "step_renewed") == [("step_renewed", SHIPMENT)]


@pytest.mark.pattern("C1")
def test_a_pause_of_the_step_holds_back_what_is_done_anew_and_not_the_reversal() -> None:
    order = in_doubt()
    corrected(order)
    StepPause.objects.create(workflow="fulfil-order", step=SHIPMENT, by="olga", reason="mould")
    pass_over()
    assert sent() == [(True, "create-shipment/1/undo", "create-shipment/1")]
    answer("done", order=order, only=[SHIPMENT])
    pass_over()
    after = step_of(order, SHIPMENT)
    assert (sent(), after.state, after.generation) == ([], "not_started", 2)
    assert after.paused_since is not None
    StepPause.objects.all().delete()
    OrderProcess.objects.update(not_before=ago(1))
    pass_over()
    assert sent() == [(False, "create-shipment/2", "")]


def test_without_the_operators_word_nothing_is_reversed_and_the_refusal_names_the_step() -> None:
    order = in_doubt()
    before = everything(order)
    with pytest.raises(ReversalNeededError) as refusal:
        preview(order_id=order.pk, changes={"ship_to": GOUDA})
    assert list(refusal.value.steps) == [SHIPMENT]
    result = edit_order(
        order_id=order.pk, changes={"ship_to": GOUDA}, seen={}, actor=OLGA, reason="she moved"
    )
    assert result.status is ResultStatus.REFUSED
    assert everything(order) == before


def test_a_step_that_need_not_be_reversed_is_named_in_the_refusal() -> None:
    order = in_doubt()
    result = corrected(order, SHIPMENT, "reserve-stock")
    assert result.message == (
        "reserve-stock cannot be reversed for this edit, or need not be any more. Check the order, and review the edit "
        "again."
    )


@pytest.mark.pattern("F16")
def test_an_answer_that_comes_after_the_edit_changes_nothing() -> None:
    order = in_doubt(answered=2)
    corrected(order)
    late_answer(order)
    pass_over()
    after = step_of(order, SHIPMENT)
    assert (after.state, after.outcome, after.result) == ("compensating", "unknown", None)
    assert [kind for kind, _ in history(order, "reply_ignored")] == ["reply_ignored"]


def test_the_reversal_waits_until_the_unanswered_call_can_no_longer_take_effect() -> None:
    order = in_doubt(settles_at=ahead(20))
    corrected(order)
    pass_over()
    assert sent() == []
    assert stored(order).not_before == step_of(order, SHIPMENT).settles_at


@pytest.mark.pattern("C10")
def test_a_reversal_that_fails_is_an_error_and_a_resubmission_reverses_again_with_another_key() -> None:
    order = in_doubt()
    corrected(order)
    pass_over()
    answer("refused", order=order, only=[SHIPMENT])
    pass_over()
    assert alerts_of(order)[-1] == ("step_failed", SHIPMENT, "no")
    failed = step_of(order, SHIPMENT)
    assert (failed.state, failed.outcome, failed.next_request["ship_to"]) == ("failed", "unknown", GOUDA)
    StepState.objects.filter(process_id=order.pk, name=SHIPMENT).update(settles_at=ago(1))
    resubmit_order(order_id=order.pk, by="ada")
    pass_over()
    assert sent() == [(True, "create-shipment/1/undo2", "create-shipment/1")]


@pytest.mark.parametrize("is_done", [True, False])
def test_a_failed_reversal_is_settled_once_it_can_no_longer_take_effect(is_done: bool) -> None:
    order = in_doubt()
    corrected(order)
    StepState.objects.filter(process_id=order.pk, name=SHIPMENT).update(
        state="failed", attempt=4, answered=4, settles_at=ahead(20), compensation_sent_at=ago(1)
    )
    OrderProcess.objects.update(process_state="error")
    settle = {"order_id": order.pk, "step": SHIPMENT, "actor": OLGA, "reason": "they said so"}

    def attempt() -> Result:
        if is_done:
            return settling.settle_done(**settle, result={"tracking": "T1"})
        return settling.settle_not_done(**settle)

    assert "may still take effect until" in attempt().message
    StepState.objects.filter(process_id=order.pk, name=SHIPMENT).update(settles_at=ago(1))
    assert attempt().status is ResultStatus.DONE
    settled = step_of(order, SHIPMENT)
    state, generation, address = ("completed", 1, DELFT) if is_done else ("failed", 2, GOUDA)
    assert (settled.state, settled.generation, settled.next_request) == (state, generation, None)
    assert settled.request["ship_to"] == address


@pytest.mark.pattern("C10")
def test_a_cancellation_takes_the_reversal_over_and_the_step_is_not_done_anew() -> None:
    order = in_doubt()
    corrected(order)
    pass_over()
    compensate_order(order_id=order.pk, by="ada")
    answer("done", order=order, only=[SHIPMENT])
    pass_over()
    after = step_of(order, SHIPMENT)
    assert (after.state, after.generation, after.next_request) == ("compensated", 1, None)
    assert history(order, "step_renewed") == []


def test_another_edit_while_it_is_reversed_changes_what_is_asked_for_anew() -> None:
    order = in_doubt()
    corrected(order)
    pass_over()
    breda = {**GOUDA, "city": "Breda"}
    result = edit_order(
        order_id=order.pk, changes={"ship_to": breda}, seen={"ship_to": GOUDA}, actor=OLGA, reason="again"
    )
    assert result.status is ResultStatus.DONE
    answer("done", order=order, only=[SHIPMENT])
    pass_over()
    after = step_of(order, SHIPMENT)
    assert (after.request["ship_to"], after.original["ship_to"]) == (breda, DELFT)


@pytest.mark.django_db(transaction=True)
def test_of_two_edits_at_once_one_is_refused_and_what_was_done_is_reversed_once() -> None:
    order = in_doubt()
    cities = ("Breda", "Gouda")
    results = all_at_once(2, lambda n: corrected(order, to=DELFT | {"city": cities[n]}))
    assert sorted(result.status.value for result in results) == ["done", "refused"]
    pass_over()
    assert sent() == [(True, "create-shipment/1/undo", "create-shipment/1")]
    assert history(order, "edited") == [("edited", "")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_edit_first", [True, False])
def test_an_edit_and_a_cancellation_at_once_end_in_a_reversal_and_no_new_call(
    new_session: Callable[[], Session], is_edit_first: bool
) -> None:
    order = in_doubt()
    first, second = new_session(), new_session()
    acts: list[Callable[[], Any]] = [
        lambda: corrected(order),
        lambda: compensate_order(order_id=order.pk, by="ada"),
    ]
    first_act, second_act = acts if is_edit_first else reversed(acts)
    first.begin()
    first.do(first_act)
    waiting = second.start(second_act)
    second.await_wait()
    first.commit()
    later = waiting.result(timeout=30)
    if not is_edit_first:
        assert later.status is ResultStatus.REFUSED
    pass_over()
    assert sent() == [(True, "create-shipment/1/undo", "create-shipment/1")]
    answer("done", order=order, only=[SHIPMENT])
    pass_over()
    after = step_of(order, SHIPMENT)
    assert (stored(order).goal, after.state, after.next_request) == ("compensate", "compensated", None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("F16")
@pytest.mark.parametrize("is_edit_first", [True, False])
def test_of_an_edit_and_an_answer_at_once_the_first_counts(
    new_session: Callable[[], Session], is_edit_first: bool
) -> None:
    order = in_doubt(answered=2)
    late_answer(order)
    editor, scheduler = new_session(), new_session()
    if is_edit_first:
        editor.begin()
        result = editor.do(lambda: corrected(order))
        passing = scheduler.start(pass_over)
        editor.commit()
        passing.result(timeout=30)
    else:
        scheduler.begin()
        scheduler.do(pass_over)
        editing = editor.start(lambda: corrected(order))
        scheduler.commit()
        result = editing.result(timeout=30)
    pass_over()
    after = step_of(order, SHIPMENT)
    if is_edit_first:
        assert (result.status, after.state, after.next_request["ship_to"]) == (
            ResultStatus.DONE,
            "compensating",
            GOUDA,
        )
    else:
        assert (result.status, after.state, after.next_request) == (ResultStatus.REFUSED, "completed", None)
    assert after.request["ship_to"] == DELFT
