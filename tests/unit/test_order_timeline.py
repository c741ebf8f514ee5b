"""An order's history as lanes, and where a step stands that waits, without a database."""

from datetime import datetime
from typing import Any

import pytest

from orders.selectors.desk.standing import RetryLimits, StandingKind, step_standing
from orders.selectors.desk.timeline import SpanKind, lanes
from tests.unit.timelines import AWAITING, at, event, lane, step, stretches


def test_attempts_waits_and_the_compensation_are_consecutive_stretches() -> None:
    drawn_lane = lane(
        step(state="compensated", attempt=3),
        event(0, "step_started"),
        event(4, "step_timed_out", until=at(9).isoformat()),
        event(9, "step_started", 2),
        event(10, "step_completed", 2),
        event(50, "compensation_started", 3),
        event(51, "step_compensated", 3),
    )
    assert stretches(drawn_lane) == [
        ("attempt", 0, 4, "timed out"),
        ("wait", 4, 9, ""),
        ("attempt", 9, 10, "done"),
        ("attempt", 50, 51, "reversed"),
    ]
    assert [span.reversal for span in drawn_lane.spans] == [0, 0, 0, 1]
    assert drawn_lane.ticks == [at(0), at(9), at(50)]


@pytest.mark.parametrize(
    ("facts", "events", "last"),
    [
        (
            {"state": "running", "attempt": 1, "complete_by": at(120)},
            [(0, "step_started")],
            ("attempt", 0, 100, ""),
        ),
        (
            {"state": "failed", "attempt": 1},
            [(0, "step_started"), (2, "step_refused")],
            ("attempt", 0, 2, "failed"),
        ),
        (
            {"state": "failed", "attempt": 1, "not_before": at(500)},
            [(0, "step_started"), (2, "step_declined")],
            ("awaited", 2, 100, ""),
        ),
        (
            {"state": "not_started", "attempt": 1},
            [(0, "step_started"), (2, "step_deferred")],
            ("wait", 2, 100, ""),
        ),
        ({"waiting_since": at(30)}, [], ("wait", 30, 100, "")),
        ({}, [], None),
        (
            {"state": "skipped", "attempt": 1},
            [(0, "step_started"), (2, "step_failed"), (7, "step_skipped")],
            ("attempt", 0, 2, "failed"),
        ),
    ],
)
def test_a_stretch_that_has_not_ended_lasts_until_now(
    facts: dict[str, Any], events: list[tuple[float, str]], last: tuple[str, float, float, str] | None
) -> None:
    spans = stretches(lane(step(**facts), *(event(seconds, kind) for seconds, kind in events)))
    assert (spans[-1] if spans else None) == last


TRIED = {"state": "not_started", "attempt": 1}


@pytest.mark.parametrize(
    ("facts", "events", "options"),
    [
        (TRIED, [(2, "step_timed_out"), (3, "compensated")], {"is_stopped": True, "goal": "compensate"}),
        (TRIED, [(2, "step_deferred"), (3, "error")], {"is_stopped": True}),
        (TRIED, [(2, "step_deferred"), (3, "compensation_requested")], {"goal": "compensate"}),
        ({"state": "failed", "attempt": 1}, [(2, "step_refused"), (3, "error")], {"is_stopped": True}),
        ({"state": "failed", "attempt": 1}, [(2, "step_refused")], {"goal": "compensate"}),
    ],
)
def test_nothing_waits_any_longer_once_a_person_has_to_act_or_the_order_is_cancelled(
    facts: dict[str, Any], events: list[tuple[float, str]], options: dict[str, Any]
) -> None:
    history = [event(0, "step_started"), *(event(seconds, kind) for seconds, kind in events)]
    (drawn_lane,) = lanes([step(**facts)], history, now=at(100), **options)
    assert max(ends for _, _, ends, _ in stretches(drawn_lane)) <= 3


def test_a_step_waits_again_after_it_is_resubmitted() -> None:
    drawn_lane = lane(
        step(**TRIED),
        event(0, "step_started"),
        event(1, "step_refused"),
        event(50, "resubmitted"),
    )
    assert stretches(drawn_lane) == [("attempt", 0, 1, "failed"), ("wait", 50, 100, "")]


@pytest.mark.parametrize(
    ("facts", "events", "expected"),
    [
        (AWAITING, [(5, "awaiting")], [("awaited", 5, 100, "")]),
        (
            {"state": "completed"},
            [(5, "awaiting"), (65, "step_completed")],
            [("awaited", 5, 65, "")],
        ),
        ({"state": "failed"}, [(5, "awaiting"), (65, "wait_ended")], [("awaited", 5, 65, "")]),
        ({"state": "skipped"}, [(5, "awaiting"), (65, "step_skipped")], [("awaited", 5, 65, "")]),
        (
            AWAITING,
            [(0, "step_started"), (1, "awaiting"), (61, "step_started"), (62, "awaiting")],
            [
                ("attempt", 0, 1, "taken, the answer comes later"),
                ("awaited", 1, 61, ""),
                ("attempt", 61, 62, "taken, the answer comes later"),
                ("awaited", 62, 100, ""),
            ],
        ),
    ],
)
def test_a_wait_for_what_comes_from_outside_is_a_stretch_of_its_own(
    facts: dict[str, Any], events: list[tuple[float, str]], expected: list[tuple[str, float, float, str]]
) -> None:
    drawn_lane = lane(step(**facts), *(event(seconds, kind, kind="decision") for seconds, kind in events))
    assert stretches(drawn_lane) == expected
    assert {span.awaits for span in drawn_lane.spans if span.kind is SpanKind.AWAITED} == {"decision"}


def test_a_step_that_joins_its_items_has_no_stretch_of_its_own() -> None:
    assert lane(step(**AWAITING), event(5, "awaiting", kind="items")).spans == []


def test_an_attempt_without_an_answer_goes_on_waiting_for_the_later_one() -> None:
    drawn_lane = lane(
        step(**AWAITING),
        event(0, "step_started"),
        event(4, "step_timed_out", parked_until=at(900).isoformat()),
    )
    assert stretches(drawn_lane) == [("attempt", 0, 4, "timed out"), ("awaited", 4, 100, "")]


@pytest.mark.pattern("A8")
def test_the_standing_of_a_waiting_step_names_its_agent_and_the_start_of_the_wait() -> None:
    for state, goal in (("not_started", "complete"), ("compensating", "compensate")):
        standing = step_standing(
            step(state=state, waiting_since=at(30), failure_count=1),
            goal,
            due_at=None,
            retry_limits=RetryLimits(),
            now=at(100),
        )
        assert standing is not None
        assert (standing.kind, standing.on, standing.since, standing.until) == (
            StandingKind.AGENT,
            "oven",
            at(30),
            None,
        )


SENT = {"attempt": 1, "outcome": "unknown", "failure_count": 1, "settles_at": at(130)}


@pytest.mark.pattern("A7")
@pytest.mark.parametrize(
    ("facts", "due_at", "kind", "until"),
    [
        (SENT | {"not_before": at(90)}, at(130), "settling", at(130)),
        (
            SENT | {"not_before": None, "state": "compensating", "outcome": "done"},
            at(130),
            "settling",
            at(130),
        ),
        (SENT | {"not_before": at(110)}, at(110), "retrying", at(110)),
        (SENT | {"not_before": at(90)}, at(90), "waiting for a scheduler", at(90)),
        (SENT | {"not_before": at(90), "settles_at": at(95)}, at(130), "waiting for a scheduler", at(90)),
        (SENT | {"not_before": at(90), "outcome": "none"}, at(130), "waiting for a scheduler", at(90)),
    ],
)
def test_a_step_that_waits_for_its_settle_time_says_so_and_until_when(
    facts: dict[str, Any], due_at: datetime | None, kind: str, until: datetime
) -> None:
    goal = "compensate" if facts.get("state") else "complete"
    standing = step_standing(step(**facts), goal, due_at=due_at, retry_limits=RetryLimits(), now=at(100))
    assert standing is not None
    assert (standing.kind, standing.until) == (kind, until)
