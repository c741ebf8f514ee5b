"""Whom or what an order waits for, as its client sees it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orders.selectors.order_waits import Waiting, waiting_of_order, waiting_of_step
from orders.vocabulary import WaitingFor

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
COLUMNS: dict[str, Any] = {
    "attempt": 1,
    **dict.fromkeys(("complete_by", "not_before", "waiting_since", "awaits", "awaits_until", "error")),
    "compensation_sent_at": None,
}
DECLINED = {"state": "failed", "error": {"code": "no", "waits_for": "customer"}, "not_before": NOON}
PARKED = {"state": "awaiting", "awaits": {"kind": "answer"}, "awaits_until": NOON}
CUSTOMER, OPERATOR, OUTSIDE = WaitingFor.CUSTOMER, WaitingFor.OPERATOR, WaitingFor.OUTSIDE
DELAY, RETRY, AGENT = WaitingFor.DELAY, WaitingFor.RETRY, WaitingFor.AGENT


def waiting(goal: str = "complete", **columns: Any) -> Waiting | None:
    return waiting_of_step({**COLUMNS, **columns}, goal)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"state": "not_started", "attempt": 0}, None),
        ({"state": "running", "complete_by": NOON}, None),
        ({"state": "completed"}, None),
        ({"state": "failed", "error": {"code": "no"}}, None),
        (DECLINED, Waiting(CUSTOMER, NOON)),
        ({"state": "awaiting", "awaits": {"kind": "decision"}, "complete_by": NOON}, Waiting(OPERATOR, NOON)),
        ({"state": "awaiting", "awaits": {"kind": "event"}, "complete_by": NOON}, Waiting(OUTSIDE, NOON)),
        (PARKED, Waiting(OUTSIDE, NOON)),
        ({**PARKED, "state": "running", "complete_by": LATER}, Waiting(OUTSIDE, NOON)),
        ({**PARKED, "waiting_since": LATER}, Waiting(OUTSIDE, NOON)),
        ({**PARKED, "state": "not_started", "not_before": LATER}, Waiting(RETRY, LATER)),
        ({"state": "awaiting", "awaits": {"kind": "delay"}, "not_before": NOON}, Waiting(DELAY, NOON)),
        ({"state": "awaiting", "awaits": {"kind": "items", "items": 2}}, None),
        ({"state": "not_started", "not_before": NOON}, Waiting(RETRY, NOON)),
        ({"state": "not_started", "waiting_since": NOON}, Waiting(AGENT)),
        ({"state": "not_started", "waiting_since": NOON, "not_before": NOON}, Waiting(AGENT)),
    ],
)
def test_a_step_on_its_way_forward(columns: dict[str, Any], expected: Waiting | None) -> None:
    assert waiting(**columns) == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (DECLINED, None),
        (PARKED, None),
        ({"state": "not_started", "not_before": NOON}, None),
        ({**PARKED, "compensation_sent_at": NOON}, Waiting(OUTSIDE, NOON)),
        ({"state": "compensating", "complete_by": NOON}, None),
        ({"state": "compensating", "not_before": NOON}, Waiting(RETRY, NOON)),
        ({"state": "completed", "waiting_since": NOON}, Waiting(AGENT)),
    ],
)
def test_a_step_on_its_way_back(columns: dict[str, Any], expected: Waiting | None) -> None:
    assert waiting("compensate", **columns) == expected


def test_an_order_waits_for_what_is_most_urgent_and_first_for_what_ends_first() -> None:
    every = [Waiting(kind, LATER) for kind in WaitingFor]
    for place in range(len(every)):
        assert waiting_of_order("pending", [None, *reversed(every[place:])]) == every[place]
    later, sooner, endless = Waiting(CUSTOMER, LATER), Waiting(CUSTOMER, NOON), Waiting(CUSTOMER)
    assert waiting_of_order("processing", [endless, later, sooner]) == sooner
    assert waiting_of_order("pending", [None]) is None


def test_an_order_in_error_waits_for_an_operator_and_one_that_has_ended_for_nobody() -> None:
    assert waiting_of_order("error", [Waiting(CUSTOMER, NOON)]) == Waiting(OPERATOR)
    assert waiting_of_order("error", []) == Waiting(OPERATOR)
    assert waiting_of_order("processed", [Waiting(CUSTOMER, NOON)]) is None
    assert waiting_of_order("compensated", [Waiting(CUSTOMER, NOON)]) is None
