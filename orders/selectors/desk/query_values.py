"""The values of a query's conditions: numbers, amounts, durations and days. Pure."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from babel.core import UnknownLocaleError
from babel.numbers import format_currency, get_currency_precision

from orders.fields.money import Money

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_RANGE = re.compile(r"(>=|<=|>|<)?(.+)", re.DOTALL)
_AGE = re.compile(r"(\d{1,5})\s?(s|m|min|h|d)")
_AMOUNT = re.compile(r"(\d{1,12})(?:[.,](\d{1,3}))?")
_CURRENCY = re.compile(r"([A-Za-z]{3}|[€$£])?\s?([\d.,]+)\s?([A-Za-z]{3}|[€$£])?")
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP"}
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}


class BadValueError(ValueError):
    """Raised when a value cannot be read. The message is a sentence that says what is expected."""


@dataclass(frozen=True)
class Range:
    """Whole numbers from `low` to `high`, both included; None for no bound."""

    low: int | None = None
    high: int | None = None

    @property
    def only(self) -> int | None:
        """The number, if it is one."""
        return self.low if self.low == self.high else None


@dataclass(frozen=True)
class Amounts(Range):
    """Amounts in minor units; with `currency`, of that currency only."""

    currency: str = ""


def read_numbers(text: str) -> Range:
    """Reads 3, >3, >=3, <3, <=3, 3..5, 3.. and ..5."""

    def number(part: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", part):
            raise BadValueError("Enter a number, as in 3, >3, <=3 or 3..5.")
        return int(part)

    low, high = _bounds(text, number)
    return Range(low, high)


def read_amounts(text: str) -> Amounts:
    """Reads the same of amounts of money, each with or without a currency: >200, 39.00, 200..300EUR, €39,00.

    Without a currency an amount has two decimals, and any currency will do. That of one end is that of both.
    """
    currencies = {_amount(part)[1] for part in text.lstrip("<>=").split("..") if part} - {""}
    if len(currencies) > 1:
        raise BadValueError("Both ends of a range have the same currency.")
    currency = "".join(currencies)
    low, high = _bounds(text, lambda part: _amount(part, currency)[0])
    return Amounts(low, high, currency)


def amount_in_words(text: str, currency: str = "") -> str:
    """An amount as the console writes it: "€30.00" for 30EUR, or 30 of this currency, and "30.00" for 30 of any."""
    minor, currency = _amount(text, currency)
    if not currency:
        return f"{minor / 100:,.2f}"
    price = Money(amount=minor, currency=currency)
    return str(format_currency(price.major_units, currency, locale="en"))


def read_age(text: str) -> timedelta:
    """Reads 90s, 30m, 2h and 3d."""
    match = _AGE.fullmatch(text)
    if match is None:
        raise BadValueError("Enter an age as a number with s, m, h or d, such as 30m or 2h.")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def read_ages(text: str) -> tuple[timedelta | None, timedelta | None]:
    """Reads 2h and >2h, older than that; <2h, younger; 1h..2h, between the two. Returns the least and the most."""
    if ".." in text:
        low, _, high = text.partition("..")
        return read_age(low) if low else None, read_age(high) if high else None
    match = _RANGE.fullmatch(text)
    assert match is not None  # a value is never empty
    age = read_age(match[2])
    return (None, age) if match[1] in ("<", "<=") else (age, None)


def read_times(text: str, *, now: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """The beginning and the end of a day, a month, a minute or the last hours: yesterday, monday, 2026-11-01, 2026-11,
    2026-11-01T14:30, 2h. With two and `..` between them, from the beginning of the first to the end of the second."""
    if ".." in text:
        first, _, last = text.partition("..")
        return _span(first, now, zone)[0], _span(last, now, zone)[1]
    return _span(text, now, zone)


def read_until(text: str, *, now: datetime, zone: tzinfo) -> datetime:
    """The end of such a time. Of 2h it is the moment two hours ago."""
    start, end = read_times(text, now=now, zone=zone)
    return start if _AGE.fullmatch(text) else end


def _bounds(text: str, read: "type[int] | object") -> tuple[int | None, int | None]:
    assert callable(read)
    if ".." in text:
        low, _, high = text.partition("..")
        if not low and not high:
            raise BadValueError("Enter at least one end of the range, as in 3..5.")
        return read(low) if low else None, read(high) if high else None
    match = _RANGE.fullmatch(text)
    assert match is not None  # a value is never empty
    number = read(match[2])
    match match[1]:
        case ">":
            return number + 1, None
        case ">=":
            return number, None
        case "<":
            return None, number - 1
        case "<=":
            return None, number
    return number, number


def _amount(text: str, currency: str = "") -> tuple[int, str]:
    """An amount in minor units, and its currency: its own, or else the given one."""
    whole = _CURRENCY.fullmatch(text)
    figures = _AMOUNT.fullmatch(whole[2]) if whole else None
    if whole is None or figures is None or (whole[1] and whole[3]):
        raise BadValueError("Enter an amount, as in 39.00, >200, 200..300 or >200EUR.")
    sign = whole[1] or whole[3] or ""
    currency = _SIGNS.get(sign, sign.upper()) or currency
    digits = _precision(currency) if currency else 2
    cents = figures[2] or ""
    if len(cents) > digits:
        raise BadValueError(f"Enter an amount with at most {digits} decimals.")
    return int(figures[1] + cents.ljust(digits, "0")), currency


def _precision(currency: str) -> int:
    try:
        return int(get_currency_precision(currency))
    except UnknownLocaleError:  # pragma: no cover - babel answers 2 for a currency that it does not know
        return 2


def _span(text: str, now: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    word, today = text.strip().lower(), now.astimezone(zone).date()
    try:
        if _AGE.fullmatch(word):
            return now - read_age(word), now
        if word in ("today", "yesterday"):
            return _day(today - timedelta(days=word == "yesterday"), zone)
        if word in DAYS:
            return _day(today - timedelta(days=(today.weekday() - DAYS.index(word)) % 7), zone)
        if re.fullmatch(r"\d{4}-\d\d", word):
            first = date.fromisoformat(f"{word}-01")
            return _day(first, zone)[0], _day((first + timedelta(days=31)).replace(day=1), zone)[0]
        if re.fullmatch(r"\d{4}-\d\d-\d\d", word):
            return _day(date.fromisoformat(word), zone)
        if re.fullmatch(r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d", word):
            minute = datetime.fromisoformat(word).replace(tzinfo=zone)
            return minute, minute + timedelta(minutes=1)
    except (ValueError, OverflowError) as error:
        raise BadValueError("There is no such day.") from error
    raise BadValueError(
        "Enter a day or a time, as in today, yesterday, monday, 2026-11-01, 2026-11, 2026-11-01T14:30 or 2h."
    )


def _day(day: date, zone: tzinfo) -> tuple[datetime, datetime]:
    return (
        datetime.combine(day, time.min, tzinfo=zone),
        datetime.combine(day + timedelta(days=1), time.min, tzinfo=zone),
    )
