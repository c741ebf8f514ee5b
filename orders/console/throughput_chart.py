"""The chart of orders processed per minute, as coordinates of an SVG that a template draws. A table shows the same
data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.selectors.desk.overview import Minute

WIDTH, HEIGHT = 560, 120
LEFT, TOP, BOTTOM = 44, 14, 20
GAP = 6


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One minute's bar. `middle` is the x-coordinate of its label."""

    x: float
    y: float
    width: float
    height: float
    middle: float
    began: datetime
    count: int
    is_labelled: bool
    is_under_way: bool


@dataclass(frozen=True, kw_only=True)
class Chart:
    """The bars. `most` is the number at the top of the axis."""

    width: int
    height: int
    left: int
    top: int
    base: int
    most: int
    bars: Sequence[Bar]


def draw(minutes: Sequence[Minute]) -> Chart:
    """Draws a bar for each minute."""
    base = HEIGHT - BOTTOM
    most = round_up(max((minute.processed for minute in minutes), default=0))
    step = (WIDTH - LEFT) / max(len(minutes), 1)
    bars = [
        Bar(
            x=round(LEFT + index * step + GAP / 2, 1),
            y=round(base - (base - TOP) * minute.processed / most, 1),
            width=round(step - GAP, 1),
            height=round((base - TOP) * minute.processed / most, 1),
            middle=round(LEFT + index * step + step / 2, 1),
            began=minute.began,
            count=minute.processed,
            is_labelled=index % 2 == 0,
            is_under_way=index == len(minutes) - 1,
        )
        for index, minute in enumerate(minutes)
    ]
    return Chart(width=WIDTH, height=HEIGHT, left=LEFT, top=TOP, base=base, most=most, bars=bars)


def round_up(most: int) -> int:
    """Returns the smallest of 10, 20, 50, 100, 200, 500, … that is at least `most`."""
    size = 10
    while True:
        for step in (1, 2, 5):
            if most <= size * step:
                return size * step
        size *= 10
