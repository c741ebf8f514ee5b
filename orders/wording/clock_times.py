"""Moments by the clock, as customers read them in their own language."""

from datetime import UTC, datetime, tzinfo

from babel import Locale
from babel.dates import format_date, format_skeleton, format_time, get_datetime_format
from django.utils.translation import gettext as _

from orders.fields.locales import locale_of_dates


def exact_moment(at: datetime, *, locale: Locale) -> str:
    """Writes a moment to the minute: "27 Nov 2026, 14:05 UTC"."""
    utc = at.astimezone(UTC)
    words = _("{date}, {time} UTC")
    date = format_date(utc, locale=locale_of_dates(locale))
    return words.format(date=date, time=clock_time(utc, locale=locale))


def exact_second(at: datetime, *, zone: tzinfo, locale: Locale) -> str:
    """Writes a moment to the second, in a zone that the caller names: "27 Nov 2026, 14:05:09"."""
    local, locale = at.astimezone(zone), locale_of_dates(locale)
    time, date = clock_time(local, locale=locale, has_seconds=True), format_date(local, locale=locale)
    return str(get_datetime_format("medium", locale=locale)).replace("'", "").format(time, date)


def clock_time(at: datetime, *, locale: Locale, has_seconds: bool = False) -> str:
    """Writes the time of day in the zone of `at`: "14:05", and "2:05 PM" in the English of regions that write that.

    Babel knows Korean with AM and PM alone, in Latin letters, which nobody there writes.
    """
    locale = locale_of_dates(locale)
    if locale.language == "en":
        text: str = format_time(at, "medium" if has_seconds else "short", locale=locale)
    else:
        text = format_skeleton("Hms" if has_seconds else "Hm", at, locale=locale)
    return text
