"""An order's lanes as a drawing with a time axis that is true to scale."""

from urllib.parse import parse_qsl

import pytest

from orders.console import order_chart
from orders.console.time_span import TimeSpan, links, read_span
from orders.selectors.desk.timeline import AttemptOutcome, Lane, SpanKind, lanes
from tests.unit.timelines import AWAITING, START, at, event, lane, step


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


@pytest.mark.parametrize(
    ("notices", "what", "outcome", "tone"),
    [
        ((), "reversal", "reversed", "idle"),
        (("bake",), "notice of cancellation", "sent", "good"),
    ],
)
def test_a_notice_is_no_reversal(notices: tuple[str, ...], what: str, outcome: str, tone: str) -> None:
    events = [event(0, "compensation_started", 2), event(1, "step_compensated", 2)]
    drawn_lane = lane(step(state="compensated", attempt=2), *events)
    span = TimeSpan(begins=0, ends=2)
    chart = order_chart.draw([drawn_lane], began=START, span=span, notices=notices)
    assert chart is not None
    (bar,) = chart.rows[0].bars
    assert (bar.what, bar.outcome, bar.tone) == (what, outcome, tone)
