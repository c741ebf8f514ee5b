"""What the history says of an event."""

import pytest

from orders.selectors.desk.standing import RetryLimits
from orders.wording.events import event_entry, event_sentence, shorten
from tests.unit.timelines import at, event


def test_a_timeout_says_which_failure_it_was_and_when_the_next_try_is() -> None:
    entry = event_entry(
        event(0, "step_timed_out", ruling="retry", failures=1, until=at(12).isoformat()),
        RetryLimits(forward=3),
    )
    assert entry.sentence == (
        "Step bake got no answer in time (attempt 1): failure 1 of 3; next attempt after 12 s"
    )
    assert entry.retry_at == at(12)


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("step_refused", "refused", "Step bake was refused: not this one"),
        ("step_refused", "no_route", "Step bake was refused: no_route: not this one"),
        ("step_refused", "refused_by_bank", "Step bake was refused: refused_by_bank: not this one"),
    ],
)
def test_a_code_that_repeats_the_sentence_is_left_out(kind: str, code: str, words: str) -> None:
    sentence = event_sentence(event(0, kind, error={"code": code, "message": "not this one"}), RetryLimits())
    assert sentence == words


def test_long_text_is_shortened_and_a_malformed_detail_does_no_harm() -> None:
    assert shorten("a" * 400, 10).startswith("a" * 10 + "… (390")
    for detail in ({}, {"error": "text"}, {"error": {"code": 7}}, {"until": 5}, {"after": "x", "cause": []}):
        for kind in (
            "step_refused",
            "step_timed_out",
            "call_failed",
            "edited",
            "priority_set",
            "step_deferred",
            "new",
        ):
            assert event_sentence(event(0, kind, **detail), RetryLimits())
