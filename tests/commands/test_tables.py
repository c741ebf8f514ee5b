"""Text for a terminal: aligned, narrow enough, in words."""

import pytest

from orders.management.tables import Column, Fit, brief, clock, duration, number, table, width_of


@pytest.mark.parametrize(
    ("seconds", "words", "in_short"),
    [
        (-3, "0 ms", "0 ms"),
        (0.0124, "12 ms", "12 ms"),
        (0.9996, "1.0 s", "1.0 s"),
        (3.21, "3.2 s", "3.2 s"),
        (9.96, "10 s", "10 s"),
        (59.4, "59 s", "59 s"),
        (59.9, "1 min", "59 s"),
        (312, "5 min 12 s", "5 min"),
        (3_599.7, "1 h", "59 min"),
        (11_100, "3 h 5 min", "3 h"),
        (356_400, "4 d 3 h", "4 d"),
    ],
)
def test_durations_have_the_units_that_matter(seconds: float, words: str, in_short: str) -> None:
    assert (duration(seconds), brief(seconds)) == (words, in_short)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0124, "0.012"),
        (59.9996, "1:00.000"),
        (62.345, "1:02.345"),
        (3_753.4, "1:02:33"),
        (-0.5, "-0.500"),
    ],
)
def test_moments_are_shown_since_the_start(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_numbers_have_their_nouns() -> None:
    assert [number(count, "order") for count in (0, 1, 1_200)] == ["0 orders", "1 order", "1,200 orders"]


def test_columns_are_aligned_also_with_wide_letters() -> None:
    shown = table([Column("N"), Column("X", right=True)], [("한글", 7), ("ab", None)])
    assert shown.splitlines() == ["N     X", "한글  7", "ab    –"]
    assert width_of("é한") == 3


def test_a_wide_table_is_cut_from_the_right_and_then_wrapped() -> None:
    columns = (
        Column("ID"),
        Column("WHAT", fit=Fit.WRAP, least=10),
        Column("A", fit=Fit.CUT, least=4),
        Column("B", fit=Fit.CUT, least=4),
    )
    row = ("0123456789", "one two three", "abcdef", "uvwxyz")
    assert table(columns, [row], width=41).splitlines()[1] == "0123456789  one two three  abcdef  uvwxyz"
    assert table(columns, [row], width=40).splitlines()[1] == "0123456789  one two three  abcdef  uvwx…"
    assert table(columns, [row], width=37).splitlines()[1] == "0123456789  one two three  abc…  uvw…"
    assert table(columns, [row], width=34).splitlines()[1:] == [
        "0123456789  one two     abc…  uvw…",
        "            three",
    ]


def test_a_cell_cannot_break_the_table() -> None:
    shown = table([Column("A"), Column("B")], [("\x1b[2J\r", "x\ty")])
    assert shown.splitlines()[1] == "�[2J�  x�y"
