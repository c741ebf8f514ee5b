"""Decisions, outside events and callbacks are taken once, in time, and only for what they answer."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest
from django.core import signing
from uuid_utils.compat import uuid7

from orders.engine.callbacks import issue_token, read_token
from orders.engine.rows import EffectKey
from orders.models import AgentReply, OrderProcess, StepState
from orders.services.answers import (
    LARGEST_RESULT,
    AlreadyAnsweredError,
    AnswerError,
    AnswerTooLargeError,
    BadAnswerError,
    NothingWaitsError,
    TooLateError,
    answer_callback,
    answer_event,
    decide,
)
from orders.services.order_lock import NoSuchOrderError
from tests.support.factories import ago, ahead, make_order, make_reply, step_of
from tests.support.roles import a_leader, a_scheduler, expire, history, states, stored
from tests.support.workflows import FEAST, FEASTS

pytestmark = pytest.mark.django_db

APPROVE = {"state": "awaiting", "awaits": {"kind": "decision", "choices": ["accept", "reject"]}}


def feast(**steps: Any) -> OrderProcess:
    return make_order(
        {"plan": "completed", "supplies": "awaiting", "approve": APPROVE} | steps,
        workflow=FEAST,
        not_before=ahead(9_000),
    )


def parked_cake(name: str = "mix", **fields: Any) -> OrderProcess:
    waits = {"state": "awaiting", "outcome": "unknown", "awaits": {"kind": "answer", "reference": "job-7"}}
    until = {"awaits_until": ahead(3_600), "sent_at": ago(9)}
    return make_order({name: waits | until | fields, "heat-oven": "completed"}, not_before=ahead(9_000))


def replies() -> list[tuple[str, int, str, Any, str]]:
    rows = AgentReply.objects.order_by("id").values_list("outcome", "attempt", "instance", "body")
    return [(outcome, attempt, instance, body) for outcome, attempt, instance, body in rows]  # type: ignore[misc]


def token_of(step: StepState, *, compensates: bool = False) -> str:
    key = f"{step.process_id}/{step.name}/{step.generation}"
    return issue_token(f"{key}/undo" if compensates else key)


# --- decisions


def test_a_decision_is_posted_as_the_answer_to_the_present_attempt() -> None:
    order = feast()
    decide(order_id=order.pk, step="approve", choice="accept", by="ada", note="fine\x00")
    assert replies() == [("done", 1, "ada", {"choice": "accept", "by": "ada", "note": "fine\ufffd"})]
    assert step_of(order, "approve").complete_by is None
    a_scheduler(workflows=FEASTS).run_once()
    assert step_of(order, "approve").result == {"choice": "accept", "by": "ada", "note": "fine\ufffd"}


def test_a_second_decision_is_refused_before_and_after_the_first_is_read() -> None:
    order = feast()
    decide(order_id=order.pk, step="approve", choice="accept", by="ada")
    for _ in range(2):
        with pytest.raises(AlreadyAnsweredError):
            decide(order_id=order.pk, step="approve", choice="reject", by="bob")
        a_scheduler(workflows=FEASTS).run_once()
    assert (stored(order).goal, states(order)["approve"]) == ("complete", "completed")
    assert "reply_ignored" not in dict(history(order))


@pytest.mark.pattern("A5", "V1")
def test_a_decision_in_time_counts_even_if_it_is_read_after_the_time_is_over() -> None:
    order = feast()
    decide(order_id=order.pk, step="approve", choice="accept", by="ada")
    assert a_leader(workflows=FEASTS).run_once().done.get("found", 0) == 0
    a_scheduler(workflows=FEASTS).run_once()
    assert states(order)["approve"] == "completed"


def test_a_decision_after_its_time_is_refused_even_before_the_supervisor_has_seen_it() -> None:
    order = feast()
    expire(order, "approve")
    with pytest.raises(TooLateError, match="over"):
        decide(order_id=order.pk, step="approve", choice="accept", by="ada")
    a_leader(workflows=FEASTS).run_once()
    with pytest.raises(TooLateError):
        decide(order_id=order.pk, step="approve", choice="accept", by="ada")
    assert replies() == []


def test_a_choice_that_was_not_offered_is_refused_with_those_that_were() -> None:
    order = feast()
    with pytest.raises(BadAnswerError, match=r"^'perhaps' is not one of the choices: accept, reject\.$"):
        decide(order_id=order.pk, step="approve", choice="perhaps", by="ada")
    decide(order_id=order.pk, step="approve", choice="reject", by="ada")


def test_an_order_that_is_being_cancelled_takes_no_answer() -> None:
    order = feast()
    OrderProcess.objects.filter(pk=order.pk).update(goal="compensate")
    for answer in (
        lambda: decide(order_id=order.pk, step="approve", choice="accept", by="ada"),
        lambda: answer_event(order_id=order.pk, step="supplies", result={}, by="ada"),
    ):
        with pytest.raises(TooLateError, match="cancelled"):
            answer()
    assert replies() == []


@pytest.mark.parametrize("step", ["plan", "supplies", "cook", "nowhere"])
def test_what_does_not_wait_for_a_decision_takes_none(step: str) -> None:
    order = feast()
    with pytest.raises(NothingWaitsError):
        decide(order_id=order.pk, step=step, choice="accept", by="ada")
    assert replies() == []


def test_an_order_that_is_not_there_takes_no_answer() -> None:
    with pytest.raises(NoSuchOrderError):
        decide(order_id=uuid7(), step="approve", choice="accept", by="ada")


@pytest.mark.parametrize("by", ["", " ", "a" * 121])
def test_somebody_must_answer(by: str) -> None:
    order = feast()
    with pytest.raises(BadAnswerError, match="who answers"):
        decide(order_id=order.pk, step="approve", choice="accept", by=by)
    assert (replies(), step_of(order, "approve").complete_by is None) == ([], False)


# --- outside events


def test_what_comes_with_an_event_is_the_result_of_the_step() -> None:
    order = feast()
    answer_event(order_id=order.pk, step="supplies", result={"came": True, "crates": 3}, by="farm")
    with pytest.raises(AlreadyAnsweredError):
        answer_event(order_id=order.pk, step="supplies", result={"came": False}, by="farm")
    a_scheduler(workflows=FEASTS).run_once()
    assert step_of(order, "supplies").result == {"came": True, "crates": 3}


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (["came"], BadAnswerError),
        ({"n": float("nan")}, BadAnswerError),
        ({"text": "\x00"}, BadAnswerError),
        ({"text": "\ud800"}, BadAnswerError),
        ({"text": "x" * LARGEST_RESULT}, AnswerTooLargeError),
    ],
)
def test_a_result_that_cannot_be_kept_is_refused(result: Any, error: type[AnswerError]) -> None:
    order = feast()
    with pytest.raises(error):
        answer_event(order_id=order.pk, step="supplies", result=result, by="farm")
    assert (replies(), states(order)["supplies"]) == ([], "awaiting")


# --- callbacks


def test_a_token_says_which_call_it_answers_and_fits_into_a_path() -> None:
    order_id = UUID("01936c2e-0000-7000-8000-0000000000aa")
    token = issue_token(f"{order_id}/pay the/bill/3/undo2")
    assert read_token(token) == (
        f"{order_id}/pay the/bill/3/undo2",
        EffectKey(order_id, "pay the/bill", 3, True),
    )
    assert not set(token) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: token[:-1] + ("a" if token[-1] != "a" else "b"),
        lambda token: token.partition(":")[0],
        lambda token: token * 20,
        lambda token: "",
        lambda token: signing.Signer(salt="another").sign_object("a"),
        lambda token: signing.Signer(salt="sasweb.callbacks").sign_object({"not": "a key"}),
    ],
)
def test_a_token_that_is_not_ours_answers_nothing(spoil: Callable[[str], str]) -> None:
    order = parked_cake()
    with pytest.raises(NothingWaitsError, match="no token of ours"):
        answer_callback(token=spoil(token_of(step_of(order, "mix"))), result={})
    assert replies() == []


@pytest.mark.pattern("C6", "A4")
def test_a_callback_completes_the_parked_step() -> None:
    order = parked_cake()
    answer_callback(token=token_of(step_of(order, "mix")), result={"dough": 1})
    a_scheduler().run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.outcome, mix.result) == ("completed", "done", {"dough": 1})


@pytest.mark.pattern("C7")
def test_an_error_by_callback_is_a_refusal() -> None:
    order = parked_cake()
    answer_callback(token=token_of(step_of(order, "mix")), error=("no eggs \x00", "m" * 3_000))
    a_scheduler().run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.outcome) == ("failed", "refused")
    assert mix.error == {"code": "no_eggs_\ufffd", "message": "m" * 2_000}
    assert stored(order).process_state == "error"


@pytest.mark.pattern("A5")
def test_a_token_is_used_up_by_its_first_answer() -> None:
    order = parked_cake()
    token = token_of(step_of(order, "mix"))
    answer_callback(token=token, result={"dough": 1})
    for _ in range(2):
        with pytest.raises(AlreadyAnsweredError):
            answer_callback(token=token, result={"dough": 2})
        a_scheduler().run_once()
    assert step_of(order, "mix").result == {"dough": 1}
    assert "reply_ignored" not in dict(history(order))


def test_a_callback_that_overtakes_the_agents_answer_wins() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    mix = step_of(order, "mix")
    answer_callback(token=token_of(mix), result={"dough": 1})
    make_reply(mix, "pending", {"within": 60.0, "reference": "job-7", "poll_after": None})
    with pytest.raises(AlreadyAnsweredError):
        answer_callback(token=token_of(mix), result={"dough": 2})
    a_scheduler().run_once()
    assert (step_of(order, "mix").state, step_of(order, "mix").result) == ("completed", {"dough": 1})


def test_a_callback_that_comes_while_the_agent_asks_again_counts() -> None:
    asks = {"state": "running", "attempt": 2, "answered": 0, "complete_by": ahead(9)}
    order = parked_cake(**asks)
    answer_callback(token=token_of(step_of(order, "mix")), result={"dough": 1})
    a_scheduler().run_once()
    assert step_of(order, "mix").state == "completed"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"complete_by": ago}, "over"),
        ({"generation": 2}, "not expected"),
        ({"state": "not_started", "complete_by": None}, "does not wait"),
        ({"state": "failed", "complete_by": None, "error": {"code": "timed_out"}}, "does not wait"),
        ({"state": "compensating", "complete_by": None}, "not expected"),
    ],
)
def test_a_late_callback_is_refused(fields: Mapping[str, Any], why: str) -> None:
    fields = {name: ago(1) if value is ago else value for name, value in fields.items()}
    order = parked_cake(**fields)
    token = issue_token(f"{order.pk}/mix/1")
    with pytest.raises(TooLateError, match=why):
        answer_callback(token=token, result={})
    assert replies() == []


def test_a_callback_about_an_order_that_is_gone_is_too_late() -> None:
    with pytest.raises(TooLateError):
        answer_callback(token=issue_token(f"{uuid7()}/mix/1"), result={})


@pytest.mark.pattern("C10")
@pytest.mark.parametrize("state", ["awaiting", "compensating"])
def test_a_compensation_is_answered_with_a_token_of_its_own(state: str) -> None:
    order = parked_cake(state=state, outcome="done", complete_by=ahead(9), compensation_sent_at=ago(5))
    OrderProcess.objects.filter(pk=order.pk).update(goal="compensate")
    mix = step_of(order, "mix")
    with pytest.raises(TooLateError):
        answer_callback(token=token_of(mix), result={})
    answer_callback(token=token_of(mix, compensates=True), result={"gone": True})
    a_scheduler().run_once()
    assert step_of(order, "mix").state == "compensated"


@pytest.mark.parametrize("answer", [{}, {"result": {}, "error": ("no", "no")}])
def test_an_answer_is_either_a_result_or_an_error(answer: Mapping[str, Any]) -> None:
    order = parked_cake()
    with pytest.raises(BadAnswerError, match="either"):
        answer_callback(token=token_of(step_of(order, "mix")), **answer)
