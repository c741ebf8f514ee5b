"""The heading of a cause says what failed where."""

import pytest

from orders.wording.cause_headings import failed_heading


@pytest.mark.parametrize(
    ("kind", "agent", "code", "count", "heading"),
    [
        ("step_failed", "payments", "refused", 7, "Payments refused 7 orders"),
        ("step_failed", "payments", "refused", 1, "Payments refused 1 order"),
        ("step_failed", "payments", "refused", 0, "Orders that payments refused"),
        ("step_failed", "carrier", "no_answer", 1, "1 order failed at carrier"),
        ("step_failed", "carrier", "no_answer", 0, "Orders that failed at carrier"),
        ("compensation_failed", "payments", "refused", 2, "Payments refused 2 cancellations"),
        ("compensation_failed", "carrier", "timeout", 0, "Cancellations that failed at carrier"),
        ("step_failed", "", "branch_failed", 2, ""),
        ("outage", "carrier", "outage", 1, ""),
    ],
)
def test_a_heading_says_what_failed_and_how_often(
    kind: str, agent: str, code: str, count: int, heading: str
) -> None:
    assert failed_heading(kind=kind, agent=agent, code=code, count=count) == heading
