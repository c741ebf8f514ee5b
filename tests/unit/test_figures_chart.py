"""Charts of figures: scales, labels, gaps, and what is drawn of nothing, of zeros and of one point."""

from datetime import UTC, datetime, timedelta

import pytest

from orders.console.figures_chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    TOP,
    Chart,
    Measure,
    draw,
    runs,
    scale,
    spark,
    time_scale,
)
from orders.wording import units
from orders.wording.units import number, short_duration

MINUTE = timedelta(minutes=1)
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BASE = HEIGHT - BOTTOM


def chart(*values: float | None, step: timedelta = MINUTE) -> Chart:
    measure: Measure = ("Placed", "good", values)
    return draw(
        began=[START + number * step for number in range(len(values))],
        step=step,
        measures=[measure],
        missing=[value is None for value in values],
        say=units.number,
        is_whole=True,
    )


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (0, [0, 1]),
        (0.03, [0, 0.02, 0.04]),
        (7, [0, 5, 10]),
        (10, [0, 5, 10]),
        (11, [0, 10, 20]),
        (347, [0, 200, 400]),
    ],
)
def test_a_scale_is_round_and_reaches_the_largest_value(most: float, ticks: list[float]) -> None:
    assert scale(most) == pytest.approx(ticks)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 19, 20, 21, 99, 12_345])
def test_the_labels_of_an_axis_of_whole_numbers_are_whole_and_do_not_repeat(most: int) -> None:
    ticks = scale(most, is_whole=True)
    assert all(tick == int(tick) for tick in ticks)
    assert ticks[-1] >= most
    texts = [label.text for label in chart(0, most).values]
    assert len(set(texts)) == len(texts)


def test_a_line_is_broken_where_nothing_was_measured_and_the_gap_is_marked() -> None:
    drawn = chart(1, 2, None, None, 3, 4)
    assert drawn.lines[0].path.count("M") == 2
    (gap,) = drawn.gaps
    across = (drawn.last_x - drawn.first_x) / 6
    assert gap.x == pytest.approx(drawn.first_x + 2 * across, abs=0.1)
    assert gap.width == pytest.approx(2 * across, abs=0.1)


def test_a_point_between_two_gaps_is_a_dot() -> None:
    line = chart(None, 2, None).lines[0]
    assert line.path == ""
    assert [y for _, y in line.dots] == [TOP]


def test_zeros_lie_on_the_axis_and_are_no_gap() -> None:
    drawn = chart(0, 0)
    assert not drawn.gaps and not drawn.is_empty
    assert drawn.lines[0].path.endswith(f" {float(BASE)}") or drawn.lines[0].path.endswith(f" {BASE}")


def test_of_nothing_measured_there_is_one_gap_and_no_line() -> None:
    drawn = chart(None, None)
    assert drawn.is_empty
    assert len(drawn.gaps) == 1
    assert (drawn.lines[0].path, drawn.lines[0].dots) == ("", [])
    assert chart().lines[0].path == ""


@pytest.mark.parametrize("step", [MINUTE, timedelta(minutes=15), timedelta(hours=1), timedelta(hours=6)])
def test_labels_of_times_do_not_repeat(step: timedelta) -> None:
    texts = [label.text for label in chart(*[1] * 96, step=step).times]
    assert 2 <= len(texts) <= 5
    assert len(set(texts)) == len(texts)


def test_a_band_is_where_it_was_and_wide_enough_to_be_seen() -> None:
    drawn = draw(
        began=[START, START + MINUTE],
        step=MINUTE,
        measures=[],
        missing=[False, False],
        say=str,
        bands=[(START + MINUTE, START + 2 * MINUTE), (START, START + timedelta(milliseconds=1))],
    )
    half, sliver = drawn.bands
    assert half.x == (drawn.first_x + drawn.last_x) / 2
    assert half.width == (drawn.last_x - drawn.first_x) / 2
    assert sliver.width == 1.5


def test_runs_are_where_flags_are_set() -> None:
    assert runs([True, True, False, True]) == [(0, 2), (3, 4)]
    assert runs([]) == []


def test_a_sparkline_breaks_at_what_was_not_measured() -> None:
    line = spark([0, 3, None, 1])
    assert line.path.count("M") == 1
    assert len(line.dots) == 1


@pytest.mark.parametrize(
    "seconds", [0.3, 1.5, 7.0, 45.0, 61.0, 100.0, 500.0, 3_000.0, 5_000.0, 80_000.0, 900_000.0]
)
def test_the_axis_of_a_time_says_what_its_ticks_are(seconds: float) -> None:
    """A tick at 100 s would be said to be at 1 min."""
    ticks = time_scale(seconds)
    assert ticks[-1] >= seconds
    texts = [units.short_duration(tick) for tick in ticks]
    assert len(set(texts)) == len(texts)
    sizes = {"ms": 0.001, "s": 1, "min": 60, "h": 3_600, "d": 86_400}
    seconds_of = [float(number) * sizes[unit] for number, unit in (text.split() for text in texts)]
    assert seconds_of == pytest.approx(ticks)


def test_the_longest_labels_of_the_axis_fit_beside_it_on_a_phone() -> None:
    """19 px there, in a wide sans serif; whatever is wider is cut off at the edge of the drawing."""
    ems = {" ": 0.32, ",": 0.32, ".": 0.32, "m": 0.98, "s": 0.53, "i": 0.28, "n": 0.64, "h": 0.64, "d": 0.64}
    labels = [
        short_duration(tick)
        for most in (0.02, 0.3, 0.9, 90.0, 3_000.0, 80_000.0)
        for tick in time_scale(most)
    ]
    labels += [number(tick) for tick in scale(90_000.0, is_whole=True)]
    assert {"500 ms", "100,000"} <= set(labels)
    widest = max(sum(ems.get(letter, 0.64) for letter in label) for label in labels)
    assert widest * 19 <= LEFT - 6
