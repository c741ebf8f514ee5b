"""Whether a step may be requested again, and which outcome it has after a request that was not sent (A8, F14)."""

from datetime import timedelta
from typing import Any

import pytest

from orders.engine.scheduler.dispatch import is_retry, key_expiry_error, patience_error, reset_unanswered
from tests.support.workflows import CAKE
from tests.unit.rows import NOW, at, step_row

MIX = CAKE.by_name["mix"]
LAST = MIX.key_retention - MIX.complete_by - MIX.settle
"""How old a key may be when its call is repeated: the service still recognises it when the call arrives."""


@pytest.mark.pattern("A8")
@pytest.mark.parametrize(
    ("attempt", "was_begun", "outcome"),
    [(1, False, "none"), (1, True, "unknown"), (2, False, "unknown"), (2, True, "unknown")],
)
def test_only_a_first_attempt_that_was_never_begun_is_known_to_have_had_no_effect(
    attempt: int, was_begun: bool, outcome: str
) -> None:
    sent = step_row("mix", "running", attempt=attempt, sent_at=at(-9), complete_by=None)
    back = reset_unanswered(sent, was_begun=was_begun)
    assert (back.state, back.outcome, back.failure_count) == ("not_started", outcome, 0)
    assert back.sent_at == (None if outcome == "none" else at(-9))


@pytest.mark.pattern("A8")
@pytest.mark.parametrize(
    ("goal", "fields", "expected"),
    [
        ("complete", {}, False),
        ("complete", {"failure_count": 1}, True),
        ("complete", {"compensation_failure_count": 1}, False),
        ("compensate", {"failure_count": 2}, False),
        ("compensate", {"compensation_failure_count": 1}, True),
    ],
)
def test_a_retry_follows_a_failure_of_the_same_direction(
    goal: str, fields: dict[str, Any], expected: bool
) -> None:
    assert is_retry(step_row("mix", **fields), goal) is expected


@pytest.mark.pattern("F14", "A3")
@pytest.mark.parametrize(
    ("goal", "fields", "expired"),
    [
        ("complete", {"outcome": "unknown", "sent_at": at(-LAST - 1)}, True),
        ("complete", {"outcome": "unknown", "sent_at": at(-LAST)}, False),
        ("complete", {"outcome": "unknown", "sent_at": None}, False),
        ("complete", {"outcome": "none", "sent_at": at(-LAST - 1)}, False),
        ("complete", {"outcome": "refused", "sent_at": at(-LAST - 1)}, False),
        ("compensate", {"outcome": "unknown", "sent_at": at(-LAST - 1)}, False),
    ],
)
def test_a_step_of_unknown_outcome_is_not_sent_again_once_its_key_may_be_forgotten_before_it_arrives(
    goal: str, fields: dict[str, Any], expired: bool
) -> None:
    error = key_expiry_error(step_row("mix", attempt=1, **fields), MIX, goal, NOW)
    assert (error is not None and error["code"] == "key_expired") is expired


@pytest.mark.pattern("A8")
def test_the_error_of_a_step_out_of_patience_names_the_agent_and_the_time() -> None:
    error = patience_error(step_row("mix", waiting_since=NOW - timedelta(days=1)), MIX)
    assert error == {
        "code": "agent_unavailable",
        "message": "kitchen could not take this step for 86400 s",
    }
