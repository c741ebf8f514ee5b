"""Text for a terminal: aligned, narrow enough."""

from orders.management.tables import Column, Fit, table, width_of


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
