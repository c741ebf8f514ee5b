"""Charts of figures over time, as coordinates of an SVG that a template draws. Pure functions.

A line is broken where nothing was measured, and a single point between two gaps is drawn as a dot. The labels of an
axis do not repeat.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

DAY = 86_400.0
TIMES = (
    *(2.0, 4.0, 10.0, 20.0, 40.0, 60.0, 120.0, 240.0, 600.0, 1_200.0, 2_400.0, 3_600.0),
    *(7_200.0, 14_400.0, 28_800.0, 57_600.0, 86_400.0, 172_800.0, 345_600.0),
)
"""Seconds at which the axis of a time may end. Half of each is as short to say."""
WIDTH, HEIGHT = 560, 150
LEFT, RIGHT, TOP, BOTTOM = 88, 8, 12, 24
"""Left of the axis is room for the longest label, "500 ms" or "100,000", as large as it is on a phone."""
MOST_TIMES = 5
"""Labels of the axis of time at most: more would run into one another on a phone."""


@dataclass(frozen=True, kw_only=True)
class Label:
    """A text at a place of an axis. `anchor` is SVG's: start, middle or end."""

    at: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One measure over time: a path (`d` of an SVG path) and the points that stand alone. `tone` names its look."""

    name: str
    tone: str
    path: str
    dots: Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Band:
    """A part of the time that is shaded."""

    x: float
    width: float


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What is drawn. `is_empty`: nothing was measured at all."""

    width: int
    height: int
    first_x: int
    last_x: int
    top: int
    base: int
    lines: Sequence[Line]
    values: Sequence[Label]
    times: Sequence[Label]
    gaps: Sequence[Band]
    bands: Sequence[Band]
    is_empty: bool


Measure = tuple[str, str, Sequence[float | None]]
"""A name, a tone, and a value for each step, which is None where nothing was measured."""


def draw(
    *,
    began: Sequence[datetime],
    step: timedelta,
    measures: Sequence[Measure],
    missing: Sequence[bool],
    say: Callable[[float], str],
    is_whole: bool = False,
    bands: Sequence[tuple[datetime, datetime]] = (),
) -> Chart:
    """Draws measures over steps that begin then. `missing` says in which nothing was measured; `say` writes a value,
    which with `is_whole` is a number of things, so that the axis has no half, and otherwise a time in seconds."""
    base, last_x = HEIGHT - BOTTOM, WIDTH - RIGHT
    values = [value for _, _, series in measures for value in series if value is not None]
    most = max(values, default=0.0)
    ticks = scale(most, is_whole=True) if is_whole else time_scale(most)
    across = (last_x - LEFT) / max(len(began), 1)

    def x_of(at: datetime) -> float:
        return round(LEFT + max(0.0, (at - began[0]) / step) * across, 1)

    def y_of(value: float) -> float:
        return round(base - (base - TOP) * value / ticks[-1], 1)

    middles = [round(LEFT + (index + 0.5) * across, 1) for index in range(len(began))]
    return Chart(
        width=WIDTH,
        height=HEIGHT,
        first_x=LEFT,
        last_x=last_x,
        top=TOP,
        base=base,
        lines=[
            _line(name, tone, middles, [None if value is None else y_of(value) for value in series])
            for name, tone, series in measures
        ],
        values=_distinct([Label(at=y_of(tick), text=say(tick), anchor="end") for tick in ticks]),
        times=times(began, middles),
        gaps=[
            Band(x=round(LEFT + first * across, 1), width=round((last - first) * across, 1))
            for first, last in runs(missing)
        ],
        bands=[
            Band(x=x_of(since), width=max(1.5, round(x_of(until) - x_of(since), 1))) for since, until in bands
        ]
        if began
        else [],
        is_empty=all(missing),
    )


def scale(most: float, *, is_whole: bool = False) -> list[float]:
    """Round values from 0 to at least `most`, evenly spaced, two or three of them: 0, 5, 10."""
    if (is_whole and most <= 1) or most <= 0:
        return [0.0, 1.0]
    size = 10.0 ** math.floor(math.log10(most))
    top = next(size * factor for factor in (1, 2, 4, 10) if most <= size * factor * (1 + 1e-9))
    return [0.0, top / 2, top]


def time_scale(seconds: float) -> list[float]:
    """The same for a time, whose ends and middles are each said in one unit: 0, 1 min, 2 min."""
    top = next((top for top in TIMES if seconds <= top), None)
    if seconds <= 1 or top is None:
        return [tick * (DAY if top is None else 1) for tick in scale(seconds / (DAY if top is None else 1))]
    return [0.0, top / 2, top]


def runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Where flags are set: the first index of each run, and the one behind its last."""
    spans: list[tuple[int, int]] = []
    for index, is_set in enumerate(flags):
        if is_set and spans and spans[-1][1] == index:
            spans[-1] = (spans[-1][0], index + 1)
        elif is_set:
            spans.append((index, index + 1))
    return spans


def times(began: Sequence[datetime], middles: Sequence[float]) -> list[Label]:
    """Labels for some of the steps: of a range of days their dates, otherwise their times."""
    every = max(1, math.ceil(len(began) / MOST_TIMES))
    labels: list[Label] = []
    is_long = bool(began) and began[-1] - began[0] > timedelta(days=2)
    for index in range(0, len(began), every):
        at = began[index]
        text = f"{at.day} {at:%b}" if is_long else f"{at:%H:%M}"
        labels.append(Label(at=middles[index], text=text, anchor="middle" if index else "start"))
    return _distinct(labels)


def spark(values: Sequence[int | None], *, width: int = 96, height: int = 20) -> Line:
    """A small line without axes: a value for each step, None where nothing was measured."""
    most = max((value for value in values if value is not None), default=0) or 1
    across = width / max(len(values), 1)
    middles = [round((index + 0.5) * across, 1) for index in range(len(values))]
    heights = [
        None if value is None else round(height - 1.5 - (height - 3) * value / most, 1) for value in values
    ]
    return _line("", "bad", middles, heights)


def _line(name: str, tone: str, xs: Sequence[float], ys: Sequence[float | None]) -> Line:
    parts: list[str] = []
    dots: list[tuple[float, float]] = []
    for first, last in runs([y is not None for y in ys]):
        points = [(xs[index], y) for index in range(first, last) if (y := ys[index]) is not None]
        if len(points) == 1:
            dots += points
        else:
            parts.append("M" + "L".join(f"{x} {y}" for x, y in points))
    return Line(name=name, tone=tone, path="".join(parts), dots=dots)


def _distinct(labels: Sequence[Label]) -> list[Label]:
    """Without labels that say what the one before says."""
    return [label for index, label in enumerate(labels) if not index or label.text != labels[index - 1].text]
