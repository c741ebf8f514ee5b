"""Where the bars of a chart are, as coordinates of an SVG that a template draws. Each chart has a table beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.selectors.desk.overview import Minute

WIDTH, HEIGHT = 560, 120
LEFT, TOP, BOTTOM = 44, 14, 20
GAP = 6


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One minute's bar. `middle` is where its label stands."""

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
    """The bars, and the number that the top line stands for."""

    width: int
    height: int
    left: int
    top: int
    base: int
    most: int
    bars: Sequence[Bar]


def throughput(minutes: Sequence[Minute]) -> Chart:
    """A bar a minute, of the orders that were processed in it."""
    base = HEIGHT - BOTTOM
    most = nice(max((minute.processed for minute in minutes), default=0))
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


def nice(most: int) -> int:
    """The smallest of 10, 20, 50, 100, 200, 500, … that is no less."""
    size = 10
    while True:
        for step in (1, 2, 5):
            if most <= size * step:
                return size * step
        size *= 10
