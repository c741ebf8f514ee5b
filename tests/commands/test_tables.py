"""Text for a terminal: aligned, narrow enough, and safe to print."""

from orders.management.tables import Column, Fit, paragraph, styled, table


def test_columns_are_aligned_even_with_wide_characters() -> None:
    shown = table([Column("N"), Column("X", right=True)], [("한글", 7), ("ab", None)])
    assert shown.splitlines() == ["N     X", "한글  7", "ab    –"]


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


def test_a_column_that_must_stay_whole_is_never_cut() -> None:
    shown = table([Column("ID"), Column("N", right=True)], [("0123456789", 1_234)], width=5)
    assert shown.splitlines()[1] == "0123456789  1234"


def test_control_characters_cannot_break_a_table() -> None:
    shown = table([Column("A"), Column("B")], [("\x1b[2J\r", "x\ty")])
    assert shown.splitlines()[1] == "�[2J�  x�y"
    assert styled("\x1b[2J", "bold red", coloured=False) == "�[2J"


def test_markup_and_emoji_codes_in_others_text_are_printed_as_they_are() -> None:
    text = "[bold red]no[/] [link=https://x.example]y[/link] :smile: [/]"
    assert table([Column("A")], [(text,)]).splitlines()[1] == text
    assert paragraph(text) == text
    assert styled(text, "green", coloured=False) == text


def test_colour_is_used_only_on_request() -> None:
    columns = [Column("A", style=lambda text: "bold red" if text == "bad" else "")]
    assert "\x1b" not in table(columns, [("bad",)])
    coloured = table(columns, [("bad",), ("well",)], coloured=True)
    assert "\x1b[1;31mbad" in coloured and "\x1b[1;31mwell" not in coloured
    assert styled("bad", "bold red", coloured=True) == "\x1b[1;31mbad\x1b[0m"


def test_a_paragraph_is_indented_and_no_wider_than_asked() -> None:
    assert paragraph("one two three\nfour", indent="  ", width=9) == "  one two\n  three\n  four"
