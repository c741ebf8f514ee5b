"""How many alerts of each cause have opened over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.models import CauseFigures, OrderFigures
from orders.selectors.desk.figures import Range, beginnings, bounds


@dataclass(frozen=True, kw_only=True)
class CauseStep:
    """A part of a range. `opened` is None if nothing was measured."""

    began: datetime
    opened: int | None


@dataclass(frozen=True, kw_only=True)
class CauseSeries:
    """The alerts of a cause over a range, oldest first."""

    group_id: int
    range: Range
    since: datetime
    until: datetime
    steps: Sequence[CauseStep]


def cause_series(shown: Range, *, groups: Sequence[int], now: datetime) -> list[CauseSeries]:
    """How many alerts of each of these groups opened over a range. Three queries."""
    since, until = bounds(shown, now=now)
    in_range = {"span": shown.span, "began__gte": since, "began__lt": until}
    measured = {
        _step(shown, since, began)
        for began in OrderFigures.objects.filter(**in_range).values_list("began", flat=True)
    }
    opened: dict[tuple[int, datetime], int] = {}
    for row in CauseFigures.objects.filter(group_id__in=groups, **in_range):
        key = (row.group_id, _step(shown, since, row.began))
        opened[key] = opened.get(key, 0) + row.opened
    return [
        CauseSeries(
            group_id=group,
            range=shown,
            since=since,
            until=until,
            steps=[
                CauseStep(began=began, opened=opened.get((group, began), 0) if began in measured else None)
                for began in beginnings(shown, since, until)
            ],
        )
        for group in groups
    ]


def _step(shown: Range, since: datetime, began: datetime) -> datetime:
    return since + (began - since) // shown.step * shown.step
