"""An order's history as lanes, and the lanes as a drawing, without a database."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest

from orders.console import order_chart
from orders.console.time_span import TimeSpan, links, read_span
from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.standing import RetryLimits, StandingKind, StepFacts, step_standing
from orders.selectors.desk.timeline import AttemptOutcome, Lane, SpanKind, lanes
from orders.wording.events import event_entry, event_sentence, shorten

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
Told = tuple[str, float, bool, bool]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def event(seconds: float, name: str, attempt: int = 1, **detail: Any) -> EventFacts:
    return EventFacts(
        at=at(seconds),
        kind=name,
        step="bake",
        attempt=attempt,
        actor_kind="agents",
        actor_name="x",
        detail=detail,
    )


def step(**facts: Any) -> StepFacts:
    defaults: dict[str, Any] = {
        "name": "bake",
        "agent": "oven",
        "state": "not_started",
        "outcome": "none",
        "attempt": 0,
        "generation": 1,
        "failure_count": 0,
        "compensation_failure_count": 0,
        "extended_waits": 0,
        "complete_by": None,
        "settles_at": None,
        "not_before": None,
        "key": "k",
        "error": None,
        "started_at": None,
        "completed_at": None,
    }
    return StepFacts(**(defaults | facts))


def lane(facts: StepFacts, *events: EventFacts, now: float = 100) -> Lane:
    (only_lane,) = lanes([facts], events, now=at(now))
    return only_lane


def stretches(lane: Lane) -> list[tuple[str, float, float, str]]:
    return [
        (
            span.kind.value,
            (span.begins - START).total_seconds(),
            (span.ends - START).total_seconds(),
            span.outcome,
        )
        for span in lane.spans
    ]


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
        ("attempt", 50, 51, "compensated"),
    ]
    assert [span.compensates for span in drawn_lane.spans] == [False, False, False, True]
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


AWAITING = {"state": "awaiting", "attempt": 1}


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


def tried_again_later() -> Lane:
    """A step that was tried again two hours later, in calls of a fraction of a second."""
    return lane(
        step(state="failed", attempt=2),
        *(event(second, kind) for second, kind in ((0, "step_started"), (0.004, "step_deferred"))),
        *(event(second, kind, 2) for second, kind in ((7200, "step_started"), (7200.2, "step_refused"))),
        now=7300,
    )


def test_a_drawing_keeps_everything_within_its_bounds_and_in_order_of_time() -> None:
    drawn_lane = tried_again_later()
    whole = order_chart.whole_span([drawn_lane], began=START, until=at(7300))
    chart = order_chart.draw([drawn_lane], began=START, span=whole)
    assert chart is not None
    (row,) = chart.rows
    edges = [(bar.x, bar.x + bar.width) for bar in row.bars]
    assert all(chart.left <= start < end <= chart.width for start, end in edges)
    assert [bar.x for bar in row.bars] == sorted(bar.x for bar in row.bars)
    assert min(bar.width for bar in row.bars) >= order_chart.LEAST
    assert [mark.x for mark in chart.marks] == sorted(mark.x for mark in chart.marks)
    assert {span.kind for span in drawn_lane.spans} == {SpanKind.ATTEMPT, SpanKind.WAIT}
    assert order_chart.draw([lane(step())], began=START, span=whole) is None


def test_the_time_axis_is_true_to_scale() -> None:
    drawn_lane = tried_again_later()
    whole = order_chart.whole_span([drawn_lane], began=START, until=at(7300))
    chart = order_chart.draw([drawn_lane], began=START, span=whole)
    assert chart is not None
    scales = {round((mark.x - chart.left) / mark.seconds, 3) for mark in chart.marks if mark.seconds}
    assert len(scales) == 1
    (scale,) = scales
    (_, wait, _) = chart.rows[0].bars
    assert wait.width == pytest.approx(7200 * scale, rel=0.01)


def test_a_span_shows_what_touches_it_and_nothing_else() -> None:
    drawn_lane = tried_again_later()
    span = TimeSpan(begins=7199.9, ends=7200.3)
    chart = order_chart.draw([drawn_lane], began=START, span=span)
    assert chart is not None
    wait, attempt = chart.rows[0].bars
    assert (wait.x, wait.seconds) == (chart.left, pytest.approx(7199.996))
    assert attempt.width == pytest.approx((chart.width - chart.left - 12) / 2, rel=0.01)
    labels = [mark.label for mark in chart.marks]
    assert labels == sorted(set(labels)) and labels[0] == "1:59:59.9"


def test_the_links_lead_to_the_whole_to_steps_and_attempts_and_around() -> None:
    drawn_lane = tried_again_later()
    whole = order_chart.whole_span([drawn_lane], began=START, until=at(7300))
    by_label = {link.label: link for link in links(whole, whole, [drawn_lane], START)}
    assert list(by_label) == ["Whole", "Last attempt", "bake", "Zoom in ×2"]
    last = dict(parse_qsl(by_label["Last attempt"].query))
    shown = read_span(last["from"], last["to"], whole)
    assert shown == TimeSpan(begins=7199.99, ends=7200.21)
    labels = [link.label for link in links(shown, whole, [drawn_lane], START)]
    assert labels[3:] == ["Zoom in ×2", "Zoom out ÷2", "Earlier", "Later"]


@pytest.mark.parametrize(
    "query", [("", ""), ("x", "2"), ("3", "2"), ("-1", "2"), ("nan", "inf"), ("0", "1e300")]
)
def test_a_span_that_cannot_be_shown_is_the_whole(query: tuple[str, str]) -> None:
    whole = TimeSpan(begins=0, ends=10)
    assert read_span(*query, whole) == whole


def test_each_kind_of_bar_that_occurs_is_explained_and_no_two_look_alike() -> None:
    drawn_lanes = lanes(
        [step(name=name, **AWAITING) for name in ("bake", "cool")],
        [
            *(event(second, kind) for second, kind in ((0, "step_started"), (1, "step_recalled"))),
            *(event(second, kind) for second, kind in ((3, "compensation_started"), (4, "step_compensated"))),
            event(5, "awaiting", kind="event"),
        ],
        now=at(100),
    )
    whole = order_chart.whole_span(drawn_lanes, began=START, until=at(100))
    chart = order_chart.draw(drawn_lanes, began=START, span=whole)
    assert chart is not None
    assert [bar.tone for bar in chart.rows[0].bars] == ["back", "wait", "idle", "awaited"]
    assert chart.rows[0].bars[-1].awaited == "an outside event"
    assert list(chart.legend) == ["idle", "back", "wait", "awaited"]
    assert len(set(order_chart.LEGEND.values())) == len(order_chart.LEGEND)
    assert set(order_chart.LEGEND) == {*order_chart.TONES.values(), *order_chart.WAITS.values()}
    assert set(order_chart.TONES) == set(AttemptOutcome)


def test_a_timeout_says_which_failure_it_was_and_when_the_next_try_is() -> None:
    entry = event_entry(
        event(0, "step_timed_out", ruling="retry", failures=1, until=at(12).isoformat()),
        RetryLimits(forward=3),
    )
    assert entry.sentence == (
        "Step bake got no answer by its complete-by time (attempt 1): failure 1 of 3; next attempt after 12 s"
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
