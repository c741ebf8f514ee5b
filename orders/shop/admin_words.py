"""What the shop's owner reads in the admin site, in English. Pure."""

from collections.abc import Sequence
from datetime import datetime

from orders.fields.money import Money
from orders.shop.availability import FRESH
from orders.shop.delivery_words import percentage
from orders.shop.sold_prints import SoldPrints
from orders.wording.order_edits import in_words
from orders.wording.units import ENGLISH, counted, english_money, nearest_relative, number

MOST_NAMED = 3
"""Countries that a sentence names; of more, it says how many there are."""


def too_small(sold: SoldPrints) -> str:
    """Why an edition cannot be as small as somebody entered."""
    highest = f", up to No. {number(sold.highest)}" if sold.highest > sold.count else ""
    are = "is" if sold.count == 1 else "are"
    prints = counted(sold.count, "print")
    return f"{prints} of this edition {are} sold{highest}, so it can’t have fewer than {number(sold.smallest_edition)}."


def all_sold(size: int) -> str:
    """That an edition is now as small as what is sold of it, and what to do. The warehouse learns its size with the
    next order, so until then no page knows that none are left."""
    prints = (
        "The only print of this edition is" if size == 1 else f"All {number(size)} prints of this edition are"
    )
    return f"{prints} sold. Untick “Is listed”, because the warehouse will refuse the next order."


def stock_in_words(stock: int | None, read_at: datetime | None, *, now: datetime) -> str:
    """How many the warehouse has left, and when it said so."""
    if stock is None or read_at is None:
        return "Not known: the warehouse hasn’t said how many are left."
    words = f"{number(stock)} left, as the warehouse said {nearest_relative(read_at - now)}"
    return words if now - read_at < FRESH else f"{words}. That’s too long ago for pages to say it."


def delivery_price(price: Money) -> str:
    """What delivery costs."""
    return english_money(price) if price.amount else "free"


def working_days(fewest: int, most: int) -> str:
    """How long delivery takes."""
    return counted(most, "working day") if fewest == most else f"{fewest}–{most} working days"


def tax(rate: int) -> str:
    """The tax that prices include, of which the rate is in hundredths of a percent."""
    return percentage(rate, locale=ENGLISH) if rate else "none"


def only_served(currency: str, countries: Sequence[str]) -> str:
    """That orders in a currency go to these countries alone, by their names."""
    return f"Orders in {currency} are now delivered {_only_to(countries)}."


def nothing_costs(currency: str) -> str:
    """That there are no terms in a currency any more."""
    return f"Orders in {currency} are now delivered everywhere for nothing: there are no terms in {currency}."


def without_terms(currency: str, country: str, remaining: Sequence[str], *, has_default: bool) -> str:
    """What it would do to delete the terms of a country, by its name, or of every other country: "". The `remaining`
    countries have terms in this currency, and so has every other one if that `has_default`."""
    if not remaining and not has_default:
        return (
            f"These are the only terms in {currency}. Without them, orders in {currency} are delivered everywhere for"
            " nothing, and nothing is said of time and tax."
        )
    if not country:
        return f"Without these terms, orders in {currency} are delivered {_only_to(remaining)}."
    if has_default:
        return f"Without these terms, {country} has those of every other country."
    return f"Without these terms, orders in {currency} are no longer delivered to {country}."


def _only_to(countries: Sequence[str]) -> str:
    named, more = countries[:MOST_NAMED], len(countries) - MOST_NAMED
    others = [counted(more, "other country", "other countries")] if more > 0 else []
    return f"to {named[0]} only" if len(countries) == 1 else f"only to {in_words([*named, *others])}"
