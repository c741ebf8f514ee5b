"""The chart of an order's steps over time, as coordinates of an SVG that a template draws. A table shows the same
data.

The time axis is true to scale. What is too short to be seen is seen by showing a shorter span of time.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.console.time_span import SHORTEST, TimeSpan
from orders.selectors.desk.timeline import CUSTOMER, AttemptOutcome, Lane, Span, SpanKind
from orders.wording.attempts import attempt_words
from orders.wording.events import AWAITED

LEFT, WIDTH, TOP, ROW, BAR = 150, 900, 24, 26, 14
"""The left edge of the axis (step names go before it), the whole width, and the heights of the top margin, a row and a
bar, in units of the SVG."""
LEAST = 3.0
"""The smallest width of a bar. A call of a few milliseconds would otherwise be invisible."""
TONES = {
    AttemptOutcome.DONE: "good",
    AttemptOutcome.COMPENSATED: "idle",
    AttemptOutcome.FAILED: "bad",
    AttemptOutcome.TIMED_OUT: "warn",
    AttemptOutcome.UNDER_WAY: "busy",
    AttemptOutcome.TAKEN: "busy",
    AttemptOutcome.RECALLED: "back",
    AttemptOutcome.DEFERRED: "back",
}
WAITS = {SpanKind.WAIT: "wait", SpanKind.AWAITED: "awaited"}
LEGEND = {
    "good": "done",
    "busy": "running",
    "warn": "no answer",
    "bad": "failed",
    "idle": "reversed",
    "back": "postponed or taken back",
    "wait": "waiting for the next attempt",
    "awaited": "waiting for a person, an event, a time or a later answer",
}
"""What each tone means. Those of the waits and of what was postponed are patterns, which need no colour."""


MARKS_APART = 100.0
"""The least distance of two labels of the axis."""
STEPS = (
    *(
        0.001,
        0.002,
        0.005,
        0.01,
        0.02,
        0.05,
        0.1,
        0.2,
        0.5,
        1,
        2,
        5,
        10,
        15,
        30,
        60,
        120,
        300,
        600,
        900,
        1_800,
    ),
    *(3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000, 31_536_000),
)
"""How many seconds may lie between two marks of the axis."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A span as a bar, as far as it is shown. `tone` is one of `LEGEND`; `awaited` says what was awaited from outside.

    `what` is what was done in an attempt, and `outcome` how it ended. `since` is when it began and `seconds` how long
    all of it lasted.
    """

    x: float
    width: float
    tone: str
    span: Span
    since: float
    seconds: float
    what: str
    outcome: str
    awaited: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A step's lane. `y` is the top of its bars, `text` the base line of its name, `ticks` are the tries."""

    y: float
    text: float
    lane: Lane
    bars: list[Bar]
    ticks: list[float]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A labelled point on the axis, `seconds` after the order was placed."""

    x: float
    seconds: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """The whole chart of one `span`. `legend` explains the tones that occur in it."""

    span: TimeSpan
    width: int
    height: int
    left: int
    bottom: int
    bar: int
    rows: list[Row]
    marks: list[Mark]
    legend: dict[str, str]


class _Axis:
    """The time axis: maps seconds since the order was placed to x-coordinates."""

    def __init__(self, span: TimeSpan, began: datetime) -> None:
        self._span, self._began = span, began
        self._room = WIDTH - LEFT - 12

    def since(self, at: datetime) -> float:
        """How many seconds after the order was placed this was."""
        return (at - self._began).total_seconds()

    def shows(self, begins: float, ends: float) -> bool:
        """Whether any of a stretch is within what is shown."""
        return begins <= self._span.ends and ends >= self._span.begins

    def x(self, seconds: float) -> float:
        """The coordinate of a moment; that of the edge if it is not within what is shown."""
        shown = min(max(seconds, self._span.begins), self._span.ends)
        return round(LEFT + self._room * (shown - self._span.begins) / self._span.seconds, 1)

    def marks(self) -> list[Mark]:
        """Round moments, far enough apart to be labelled."""
        most = max(1, int(self._room / MARKS_APART))
        step = next((step for step in STEPS if self._span.seconds / step <= most), self._span.seconds)
        first = -int(-self._span.begins // step)
        numbers = range(first, int(self._span.ends / step) + 1)
        return [Mark(x=self.x(n * step), seconds=n * step, label=mark_label(n * step, step)) for n in numbers]


def mark_label(seconds: float, step: float) -> str:
    """A moment of the axis, as exact as the marks are apart: 0.25 s, 12 s, 1:05, 2:03:30, 3 d 04:00:00."""
    places = 0 if step >= 1 else 1 if step >= 0.1 else 2 if step >= 0.01 else 3
    if seconds < 60:
        return f"{seconds:.{places}f} s"
    minutes, rest = divmod(round(seconds, 3), 60)
    width = places + 3 if places else 2
    hours, minutes = divmod(int(minutes), 60)
    days, hours = divmod(hours, 24)
    clock = (
        f"{minutes}:{rest:0{width}.{places}f}"
        if not (hours or days)
        else f"{minutes:02d}:{rest:0{width}.{places}f}"
    )
    if days:
        return f"{days} d" if not (hours or minutes or rest) else f"{days} d {hours:02d}:{clock}"
    return f"{hours}:{clock}" if hours else clock


def whole_span(lanes: Sequence[Lane], *, began: datetime, until: datetime) -> TimeSpan:
    """The time from when the order was placed until now or, if nothing goes on, until the last of its stretches."""
    ends = max([until, *(span.ends for lane in lanes for span in lane.spans)])
    return TimeSpan(begins=0.0, ends=max((ends - began).total_seconds(), SHORTEST))


def draw(
    lanes: Sequence[Lane], *, began: datetime, span: TimeSpan, notices: Collection[str] = ()
) -> Chart | None:
    """Draws what happened in a span. The steps `notices` are not reversed when the order is cancelled, but send a
    notice. Returns None if no step has started."""
    if not any(lane.spans for lane in lanes):
        return None
    axis = _Axis(span, began)
    rows = [
        Row(
            y=TOP + ROW * number,
            text=TOP + ROW * number + BAR - 3,
            lane=lane,
            bars=[
                _bar(stretch, axis, is_notice=stretch.reversal > 0 and lane.step in notices)
                for stretch in lane.spans
                if axis.shows(axis.since(stretch.begins), axis.since(stretch.ends))
            ],
            ticks=[axis.x(axis.since(at)) for at in lane.ticks if axis.shows(axis.since(at), axis.since(at))],
        )
        for number, lane in enumerate(lanes)
    ]
    bottom = TOP + ROW * len(rows)
    tones = {bar.tone for row in rows for bar in row.bars}
    return Chart(
        span=span,
        width=WIDTH,
        height=bottom + 24,
        left=LEFT,
        bottom=bottom,
        bar=BAR,
        rows=rows,
        marks=axis.marks(),
        legend={tone: words for tone, words in LEGEND.items() if tone in tones},
    )


def _bar(span: Span, axis: _Axis, *, is_notice: bool) -> Bar:
    since, until = axis.since(span.begins), axis.since(span.ends)
    x, end = axis.x(since), axis.x(until)
    width = max(end - x, LEAST)
    is_sent = is_notice and span.outcome is AttemptOutcome.COMPENSATED
    return Bar(
        x=min(x, WIDTH - 12 - LEAST),
        width=round(width, 1),
        tone=WAITS.get(span.kind) or TONES[AttemptOutcome.DONE if is_sent else span.outcome],
        span=span,
        since=since,
        seconds=until - since,
        what=attempt_words(span.attempt, reversal=span.reversal, is_notice=is_notice),
        outcome="sent" if is_sent else span.outcome.value,
        awaited=_awaited(span.awaits) if span.awaits else "",
    )


def _awaited(kind: str) -> str:
    return "the customer" if kind == CUSTOMER else AWAITED.get(kind, "an answer")
