"""How often the service of a step was asked, and why that counts once, in the sentences of the order's page."""

from typing import Any

import pytest

from orders.selectors.desk.attempts import attempts
from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.step_calls import step_calls
from orders.wording.step_calls import asked_sentences, call_lines, reversal_sentence
from tests.unit.timelines import event

AN_HOUR = 3_600.0
LOST = {"code": "timeout", "message": "no answer in time"}
BUSY = {"code": "http_503", "message": "later", "exchange": {"status": 503}}
NO = {"error": {"code": "cold", "message": "it is cold"}}


def started(seconds: float, attempt: int = 1, key: str = "k/1") -> EventFacts:
    return event(seconds, "step_started", attempt, key=key)


def failed(seconds: float, attempt: int = 1, **detail: Any) -> EventFacts:
    return event(seconds, "call_failed", attempt, **(detail or LOST))


def asked(*events: EventFacts, retention: float | None = AN_HOUR, is_done: bool = True) -> str:
    """The sentences about a service that knows a call by its key for so long; without keys, it can be asked."""
    calls = step_calls(attempts(events, []), "bake", compensates=False)
    return asked_sentences(
        calls, agent="oven", key_retention=retention, can_be_asked=retention == 0.0, is_done=is_done
    )


ONCE = "so oven did it only once."
BOTH = "Both calls carried the same key, so oven"
DONE = event(9, "step_completed")


@pytest.mark.parametrize(
    ("events", "sentences"),
    [
        ([started(0), DONE], "Asked once: done."),
        (
            [started(0), failed(1), failed(2), event(3, "step_completed", calls=3)],
            f"Asked 3 times: 2 without an answer, then done. All 3 calls carried the same key, {ONCE}",
        ),
        (
            [
                *(started(0), failed(1), event(5, "step_timed_out", ruling="retry")),
                *(started(6, 2), failed(7, 2, **BUSY), event(8, "step_completed", 2, calls=2)),
            ],
            "Asked 3 times in 2 attempts: 1 without an answer, 1 failed, then done."
            f" All 3 calls carried the same key, {ONCE}",
        ),
        (
            [started(0), event(5, "step_timed_out"), started(6, 2), event(7, "step_completed", 2)],
            f"Asked 2 times: 1 without an answer, then done. {BOTH} did it only once.",
        ),
        (
            [
                *(started(0), failed(1, code="cold", exchange={}), event(1, "step_refused", **NO)),
                *(started(6, 2, "k/2"), event(7, "step_completed", 2)),
            ],
            "Asked 2 times: 1 failed, then done. The second key was used after nothing of the first call"
            f" was left, {ONCE}",
        ),
        (
            [started(0), event(5, "step_recalled"), started(6, 2), event(7, "step_completed", 2)],
            "Asked once in 2 attempts: done.",
        ),
    ],
)
def test_a_step_that_is_done_says_how_often_it_was_asked_and_why_that_counts_once(
    events: list[EventFacts], sentences: str
) -> None:
    assert asked(*events) == sentences


@pytest.mark.parametrize(
    ("events", "sentences"),
    [
        ([started(0)], ""),
        ([started(0), failed(1)], "Asked once, without an answer."),
        (
            [started(0), failed(1), failed(2, **BUSY), event(5, "step_timed_out")],
            f"Asked 2 times: 1 without an answer and 1 failed. {BOTH} does it at most once.",
        ),
        ([started(0), failed(1, code="cold"), event(1, "step_refused", **NO)], "Asked once: refused."),
        (
            [started(0), failed(1), failed(2, code="cold"), event(2, "step_refused", calls=2, **NO)],
            f"Asked 2 times: 1 without an answer, then refused. {BOTH} does it at most once.",
        ),
        ([started(0), failed(1, code="odd"), event(1, "step_failed", **NO)], "Asked once: failed."),
        ([started(0), event(1, "awaiting", kind="answer")], "Asked once: taken, and the answer comes later."),
        (
            [started(0), event(5, "step_timed_out"), event(90, "settled_not_done")],
            "Asked once: without an answer, then settled by hand as not done.",
        ),
        ([started(0), event(1, "step_deferred", calls=0, cause={"code": "not_called"})], ""),
    ],
)
def test_a_step_that_is_not_done_promises_no_more_than_its_key_does(
    events: list[EventFacts], sentences: str
) -> None:
    assert asked(*events, is_done=False) == sentences


def test_only_a_key_that_the_service_still_knows_promises_anything() -> None:
    calls = (started(0), event(30, "step_timed_out"), started(4_000, 2), event(4_001, "step_completed", 2))
    twice = "Asked 2 times: 1 without an answer, then done."
    assert asked(*calls) == asked(*calls, retention=None) == twice
    assert (
        asked(*calls, retention=0.0)
        == f"{twice} Before each repeat it was asked whether it was done already."
    )
    no_key = [started(0, key=""), failed(1), event(3, "step_completed", calls=2)]
    assert asked(*no_key) == twice


def test_a_call_that_was_found_to_be_done_is_no_other_call() -> None:
    events = (
        started(0),
        failed(1),
        event(2, "inquired", finding="done"),
        event(3, "step_completed", calls=2),
    )
    assert asked(*events, retention=0.0) == "Asked once: without an answer, then found to be done."


def test_calls_that_were_not_all_recorded_are_at_least_so_many() -> None:
    events = (started(0), *(failed(n) for n in range(1, 21)), event(25, "step_timed_out"))
    assert asked(*events, retention=None) == "Asked at least 20 times, all without an answer."


def test_the_calls_that_reverse_a_step_are_told_apart() -> None:
    events = [
        *(started(0), DONE, event(20, "compensation_started", 2), failed(21, 2)),
        *(event(30, "compensation_timed_out", 2), event(31, "compensation_started", 3)),
        event(32, "step_compensated", 3),
    ]
    every_attempt = attempts(events, [])
    assert [each.reversal for each in every_attempt] == [0, 1, 2]
    assert asked(*events) == "Asked once: done."
    calls = step_calls(every_attempt, "bake", compensates=True)
    assert reversal_sentence(calls) == "2 calls to reverse it: 1 without an answer, then reversed."
    assert reversal_sentence(calls, is_notice=True) == (
        "2 calls to send the notice of cancellation: 1 without an answer, then sent."
    )


def test_each_call_says_how_it_ended() -> None:
    events = [
        *(started(0), failed(1), failed(2), event(3, "step_deferred", calls=2)),
        *(started(6, 2), failed(7, 2, **BUSY), event(8, "step_completed", 2, calls=2)),
        *(event(20, "compensation_started", 3), event(30, "compensation_timed_out", 3)),
    ]
    lost, busy = "timeout: no answer in time", "http_503: later"
    lines = [how for _, how in call_lines(attempts(events, []), "bake")]
    assert lines == [lost, lost, busy, "done", "to reverse it: no answer"]
    refused = [started(0), failed(1, code="cold", message="it is cold"), event(1, "step_refused", **NO)]
    assert [how for _, how in call_lines(attempts(refused, []), "bake")] == ["cold: it is cold"]
    assert asked(*events[:7]).startswith(
        "Asked 4 times in 2 attempts: 2 without an answer, 1 failed, then done."
    )
