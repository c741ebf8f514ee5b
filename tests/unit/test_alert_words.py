"""How operators read what a cause says of all its orders."""

import pytest

from orders.wording.alert_words import pattern_text


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (
            "payments did not answer by the complete-by time, … times; its last call: no answer within … s",
            "payments did not answer by the complete-by time",
        ),
        (
            "mail did not answer by the complete-by time, … times; its last call: connection refused",
            "mail did not answer by the complete-by time; its last call: connection refused",
        ),
        ("nobody has 'bake v2', not even … of …", "nobody has 'bake v2'"),
        ("no answer within … s", "no answer within … s"),
        ("connection refused", "connection refused"),
    ],
)
def test_a_sentence_leaves_out_the_clauses_in_which_something_differs(pattern: str, text: str) -> None:
    assert pattern_text(pattern) == text
