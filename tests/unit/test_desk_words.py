"""Words of the desk that were once about something else than what they stood beside."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from orders.console import order_chart
from orders.selectors.desk.timeline import AttemptOutcome, Lane, Span, SpanKind
from orders.vocabulary import AlertKind
from orders.wording.acts import act_label
from orders.wording.alert_words import alert_heading, alert_text, alert_title

BEGAN = datetime(2026, 1, 31, tzinfo=UTC)


def test_an_alert_about_undelivered_alerts_is_not_one_about_a_role_without_progress() -> None:
    assert alert_title(AlertKind.STALLED, "undelivered") == "alerts have not been delivered"
    assert alert_title(AlertKind.STALLED, "no_progress") == "a role makes no progress"
    assert alert_title(AlertKind.STALLED, "part_failed") == "a part of retention fails"
    assert alert_title(AlertKind.STALLED, "quarantined") == "an agent host is quarantined"
    assert alert_title(AlertKind.STALLED, "slow_order") == "an order takes longer than a transaction may"
    assert alert_title(AlertKind.STALLED, "not_taken") == "the first message of a queue is not taken"
    assert alert_title("of tomorrow", "x") == "of tomorrow"


def test_only_the_message_of_a_failed_compensation_says_so() -> None:
    assert alert_text(AlertKind.COMPENSATION_FAILED, "declined") == "Cancellation failed: declined"
    assert alert_text(AlertKind.STEP_FAILED, "declined") == "declined"


@pytest.mark.parametrize(
    ("kind", "heading"),
    [
        (AlertKind.STEP_FAILED, "“declined”"),
        (AlertKind.COMPENSATION_FAILED, "Cancellation failed: “declined”"),
        (AlertKind.OUTAGE, "declined"),
    ],
)
def test_a_heading_quotes_what_a_service_said_of_an_order(kind: AlertKind, heading: str) -> None:
    assert alert_heading(kind, "declined") == heading


def test_the_names_of_acts_begin_with_their_verb() -> None:
    assert [act_label(act) for act in ("token create", "chaos clear", "resubmit")] == [
        "create token",
        "clear faults",
        "resubmit",
    ]


def test_no_two_labels_of_the_time_axis_are_alike() -> None:
    hours = (0, 26.1, 26.3, 26.5, 26.7, 26.9)
    spans = [
        Span(
            kind=SpanKind.ATTEMPT,
            begins=BEGAN + timedelta(hours=begins),
            ends=BEGAN + timedelta(hours=ends),
            outcome=AttemptOutcome.FAILED,
        )
        for begins, ends in pairwise(hours)
    ]
    for count in range(1, len(spans) + 1):
        lane = Lane(step="bake", agent="oven", spans=spans[:count], ticks=[])
        whole = order_chart.whole_span([lane], began=BEGAN, until=spans[count - 1].ends)
        chart = order_chart.draw([lane], began=BEGAN, span=whole)
        assert chart is not None
        labels = [mark.label for mark in chart.marks]
        assert len(labels) == len(set(labels)), labels
