"""What delivery costs, how long it takes, and what tax is included in an order's total. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from orders.business.reading import BadOrderError, read_object, read_whole, shown
from orders.engine.contracts import Json

MOST_DAYS = 99
"""The most working days that a delivery may take."""
HIGHEST_RATE = 5_000
"""Of a tax, in hundredths of a percent."""
LARGEST_PRICE = 2**31 - 1
"""In minor units: the largest that fits the column of a price."""
_SATURDAY = 5


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What a delivery costs, in minor units, and how many working days it takes from the order to the door."""

    price: int
    fewest_days: int
    most_days: int


@dataclass(frozen=True, kw_only=True)
class Tax:
    """The tax that an order's total includes: `rate` in hundredths of a percent, `amount` in minor units."""

    rate: int
    amount: int


class Terms(NamedTuple):
    """On which terms orders are delivered to a country. `tax_rate` is in hundredths of a percent; 0 is no tax."""

    price: int
    fewest_days: int
    most_days: int
    tax_rate: int


class Arrival(NamedTuple):
    """The days on which a delivery should arrive: from the earliest to the latest."""

    earliest: date
    latest: date


def sum_of(lines: Sequence[Mapping[str, Any]]) -> int:
    """What the lines of an order come to, in minor units."""
    return sum(line["quantity"] * line["unit_price"] for line in lines)


def sums(lines: int, terms: Terms | None) -> dict[str, Any]:
    """The members of an order's data that follow from what its lines come to, and from the terms of its country; with
    None, delivery is free and nothing is said of time and tax."""
    if terms is None:
        return {"total": lines}
    total = lines + terms.price
    delivery = {
        "price": terms.price,
        "fewest_days": terms.fewest_days,
        "most_days": terms.most_days,
    }
    return {"delivery": delivery, **_tax(terms.tax_rate, total), "total": total}


def summed_again(data: Json, lines: int) -> dict[str, Any]:
    """The same members for an order with these data whose lines come to something else: the delivery stays."""
    total = lines + (data["delivery"]["price"] if "delivery" in data else 0)
    return {**(_tax(data["tax"]["rate"], total) if "tax" in data else {}), "total": total}


def _tax(rate: int, total: int) -> dict[str, Any]:
    return {"tax": {"rate": rate, "amount": included_tax(total, rate)}} if rate else {}


def included_tax(total: int, rate: int) -> int:
    """How much of a total is tax at this rate, in minor units, rounded half up."""
    whole = 10_000 + rate
    return (2 * total * rate + whole) // (2 * whole)


def read_delivery(order: Json) -> Delivery | None:
    """Reads an order's delivery; None if it says nothing of it. Raises `BadOrderError`."""
    if order.get("delivery") is None:
        return None
    value = read_object(order["delivery"], "delivery")
    fewest = read_whole(value.get("fewest_days"), "delivery.fewest_days", 1, MOST_DAYS)
    return Delivery(
        price=read_whole(value.get("price"), "delivery.price", 0, LARGEST_PRICE),
        fewest_days=fewest,
        most_days=read_whole(value.get("most_days"), "delivery.most_days", fewest, MOST_DAYS),
    )


def read_tax(order: Json, total: int) -> Tax | None:
    """Reads the tax that an order's total includes; None if it says nothing of it. Raises `BadOrderError`."""
    if order.get("tax") is None:
        return None
    value = read_object(order["tax"], "tax")
    amount = read_whole(value.get("amount"), "tax.amount", 0, 2**63 - 1)
    if amount >= total:
        raise BadOrderError(
            f"tax.amount must be less than the total, {total}, which includes it, not {shown(amount)}.",
            where="tax.amount",
        )
    return Tax(rate=read_whole(value.get("rate"), "tax.rate", 1, HIGHEST_RATE), amount=amount)


def delivery_of(data: Mapping[str, Any]) -> Delivery | None:
    """The delivery of an order whose data may be anything; None if they do not say."""
    try:
        return read_delivery(data)
    except BadOrderError:
        return None


def tax_of(data: Mapping[str, Any]) -> Tax | None:
    """The tax in the total of an order whose data may be anything; None if they do not say."""
    total = data.get("total")
    try:
        return read_tax(data, total) if isinstance(total, int) else None
    except BadOrderError:
        return None


def arrival(delivery: Delivery, since: date) -> Arrival:
    """The days on which what was ordered, or sent, on this day should arrive."""
    return Arrival(
        working_day_after(since, delivery.fewest_days), working_day_after(since, delivery.most_days)
    )


def expected_arrival(data: Mapping[str, Any], since: datetime, *, now: datetime) -> Arrival | None:
    """The days on which an order that was placed, or sent, `since` then should arrive; None if its data, which may be
    anything, do not say, or the last day has passed. Days are those of UTC."""
    delivery = delivery_of(data)
    days = arrival(delivery, since.astimezone(UTC).date()) if delivery else None
    return days if days and now.astimezone(UTC).date() <= days.latest else None


def working_day_after(day: date, count: int) -> date:
    """The day that is so many working days after another: Saturdays and Sundays do not count."""
    days = _working_days_after(day)
    for _ in range(count - 1):
        next(days)
    return next(days)


def _working_days_after(day: date) -> Iterator[date]:
    while True:
        day += timedelta(days=1)
        if day.weekday() < _SATURDAY:
            yield day
