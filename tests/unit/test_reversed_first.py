"""What is seen and said of a step that is reversed on its order's way forward, before it is done anew (rule 5)."""

from datetime import timedelta
from typing import Any

import pytest

from orders.business.words import Situation
from orders.reconciliation.comparison import compare
from orders.selectors.desk.standing import ProcessFacts, RetryLimits, StandingKind, StepFacts, order_standing
from orders.selectors.order_waits import Waiting, waiting_of_step
from orders.selectors.tracked_orders import Occurrence
from orders.vocabulary import EventKind, WaitingFor
from orders.wording.customers.situations import listed_status, situation_of
from orders.wording.events import event_sentence
from orders.wording.standings import sentence, summary
from tests.unit import customer_cakes as customers
from tests.unit import test_comparison as comparison
from tests.unit.timelines import START, at, event, lane, step, stretches

LIMITS = RetryLimits(forward=3, backward=6)
REVERSED = {"is_reversed_first": True, "outcome": "unknown", "attempt": 4, "generation": 1}


def standing_of(facts: StepFacts, state: str = "processing") -> Any:
    process = ProcessFacts(
        state=state,
        goal="complete",
        complete_by=at(600) if state == "processing" else None,
        not_before=None,
        created_at=START,
        started_at=START,
    )
    return order_standing(process, [facts], retry_limits=LIMITS, now=at(10))[0]


@pytest.mark.parametrize(
    ("facts", "kind", "words", "says"),
    [
        (
            {"state": "compensating", "complete_by": at(40)},
            StandingKind.RUNNING,
            "being reversed",
            "What oven may have done is being reversed. Then it is done again with the new values.",
        ),
        (
            {"state": "compensating", "compensation_failure_count": 1, "not_before": at(12)},
            StandingKind.RETRYING,
            "being reversed, retrying (2 of 6, next in 2.0 s)",
            "Reversing what oven may have done did not succeed. It is being retried automatically.",
        ),
        (
            {"state": "compensating", "waiting_since": at(4)},
            StandingKind.AGENT,
            "being reversed, waiting for oven, 6.0 s",
            "It is waiting until oven can take it. There is nothing for you to do here.",
        ),
    ],
)
def test_where_the_order_stands_says_that_it_is_the_reversal(
    facts: dict[str, Any], kind: StandingKind, words: str, says: str
) -> None:
    standing = standing_of(step(**(REVERSED | facts)))
    assert (standing.kind, standing.compensating) == (kind, False)
    assert (summary(standing, now=at(10)), sentence(standing)) == (words, says)


def test_an_order_whose_reversal_failed_is_in_error_but_no_cancellation_failed() -> None:
    failed = step(**(REVERSED | {"state": "failed", "compensation_failure_count": 6}))
    standing = standing_of(failed, "error")
    assert (standing.kind, summary(standing, now=at(10), code="http_503")) == (
        StandingKind.ERROR,
        "reversal failed: http_503",
    )
    assert sentence(standing) == (
        "Reversing what may have been done failed at oven. An operator has to decide what to do."
    )


def test_a_reversal_that_is_put_off_waits_for_its_next_try_on_the_way_forward_too() -> None:
    row = {
        **dict.fromkeys(("awaits", "error", "waiting_since", "complete_by", "compensation_sent_at")),
        **{"state": "compensating", "not_before": at(30)},
    }
    assert waiting_of_step(row, "complete") == Waiting(WaitingFor.RETRY, at(30))
    assert waiting_of_step(row, "compensate") == Waiting(WaitingFor.RETRY, at(30))


@pytest.mark.parametrize(("state", "generation"), [("compensating", 1), ("failed", 1), ("not_started", 2)])
def test_a_reversal_at_the_service_is_known_while_the_step_is_reversed_and_afterwards(
    state: str, generation: int
) -> None:
    reversing = comparison.known("complete processing", state, "unknown", generation)
    reversal = comparison.key(1, is_compensation=True)
    now = reversing._replace(is_reversed_first=generation == 1)
    assert compare(comparison.effect(), reversal, {"pay": now}) is None
    if generation == 1:
        assert compare(comparison.effect(), reversal, {"pay": reversing}) == "reversed_there"


def test_what_was_to_be_reversed_and_stands_under_its_former_key_is_reported() -> None:
    renewed = comparison.known("complete processed", "completed", "done", 2)
    assert compare(comparison.effect(), comparison.key(1), {"pay": renewed}) == "not_recorded"
    assert compare(comparison.effect(is_reversed=True), comparison.key(1), {"pay": renewed}) is None


def test_its_lane_shows_the_reversal_and_then_the_wait_for_its_next_attempt() -> None:
    drawn_lane = lane(
        step(state="running", attempt=3, generation=2, complete_by=at(120)),
        event(0, "step_started"),
        event(4, "step_failed"),
        event(50, "resubmitted", reversed_first=True),
        event(51, "compensation_started", 2),
        event(53, "step_renewed", 2),
        event(60, "step_started", 3),
    )
    assert stretches(drawn_lane) == [
        ("attempt", 0, 4, "failed"),
        ("wait", 50, 51, ""),
        ("attempt", 51, 53, "reversed"),
        ("wait", 53, 60, ""),
        ("attempt", 60, 100, ""),
    ]


def test_the_history_says_that_it_is_reversed_first_and_then_done_anew() -> None:
    assert event_sentence(event(0, "resubmitted", reversed_first=True, reason="moved"), LIMITS) == (
        "Step bake was resubmitted, and what it may have done is reversed first: moved"
    )
    assert event_sentence(event(0, "step_renewed"), LIMITS) == (
        "Nothing of step bake remains, so it is done again with a new key"
    )


def test_customers_read_that_their_order_is_corrected() -> None:
    reversing = customers.order(
        customers.step("bake", "compensating", attempts=4, is_backward=True), customers.step("taste")
    )
    seen = customers.read(reversing)
    assert (seen.situation, seen.tone, seen.headline) == (
        Situation.CORRECTING,
        "busy",
        "We’re correcting your order.",
    )
    assert listed_status(reversing).word == "Being corrected"


def test_attempts_before_it_was_renewed_count_as_no_retry_for_customers() -> None:
    anew = customers.order(customers.step("bake", "running", attempts=5))
    renewed = Occurrence(at=START + timedelta(seconds=1), attempt=4, detail={})
    assert situation_of(anew, {(EventKind.STEP_RENEWED, "bake"): renewed}) is Situation.WORKING
    assert situation_of(anew, {}) is Situation.RETRYING
