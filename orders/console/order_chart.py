"""The chart of an order's steps over time, as coordinates of an SVG that a template draws. A table shows the same
data.

The time axis is linear, except that a long stretch without events is cut short and marked as cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.selectors.desk.timeline import AttemptOutcome, Lane, Span, SpanKind
from orders.wording.events import AWAITED
from orders.wording.units import duration

LEFT, WIDTH, TOP, ROW, BAR = 150, 900, 24, 26, 14
"""The left edge of the axis (step names go before it), the whole width, and the heights of the top margin, a row and a
bar, in units of the SVG."""
CUT_SHARE = 0.35
"""A stretch without events is cut if it is a larger share of the whole time than this,"""
CUT_TO = 0.12
"""and then takes this share of the width."""
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
    "back": "handed back",
    "wait": "waiting for the next attempt",
    "awaited": "waiting for a person, an event, a time or a later answer",
}
"""What each tone means. Those of the waits and of what was handed back are patterns, which need no colour."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A span as a bar. `tone` is one of `LEGEND`; `awaited` says what was awaited from outside."""

    x: float
    width: float
    tone: str
    span: Span
    seconds: float
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
    """A labelled point on the axis, `seconds` after the start. `cut` is how many seconds are left out before it."""

    x: float
    seconds: float
    cut: float | None = None


@dataclass(frozen=True, kw_only=True)
class Chart:
    """The whole chart. `legend` explains the tones that occur in it."""

    width: int
    height: int
    left: int
    bottom: int
    bar: int
    rows: list[Row]
    marks: list[Mark]
    legend: dict[str, str]


class _Axis:
    """The time axis: maps the moments of a chart to x-coordinates."""

    def __init__(self, moments: Sequence[datetime]) -> None:
        self._moments = sorted(set(moments))
        gaps = [
            (after - before).total_seconds()
            for before, after in zip(self._moments, self._moments[1:], strict=False)
        ]
        whole = sum(gaps) or 1.0
        self.cuts = {i for i, gap in enumerate(gaps) if gap > CUT_SHARE * whole and gap > 5 and len(gaps) > 2}
        room = WIDTH - LEFT - 12
        even = sum(gap for i, gap in enumerate(gaps) if i not in self.cuts)
        for_even = room * (1 - CUT_TO * len(self.cuts))
        self._at = [float(LEFT)]
        for i, gap in enumerate(gaps):
            share = CUT_TO * room if i in self.cuts else for_even * gap / (even or 1.0)
            self._at.append(self._at[-1] + share)
        self._gaps = gaps

    def x(self, at: datetime) -> float:
        """Returns the coordinate of one of the moments."""
        return round(self._at[self._moments.index(at)], 1)

    def marks(self) -> list[Mark]:
        """Returns points of the axis that are far enough apart to be labelled, every cut, and the end."""
        marks: list[Mark] = []
        for i, at in enumerate(self._moments):
            cut = self._gaps[i - 1] if i and i - 1 in self.cuts else None
            x = round(self._at[i], 1)
            is_last = i == len(self._moments) - 1
            if not marks or cut is not None or x - marks[-1].x >= 90 or is_last:
                if marks and cut is None and x - marks[-1].x < 60:
                    if not is_last or marks[-1].cut is not None or len(marks) == 1:
                        continue
                    marks.pop()  # the end matters more than a mark that it would overlap
                if (
                    marks
                    and cut is None
                    and not is_last
                    and duration(self._since(at)) == duration(marks[-1].seconds)
                ):
                    continue  # a second mark with the same label says nothing
                marks.append(Mark(x=x, seconds=self._since(at), cut=cut))
        last = len(marks) - 1
        if (
            last > 0
            and marks[last].cut is None
            and duration(marks[last].seconds) == duration(marks[last - 1].seconds)
        ):
            marks.pop(last - 1)
        return marks

    def _since(self, at: datetime) -> float:
        return (at - self._moments[0]).total_seconds()


def draw(lanes: Sequence[Lane], *, began: datetime, until: datetime) -> Chart | None:
    """Draws the chart. Returns None if no step has started."""
    if not any(lane.spans for lane in lanes):
        return None
    until = max([until, *(span.ends for lane in lanes for span in lane.spans)])
    began = min([began, *(span.begins for lane in lanes for span in lane.spans)])
    moments = [began, until]
    moments += [at for lane in lanes for span in lane.spans for at in (span.begins, span.ends)]
    axis = _Axis(moments)
    rows = [
        Row(
            y=TOP + ROW * number,
            text=TOP + ROW * number + BAR - 3,
            lane=lane,
            bars=[_bar(span, axis) for span in lane.spans],
            ticks=[axis.x(at) for at in lane.ticks if at in moments],
        )
        for number, lane in enumerate(lanes)
    ]
    bottom = TOP + ROW * len(rows)
    tones = {bar.tone for row in rows for bar in row.bars}
    return Chart(
        width=WIDTH,
        height=bottom + 24,
        left=LEFT,
        bottom=bottom,
        bar=BAR,
        rows=rows,
        marks=axis.marks(),
        legend={tone: words for tone, words in LEGEND.items() if tone in tones},
    )


def _bar(span: Span, axis: _Axis) -> Bar:
    x, end = axis.x(span.begins), axis.x(span.ends)
    width = end - x if span.kind is SpanKind.WAIT else max(end - x, LEAST)
    return Bar(
        x=min(x, WIDTH - 12 - LEAST),
        width=round(width, 1),
        tone=WAITS.get(span.kind) or TONES[span.outcome],
        span=span,
        seconds=(span.ends - span.begins).total_seconds(),
        awaited=AWAITED.get(span.awaits, "an answer") if span.awaits else "",
    )
