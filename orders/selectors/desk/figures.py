"""Figures over time, as the console draws them and the API lists them. Read from the small tables of figures alone.

A range is cut into steps. A step in which nothing was measured has no figures, which is not the same as zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orders.models import OrderFigures
from orders.models.figures import AGE_BOUNDS
from orders.selectors.desk.histograms import at_least, percentile, total
from orders.vocabulary import FigureSpan

LATE = timedelta(minutes=2)
"""How late the figures of a minute may come before the minute shows as not measured."""
WAITS = {"over_1h": 3_600.0, "over_8h": 28_800.0, "over_24h": 86_400.0, "over_7d": 604_800.0}
"""The ages, in seconds, that unfinished orders are counted by."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """How far back, in which steps, and from which rows."""

    name: str
    length: timedelta
    step: timedelta
    span: FigureSpan

    @property
    def step_seconds(self) -> float:
        """The length of a step."""
        return self.step.total_seconds()

    @property
    def row(self) -> timedelta:
        """The time that one row is about."""
        return timedelta(minutes=1) if self.span is FigureSpan.MINUTE else timedelta(hours=1)


def _range(name: str, hours: int, step: timedelta, span: FigureSpan = FigureSpan.MINUTE) -> Range:
    return Range(name=name, length=timedelta(hours=hours), step=step, span=span)


RANGES: Mapping[str, Range] = {
    choice.name: choice
    for choice in (
        _range("1h", 1, timedelta(minutes=1)),
        _range("8h", 8, timedelta(minutes=5)),
        _range("24h", 24, timedelta(minutes=15)),
        _range("7d", 7 * 24, timedelta(hours=1), FigureSpan.HOUR),
        _range("30d", 30 * 24, timedelta(hours=6), FigureSpan.HOUR),
    )
}
DEFAULT = "1h"


@dataclass(frozen=True, kw_only=True)
class OrderCounts:
    """What became of orders in a step.

    `over_*` is how many had waited that long at its end, placed and not ended. `p50` and `p95` are seconds from placing
    to Processed over the orders that were processed in it and those that had not ended, each with its age at the end.
    """

    placed: int
    processed: int
    failed: int
    cancelled: int
    over_1h: int
    over_8h: int
    over_24h: int
    over_7d: int
    measured: int
    p50: float | None
    p95: float | None


@dataclass(frozen=True, kw_only=True)
class Step:
    """A part of a range. `counts` is None if nothing was measured, and `minutes` are how many were."""

    began: datetime
    minutes: int
    counts: OrderCounts | None


@dataclass(frozen=True, kw_only=True)
class OrderSeries:
    """The figures of orders over a range, oldest first."""

    range: Range
    since: datetime
    until: datetime
    steps: Sequence[Step]


def order_series(shown: Range, *, now: datetime) -> OrderSeries:
    """The figures of orders over a range that ends with the newest figures. One query."""
    since, until = bounds(shown, now=now)
    rows: dict[datetime, list[OrderFigures]] = {}
    for row in OrderFigures.objects.filter(span=shown.span, began__gte=since, began__lt=until).order_by(
        "began"
    ):
        rows.setdefault(since + (row.began - since) // shown.step * shown.step, []).append(row)
    steps = [
        Step(
            began=began,
            minutes=sum(row.minutes for row in rows.get(began, ())),
            counts=sum_up(rows[began]) if began in rows else None,
        )
        for began in beginnings(shown, since, until)
    ]
    return OrderSeries(range=shown, since=since, until=until, steps=steps)


def last_hour(*, now: datetime) -> OrderCounts | None:
    """What became of orders in the last hour, or None if nothing of it was measured. One query."""
    minutes = OrderFigures.objects.filter(span=FigureSpan.MINUTE, began__lt=now)
    rows = list(minutes.filter(began__gte=now - timedelta(hours=1)).order_by("began"))
    return sum_up(rows) if rows else None


def sum_up(rows: Sequence[OrderFigures]) -> OrderCounts:
    """The figures of rows that follow one another, of which there is at least one."""
    unfinished = rows[len(rows) - 1].unfinished
    ages = total(unfinished, *(row.took for row in rows))
    return OrderCounts(
        placed=sum(row.placed for row in rows),
        processed=sum(row.processed for row in rows),
        failed=sum(row.failed for row in rows),
        cancelled=sum(row.cancelled for row in rows),
        **{name: at_least(unfinished, AGE_BOUNDS, age) for name, age in WAITS.items()},
        measured=sum(ages),
        p50=percentile(ages, AGE_BOUNDS, 0.5),
        p95=percentile(ages, AGE_BOUNDS, 0.95),
    )


def bounds(shown: Range, *, now: datetime) -> tuple[datetime, datetime]:
    """When a range begins and ends: with the last step that has figures, or may still get some."""
    until = now.replace(second=0, microsecond=0)
    if shown.span is FigureSpan.HOUR:
        until = until.replace(minute=0)
    newest = (
        OrderFigures.objects.filter(span=shown.span)
        .order_by("-began")
        .values_list("began", flat=True)
        .first()
    )
    if newest is None or newest + shown.row < until:
        # The newest figures come some seconds after their minute, so what is that new is not missing yet.
        grace = LATE if shown.span is FigureSpan.MINUTE else shown.row
        if newest is not None and until - newest - shown.row <= grace:
            until = newest + shown.row
    return until - shown.length, until


def beginnings(shown: Range, since: datetime, until: datetime) -> list[datetime]:
    """When each step begins."""
    return [since + number * shown.step for number in range((until - since) // shown.step)]
