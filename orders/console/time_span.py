"""The part of an order's time that its chart shows, and the links to other parts. Pure.

Times are seconds since the order was placed, so a link shows the same part whenever it is opened.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.selectors.desk.timeline import Lane, Span, SpanKind

SHORTEST = 0.02
"""Seconds that the chart shows at least."""
MARGIN = 0.05
"""What is left free on both sides of what somebody picks, as a share of its length."""
LATEST = 1e9
"""Seconds, some thirty years. A link with more has been changed by hand."""


@dataclass(frozen=True, kw_only=True)
class TimeSpan:
    """A stretch of time, in seconds since the order was placed."""

    begins: float
    ends: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.ends - self.begins

    @property
    def query(self) -> str:
        """The query string that shows it."""
        return f"from={self.begins:.3f}&to={self.ends:.3f}"


@dataclass(frozen=True, kw_only=True)
class SpanLink:
    """A link to a part of the time, or to all of it if the query is empty."""

    label: str
    query: str
    is_current: bool = False


def read_span(begins: str, ends: str, whole: TimeSpan) -> TimeSpan:
    """The part that a query string names; the whole if it names none, or none that can be shown."""
    try:
        span = TimeSpan(begins=float(begins), ends=float(ends))
    except ValueError:
        return whole
    is_readable = 0 <= span.begins < span.ends <= LATEST  # not of NaN either
    return span if is_readable and span.seconds >= SHORTEST / 2 else whole


def links(shown: TimeSpan, whole: TimeSpan, lanes: Sequence[Lane], began: datetime) -> Iterator[SpanLink]:
    """What else can be shown: everything, the last attempt, each step; and closer, farther, earlier, later."""
    yield SpanLink(label="Whole", query="", is_current=shown == whole)
    attempts = [span for lane in lanes for span in lane.spans if span.kind is SpanKind.ATTEMPT]
    if attempts:
        last = max(attempts, key=lambda span: span.begins)
        yield _link("Last attempt", around([last], began), shown)
    for lane in lanes:
        if lane.spans:
            yield _link(lane.step, around(lane.spans, began), shown)
    middle, half = (shown.begins + shown.ends) / 2, shown.seconds / 2
    if shown.seconds >= 2 * SHORTEST:
        yield _link("Zoom in ×2", _within(middle - half / 2, middle + half / 2), shown)
    if shown.seconds < whole.seconds:
        yield _link("Zoom out ÷2", _within(middle - 2 * half, middle + 2 * half), shown)
    if shown.begins > whole.begins:
        yield _link("Earlier", _within(shown.begins - half, shown.ends - half), shown)
    if shown.ends < whole.ends:
        yield _link("Later", _within(shown.begins + half, shown.ends + half), shown)


def around(spans: Sequence[Span], began: datetime) -> TimeSpan:
    """The time of these stretches with a margin."""
    begins = min((span.begins - began).total_seconds() for span in spans)
    ends = max((span.ends - began).total_seconds() for span in spans)
    margin = max(MARGIN * (ends - begins), SHORTEST / 2)
    return TimeSpan(begins=max(0.0, begins - margin), ends=ends + margin)


def _within(begins: float, ends: float) -> TimeSpan:
    """A stretch of this length that does not begin before the order was placed."""
    begins_late = max(0.0, begins)
    return TimeSpan(begins=begins_late, ends=begins_late + ends - begins)


def _link(label: str, span: TimeSpan, shown: TimeSpan) -> SpanLink:
    return SpanLink(label=label, query=span.query, is_current=span.query == shown.query)
