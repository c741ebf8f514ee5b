"""A moment on a page: an age for a day, and then a date; the same as the browser then goes on counting."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from babel import Locale

from orders.templatetags.pages import moment
from orders.wording import units

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
ENGLISH = Locale("en")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "now"),
        (9, "now"),
        (-9, "now"),
        (10, "10 seconds ago"),
        (59.9, "59 seconds ago"),
        (60, "1 minute ago"),
        (119, "1 minute ago"),
        (5_400, "1 hour ago"),
        (86_399, "23 hours ago"),
        (86_400, "Nov 26"),
        (93_600, "Nov 26"),
        (400 * 86_400, "Oct 23, 2025"),
        (-119, "in 1 minute"),
        (-90_000, "Nov 28"),
        (-60 * 86_400, "Jan 26, 2027"),
    ],
)
def test_a_moment_is_an_age_for_a_day_and_then_a_date(seconds: float, text: str) -> None:
    at = NOW - timedelta(seconds=seconds)
    element = moment(at, NOW)
    assert re.sub("<[^>]+>", "", element) == text
    assert f'datetime="{at.isoformat()}"' in element
    assert str(at.year) in element.split('title="')[1].split('"')[0], "the exact time is on the element"


def test_ages_and_dates_are_in_the_readers_language() -> None:
    assert units.age(timedelta(seconds=-119), locale=Locale("hu")) == "1 perccel ezelőtt"
    assert units.day(NOW, today=NOW.date(), locale=Locale("ko")) == "11월 27일"
    assert units.day(NOW, today=NOW.date().replace(year=2027), locale=ENGLISH) == "Nov 27, 2026"
