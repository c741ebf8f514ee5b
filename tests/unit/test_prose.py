"""Texts of several lines that people write."""

import pytest

from orders.fields.prose import tidy_prose


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("  two\r\nlines\r\n", "two\nlines"),
        ("\x00 a NUL", "a NUL"),
        (" \x00\r\n", ""),
        ("exactly ten", "exactly te"),
        ("nine here  and more", "nine here"),
    ],
)
def test_a_text_loses_what_nobody_reads_and_what_is_too_long(text: str, tidy: str) -> None:
    assert tidy_prose(text, longest=10) == tidy
