"""The attempts of an order's steps and the parts of its history, from its events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orders.console.attempt_comparison import comparison
from orders.console.order_history import History, history
from orders.selectors.desk.attempts import Attempt, attempts, runs
from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.standing import RetryLimits
from orders.selectors.desk.timeline import AttemptOutcome

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def event(
    seconds: float, kind: str, attempt: int = 0, step: str = "", by: str = "scheduler", **detail: Any
) -> EventFacts:
    return EventFacts(
        at=START + timedelta(seconds=seconds),
        kind=kind,
        step=step or ("bake" if attempt else ""),
        attempt=attempt,
        actor_kind=by,
        actor_name="x",
        detail=detail,
    )


REFUSAL = {"code": "cold", "message": "the oven is cold"}
EVENTS = [
    event(0, "received"),
    event(1, "claimed"),
    event(2, "step_started", 1, key="k/1"),
    event(3, "step_started", 1, step="mix"),
    event(4, "call_failed", 1, code="cut", message="no", **{"try": 1}),
    event(5, "call_failed", 1, code="cut", message="no", **{"try": 2}),
    event(6, "step_completed", 1, step="mix"),
    event(7, "step_timed_out", 1, ruling="retry"),
    event(8, "claimed"),
    event(9, "step_started", 2, key="k/1"),
    event(10, "step_refused", 2, error=REFUSAL),
    event(10, "error", 2, error=REFUSAL),
    event(20, "resubmitted", 2, by="operator"),
    event(21, "step_started", 3, key="k/2"),
]


def facts(attempt: Attempt) -> tuple[str, int, float | None, AttemptOutcome, str]:
    return attempt.step, attempt.number, attempt.seconds, attempt.outcome, attempt.key


def test_each_attempt_has_its_outcome_its_time_and_its_key() -> None:
    assert [facts(attempt) for attempt in attempts(EVENTS, [])] == [
        ("bake", 1, 5.0, AttemptOutcome.TIMED_OUT, "k/1"),
        ("mix", 1, 3.0, AttemptOutcome.DONE, ""),
        ("bake", 2, 1.0, AttemptOutcome.FAILED, "k/1"),
        ("bake", 3, None, AttemptOutcome.UNDER_WAY, "k/2"),
    ]


def test_an_attempt_that_another_has_followed_is_not_under_way() -> None:
    events = [event(0, "step_started", 1), event(5, "compensation_started", 2)]
    first, second = attempts(events, [])
    assert (first.outcome, first.seconds) == (AttemptOutcome.TIMED_OUT, 0.0)
    assert (second.outcome, second.compensates) == (AttemptOutcome.UNDER_WAY, True)


def told(parts: History) -> list[tuple[str, list[str], bool]]:
    return [
        (
            part.head.title if part.head else "",
            [each.last.event.kind for each in part.entries],
            part.is_open,
        )
        for part in (*parts.newest, *parts.earlier, *parts.oldest)
    ]


def test_the_history_folds_attempts_and_never_what_people_did() -> None:
    parts = history(EVENTS, attempts(EVENTS, []), retry_limits=RetryLimits())
    assert told(parts) == [
        ("bake, attempt 3", ["step_started"], True),
        ("", ["resubmitted", "error"], False),
        ("bake, attempt 2", ["step_refused", "step_started"], False),
        ("", ["claimed"], False),
        ("bake, attempt 1", ["step_timed_out", "call_failed", "step_started"], False),
        ("mix, attempt 1", ["step_completed", "step_started"], False),
        ("", ["claimed", "received"], False),
    ]
    assert (len(parts.newest), len(parts.earlier), len(parts.oldest)) == (1, 6, 0)
    (calls,) = [each for part in parts.earlier for each in part.entries if each.calls]
    assert calls.sentence == "2 calls for step bake failed in the same way: cut: no"
    assert [call.event.detail["try"] for call in calls.calls] == [2, 1]


def test_calls_that_failed_in_another_way_are_not_put_together() -> None:
    calls = [event(n, "call_failed", 1, code=code) for n, code in enumerate(("cut", "cut", "busy", "cut"))]
    assert [len(run) for run in runs(calls)] == [2, 1, 1]


def call(seconds: float, attempt: int, status: int, answered: dict[str, str]) -> EventFacts:
    exchange = {"method": "POST", "path": "/bake", "status": status, "sent": {}, "answered": answered}
    return event(seconds, "call_failed", attempt, code="cold", message="it is cold", exchange=exchange)


COMPARED = [
    event(0, "step_started", 1, key="k/1"),
    call(1, 1, 503, {"Date": "Mon", "Retry-After": "30"}),
    event(2, "step_timed_out", 1),
    event(3, "edited", 0, step="mix", steps=["bake"], before={"heat": 180}, after={"heat": 200}),
    event(4, "step_started", 2, key="k/2"),
    call(5, 2, 422, {"Date": "Tue"}),
    event(7, "step_refused", 2, error=REFUSAL),
    event(8, "edited", 0, step="bake", before={"heat": 200}, after={"heat": 220}),
]


def test_two_attempts_are_compared_by_status_headers_request_and_outcome() -> None:
    query = {"step": "bake", "attempt": "2", "with": "1"}
    compared = comparison(query, attempts(COMPARED, []), COMPARED)
    assert compared is not None
    assert compared.titles == ("bake, attempt 1", "bake, attempt 2")
    assert [(row.label, row.first, row.second) for row in compared.rows if row.differs] == [
        ("Outcome", "no answer", "failed"),
        ("Error", "cold: it is cold", "cold: the oven is cold"),
        ("Idempotency key", "k/1", "k/2"),
        ("Asked for heat", "180", "200"),
        ("Answer", "HTTP 503", "HTTP 422"),
        ("Answered Retry-After", "30", ""),
    ]
    alike = {row.label: row.first for row in compared.rows if not row.differs}
    assert alike == {
        "Took": "2.0 s",
        "Failed calls": "1 call",
        "Called by": "x",
        "Request": "POST /bake",
        "Answered Date": "Mon",
    }


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"step": "bake", "attempt": "2"},
        {"step": "bake", "attempt": "2", "with": "2"},
        {"step": "bake", "attempt": "2", "with": "7"},
        {"step": "mix", "attempt": "1", "with": "2"},
        {"step": "bake", "attempt": "x", "with": "1 OR 1"},
    ],
)
def test_a_url_that_names_no_two_attempts_compares_nothing(query: dict[str, str]) -> None:
    assert comparison(query, attempts(COMPARED, []), COMPARED) is None
