"""Every state, standing and event has words of its own, once."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from orders.engine.supervisor.remedies import Ruling
from orders.selectors.desk.history import Cause, EventFacts
from orders.selectors.desk.standing import RetryLimits, Standing, StandingKind
from orders.vocabulary import (
    AlertKind,
    BulkItemState,
    BulkKind,
    BulkState,
    CircuitState,
    EventKind,
    MessageKind,
    MessageState,
    Outcome,
    ProcessState,
    StepStatus,
    WaitKind,
)
from orders.wording import events, standings, state_labels, waits
from orders.wording.events import calls_sentence, event_sentence
from orders.wording.state_labels import pill_of


@pytest.mark.parametrize(
    ("words", "vocabulary"),
    [
        (state_labels.ORDER_STATES, ProcessState),
        (state_labels.STEP_STATES, StepStatus),
        (state_labels.CIRCUIT_STATES, CircuitState),
        (state_labels.OUTCOMES, Outcome),
        (state_labels.BULK_STATES, BulkState),
        (state_labels.BULK_ITEM_STATES, BulkItemState),
        (state_labels.BULK_KINDS, BulkKind),
        (state_labels.ALERT_KINDS, AlertKind),
        (waits.CAUSES, Cause),
        (state_labels.MESSAGE_STATES, MessageState),
        (state_labels.MESSAGE_KINDS, MessageKind),
        (standings.STANDINGS, StandingKind),
        (events.SENTENCES, EventKind),
        (events.AWAITED, WaitKind),
        (events.RULINGS, [ruling.name.lower() for ruling in Ruling]),
    ],
)
def test_every_value_has_words_and_nothing_else_does(
    words: dict[str, object], vocabulary: Iterable[str]
) -> None:
    assert set(words) == set(vocabulary)


@pytest.mark.parametrize("kind", list(StandingKind))
@pytest.mark.parametrize("on", ["oven", ""])
def test_every_standing_has_a_sentence_with_and_without_an_agent(kind: StandingKind, on: str) -> None:
    text = standings.sentence(Standing(kind=kind, on=on))
    assert text[0].isupper() or text.startswith("oven")
    assert text.endswith(".") and "{" not in text and " at An" not in text


def test_what_follows_a_settle_time_is_said_for_both_directions() -> None:
    for compensating, words in (
        (True, "Then it is reversed."),
        (False, "Then oven asks whether it was done"),
    ):
        standing = Standing(kind=StandingKind.SETTLING, on="oven", compensating=compensating)
        assert words in standings.sentence(standing)


def test_an_unknown_state_is_shown_by_its_name() -> None:
    assert pill_of(state_labels.ORDER_STATES, "half_baked") == ("idle", "info", "half baked")


def event(kind: str, step: str = "bake", **detail: Any) -> EventFacts:
    at = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    return EventFacts(
        at=at,
        kind=kind,
        step=step,
        attempt=2,
        actor_kind="scheduler",
        actor_name="scheduler:1",
        detail=detail,
    )


@pytest.mark.parametrize("kind", list(EventKind))
def test_an_event_without_details_still_has_a_complete_sentence(kind: EventKind) -> None:
    sentence = event_sentence(event(kind), RetryLimits())
    assert sentence[0].isupper() and sentence == sentence.strip()
    assert not {"{", "}"} & set(sentence) and "None" not in sentence and "  " not in sentence


@pytest.mark.parametrize("kind", list(EventKind))
def test_text_from_others_is_quoted_verbatim_and_shortened(kind: EventKind) -> None:
    hostile = "{step} %s " * 200
    names = ("reason", "why", "by", "agent", "try", "before", "code", "message", "overruns")
    detail: dict[str, Any] = dict.fromkeys(names, hostile)
    detail |= {"error": {"code": hostile, "message": hostile}, "cause": {"message": hostile}}
    assert len(event_sentence(event(kind, **detail), RetryLimits())) < 1_000


@pytest.mark.parametrize(
    ("happened", "sentence"),
    [
        (event("resubmitted", "", reason="it is back"), "The order was resubmitted: it is back"),
        (
            event("compensation_timed_out", ruling="retry", failures=7, until="2026-03-01T12:00:09+00:00"),
            "Reversal of bake got no answer in time: failure 7; next attempt after 9.0 s",
        ),
        (
            event("step_timed_out", ruling="settle"),
            "Step bake got no answer in time (attempt 2):"
            " it will be reversed once its call can no longer take effect",
        ),
        (event("step_completed", calls=2), "Step bake completed after 2 calls"),
        (event("step_completed", calls=1), "Step bake completed"),
        (event("paused", "", reason="wrong address"), "The order was paused: wrong address"),
        (event("resumed", ""), "The order was resumed"),
        (event("priority_set", "", before=5, after=9), "The priority was changed from 5 to 9"),
        (
            event("version_changed", "", before=1, after=2, reason="cakes are iced now"),
            "The order was moved from version 1 of its workflow to version 2: cakes are iced now",
        ),
        (event("edited", after={"sku": "a", "size": "b"}), "Step bake was edited (sku, size)"),
        (
            event("step_deferred", cause={"code": "no_host", "message": "nobody runs it"}),
            "Step bake was postponed, because its agent was unavailable: no_host: nobody runs it",
        ),
        (
            event("step_deferred", cause={"code": "no_answer", "message": "no answer within 2.0 s"}),
            "Step bake was postponed, because its service did not answer",
        ),
        (
            event(
                "step_deferred",
                cause={"code": "http_503", "message": "later", "retry_after": 60},
                until="2026-03-01T12:01:00+00:00",
            ),
            "Step bake waits 1 min, because its remote service asked for that time: http_503: later",
        ),
        (
            event("step_deferred", cause={"code": "http_500", "message": "no"}, counts=True),
            "Step bake failed, although its agent works for other orders, so this counts as a failure: http_500: no",
        ),
    ],
)
def test_a_sentence_states_the_known_details_and_omits_the_rest(happened: EventFacts, sentence: str) -> None:
    assert event_sentence(happened, RetryLimits(forward=3, backward=6)) == sentence


def test_calls_that_failed_alike_share_a_sentence() -> None:
    calls = [event("call_failed", code="no_answer", **{"try": number}) for number in (1, 2, 3)]
    assert calls_sentence(calls) == "3 calls for step bake failed in the same way: no_answer"
