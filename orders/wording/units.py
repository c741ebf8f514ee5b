"""Sums, durations, numbers and moments as people read them, for every page, command and email. Pure.

Functions that take a `locale` are for customers, who read their own language. The others are for operators, in English.
"""

from datetime import date, timedelta

from babel import Locale
from babel.dates import format_skeleton, format_timedelta
from babel.numbers import format_currency, format_decimal

from orders.fields.locales import locale_of_dates
from orders.fields.money import Money

ENGLISH = Locale("en")
DASH = "–"
"""Stands for a value that does not exist."""

_TWO_UNITS = (
    (86_400, "d", 3_600, "h"),
    (3_600, "h", 60, "min"),
    (60, "min", 1, "s"),
)
"""Seconds in the larger unit, its symbol, seconds in the smaller one, its symbol."""


def money(price: Money, *, locale: Locale, short: bool = False) -> str:
    """Writes a sum as is usual in the locale: "€39.00". `short` leaves out cents that are zero: "€39"."""
    amount = price.major_units
    is_whole = short and amount == amount.to_integral_value()
    text: str = format_currency(
        amount.to_integral_value() if is_whole else amount,
        price.currency,
        locale=locale,
        format=locale.currency_formats["standard"].pattern.replace(".00", "") if is_whole else None,
        currency_digits=not is_whole,
    )
    return text


def english_money(price: Money) -> str:
    """Writes a sum for an operator: "€1,039.00"."""
    return money(price, locale=ENGLISH)


def plain_money(price: Money) -> str:
    """Writes a sum for a terminal: "EUR 1,039.00"."""
    return f"{price.currency} {price.major_units:,.{price.digits}f}"


def number(value: float) -> str:
    """Writes a number with separators: "1,234", "0.5"."""
    return str(format_decimal(value, locale=ENGLISH))


def bounded(count: int, most: int) -> str:
    """Writes a number that was counted up to `most` and no further: "10,000+"."""
    return f"{number(most)}+" if count > most else number(count)


def counted(count: int, noun: str, plural: str = "", *, most: int | None = None) -> str:
    """Writes a number with its noun: "1 order", "2 orders"; "10,000+ orders" if it was counted only up to `most`."""
    shown = number(count) if most is None else bounded(count, most)
    return f"{shown} {noun if count == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """Writes a length of time in at most two units: 12 ms, 3.2 s, 45 s, 5 min 12 s, 3 h 5 min, 4 d 3 h."""
    seconds = max(0.0, seconds)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, small_size, small_unit in _TWO_UNITS:
        if whole >= size:
            rest = whole % size // small_size
            return f"{whole // size} {unit}" + (f" {rest} {small_unit}" if rest else "")
    return f"{whole} s"


def short_duration(seconds: float) -> str:
    """Writes a length of time in one unit, rounded down as ages are: 12 ms, 3.2 s, 45 s, 5 min, 3 h, 4 d."""
    for size, unit, _, _ in _TWO_UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return duration(min(seconds, 59.4))


def spoken_duration(seconds: float, *, locale: Locale) -> str:
    """Writes a rough length of time in words: "2 minutes"."""
    text: str = format_timedelta(timedelta(seconds=seconds), locale=locale, threshold=1.2)
    return text


def elapsed(seconds: float) -> str:
    """Writes the time since the start, to the millisecond for the first hour: 0.012, 1:02.345, 1:02:33."""
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{sign}{hours}:{minutes:02d}:{int(rest):02d}"
    return f"{sign}{minutes}:{rest:06.3f}" if minutes else f"{sign}{rest:.3f}"


def relative(away: timedelta, *, locale: Locale = ENGLISH) -> str:
    """Writes a moment as its distance from now, in words: "12 seconds ago", "in 2 minutes"."""
    text: str = format_timedelta(away, add_direction=True, locale=locale, threshold=1)
    return text


def age(away: timedelta, *, locale: Locale) -> str:
    """Writes a moment less than a day away by whole units, rounded down as ages are: "1 minute ago" after 100 seconds.

    `static/js/shop.js` goes on counting by the same rule.
    """
    seconds = int(abs(away.total_seconds()))
    size = next(size for size in (3_600, 60, 1) if seconds >= size or size == 1)
    whole = timedelta(seconds=seconds // size * size)
    return relative(-whole if away < timedelta() else whole, locale=locale)


def day(at: date, *, today: date, locale: Locale) -> str:
    """Writes a day: "26 Nov", and with the year if that is another: "26 Nov 2025"."""
    skeleton = "MMMd" if at.year == today.year else "yMMMd"
    text: str = format_skeleton(skeleton, at, locale=locale_of_dates(locale))
    return text


def nearest_relative(away: timedelta) -> str:
    """Writes a moment as its distance from now in one unit, rounded to the nearest: "in 7 days", "2 hours ago".

    `static/js/console.js` goes on counting by the same rule.
    """
    count, unit = _nearest(abs(away.total_seconds()), ("second", "minute", "hour", "day"))
    words = counted(count, unit)
    return f"{words} ago" if away < timedelta() or not count else f"in {words}"


def time_left(seconds: float) -> str:
    """Writes how long something still takes in one unit, rounded to the nearest: 3.2 s, 45 s, 5 min, 7 d."""
    if seconds < 9.95:
        return duration(seconds)
    count, unit = _nearest(seconds, ("s", "min", "h", "d"))
    return f"{number(count)} {unit}"


def _nearest(seconds: float, names: tuple[str, str, str, str]) -> tuple[int, str]:
    """A length of time in whole units of the size in which it is at least one."""
    for name, size, most in zip(names, (1, 60, 3_600), (60, 60, 24), strict=False):
        count = int(seconds / size + 0.5)
        if count < most:
            return count, name
    return int(seconds / 86_400 + 0.5), names[3]


def short_relative(seconds: float) -> str:
    """Writes a moment as its distance from now, for a table: "in 5 min", "12 s ago"."""
    return f"in {time_left(seconds)}" if seconds >= 0 else f"{short_duration(-seconds)} ago"
