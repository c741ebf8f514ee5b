"""What is on a receipt: what was paid for an order, to whom, and what of it was refunded. In the reader's language.

It says only what is known to have happened. An order of which no money is known to have been taken has no receipt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from babel import Locale
from babel.dates import format_date
from django.utils.translation import gettext as _

from orders.business import LineName, SumRow
from orders.business.words import Charge
from orders.fields.locales import locale_of_dates
from orders.fields.money import Money
from orders.selectors.customer_order import CustomerLine, CustomerOrder
from orders.selectors.tracked_orders import TrackedOrder
from orders.shop.addresses import written_address
from orders.shop.description import ship_to, whole_address
from orders.shop.editions import EditionNumbers, numbers_in_words
from orders.shop.owner import Owner
from orders.shop.workflows import FulfilOrder
from orders.vocabulary import Goal
from orders.wording.customers.charges import (
    charge_of,
    charged_at,
    is_returned,
    refund_promise,
    returned_at,
)
from orders.wording.units import money

LETTER_COUNTRIES = frozenset({"US", "CA"})
"""Where people print on US Letter; everywhere else it is A4."""
CHINESE = "zh"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A label and what stands for it."""

    label: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ReceiptLine:
    """One product of the order. `numbers` are those of the prints of a numbered edition, in words."""

    title: str
    numbers: str
    quantity: str
    unit_price: str
    amount: str


@dataclass(frozen=True, kw_only=True)
class Seller:
    """Who was paid: a name, and the lines that stand under it."""

    name: str
    lines: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class SheetWords:
    """The labels of the sheet. In `page`, `{page}` and `{pages}` stand for numbers."""

    seller: str
    customer: str
    item: str
    quantity: str
    unit_price: str
    amount: str
    total: str
    page: str


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A receipt as its sheet reads it, every sum and date in words.

    `between` stand above the total, and `included` below it. `refund` says what was refunded since, or will be; empty
    if nothing is. `dated` is the time that the file itself has.
    """

    language: str
    region: str | None
    paper: str
    title: str
    shop: str
    number: str
    seller: Seller
    customer: Sequence[str]
    facts: Sequence[Row]
    lines: Sequence[ReceiptLine]
    between: Sequence[Row]
    total: str
    included: Sequence[Row]
    refund: str
    small_print: Sequence[str]
    words: SheetWords
    dated: datetime


def has_receipt(order: CustomerOrder) -> bool:
    """Whether the order's money is known to have been taken, even if it was refunded since."""
    return order.total is not None and charge_of(order) is Charge.CHARGED


def receipt_of(
    tracked: TrackedOrder,
    *,
    owner: Owner,
    shop_name: str,
    help_address: str,
    is_demonstration: bool,
    names: Mapping[str, LineName],
    numbers: Mapping[str, EditionNumbers],
    locale: Locale,
) -> Receipt:
    """The receipt of an order that has one. `names` are those of its lines, by SKU; a line without a name has its own
    title. `numbers` are those of its numbered prints, by SKU."""
    order, total = tracked.order, tracked.order.total
    assert total is not None, "an order that was paid has a total"
    paid_at = charged_at(order, tracked.occurrences)
    facts = [
        Row(label=_("Order number"), text=order.number),
        Row(label=_("Placed"), text=_date(order.placed_at, locale)),
    ]
    if paid_at:
        facts.append(Row(label=_("Paid"), text=_date(paid_at, locale)))
    rows = FulfilOrder.sum_rows(tracked.data)
    address = whole_address(tracked.data)
    small_print = [_("Dates are in UTC.")]
    if is_demonstration:
        small_print.append(_("This is a demonstration: no money has moved."))
    return Receipt(
        language=locale.language,
        region="cn" if locale.language == CHINESE else None,
        paper="us-letter" if ship_to(tracked.data).get("country") in LETTER_COUNTRIES else "a4",
        title=_("Receipt"),
        shop=shop_name,
        number=order.number,
        seller=_seller(owner, shop_name, help_address),
        customer=written_address(address).splitlines() if address else [],
        facts=facts,
        lines=[
            _line(line, name=names.get(line.sku), edition=numbers.get(line.sku), locale=locale)
            for line in order.lines
        ],
        between=[_sum_row(row, locale) for row in rows if not row.is_included],
        total=money(total, locale=locale),
        included=[_sum_row(row, locale) for row in rows if row.is_included],
        refund=_refund(tracked, total, locale),
        small_print=small_print,
        words=_words(),
        dated=paid_at or order.placed_at,
    )


def _seller(owner: Owner, shop_name: str, help_address: str) -> Seller:
    lines = [*owner.address, owner.registration, help_address, owner.phone]
    return Seller(name=owner.company or shop_name, lines=[line for line in lines if line])


def _line(
    line: CustomerLine, *, name: LineName | None, edition: EditionNumbers | None, locale: Locale
) -> ReceiptLine:
    price = line.unit_price
    amount = Money(amount=line.quantity * price.amount, currency=price.currency)
    return ReceiptLine(
        title=name.whole if name else line.title,
        numbers=numbers_in_words(edition, locale=locale) if edition else "",
        quantity=str(line.quantity),
        unit_price=money(price, locale=locale),
        amount=money(amount, locale=locale),
    )


def _sum_row(row: SumRow, locale: Locale) -> Row:
    return Row(label=row.label, text=money(row.amount, locale=locale))


def _refund(tracked: TrackedOrder, total: Money, locale: Locale) -> str:
    order = tracked.order
    if is_returned(order):
        amount, at = money(total, locale=locale), returned_at(order, tracked.occurrences)
        if at is None:
            return _("Refunded {amount}").format(amount=amount)
        return _("Refunded {amount} on {date}").format(amount=amount, date=_date(at, locale))
    return refund_promise(order, locale=locale) if order.goal == Goal.COMPENSATE else ""


def _words() -> SheetWords:
    return SheetWords(
        seller=_("Seller"),
        customer=_("Ships to"),
        item=_("Item"),
        quantity=_("Quantity"),
        unit_price=_("Unit price"),
        amount=_("Amount"),
        total=_("Total paid"),
        page=_("Page {page} of {pages}"),
    )


def _date(at: datetime, locale: Locale) -> str:
    text: str = format_date(at.astimezone(UTC), "long", locale=locale_of_dates(locale))
    return text
