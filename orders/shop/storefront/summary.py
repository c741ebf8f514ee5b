"""What an order of the cart comes to with its delivery, and when it should arrive."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.translation import gettext as _

from orders.business import Money, SumRow
from orders.fields.locales import reader_locale
from orders.shop.delivery import Delivery, Tax, arrival, sums
from orders.shop.delivery_words import arrives, duties, rows
from orders.shop.pricing import Tariff
from orders.shop.storefront.cart import Cart
from orders.wording.units import money


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the cart comes to. While the total depends on a country that is not chosen, `total` is None and
    `delivery_from` is what delivery costs at least. `arrives` are the days on which the order should arrive; empty
    where nothing is said of them. `duties` is what is said of import duties."""

    goods: Money | None
    rows: Sequence[SumRow] = ()
    total: Money | None = None
    delivery_from: Money | None = None
    country: str = ""
    arrives: str = ""
    duties: str = ""

    @property
    def button(self) -> str:
        """What the button says that places the order."""
        if self.total is None:
            return _("Place order")
        return _("Place order for {total}").format(total=money(self.total, locale=reader_locale()))


def summary_of(cart: Cart, country: str, tariff: Tariff, *, today: date) -> Summary:
    """The summary of a cart that is sent to a country, "" if none is chosen, by the terms in the tariff."""
    goods = cart.total
    if goods is None:
        return Summary(goods=None)
    currency = goods.currency
    if tariff.has_terms(currency) and not (country and tariff.serves(currency, country)):
        cheapest = Money(amount=tariff.cheapest(currency), currency=currency)
        return Summary(goods=goods, delivery_from=cheapest)
    summed = sums(goods.amount, tariff.terms(currency, country))
    delivery = Delivery(**summed["delivery"]) if "delivery" in summed else None
    tax = Tax(**summed["tax"]) if "tax" in summed else None
    return Summary(
        goods=goods,
        rows=rows(delivery, tax, currency=currency, country=country),
        total=Money(amount=summed["total"], currency=currency),
        country=country,
        arrives=arrives(arrival(delivery, today), locale=reader_locale()) if delivery else "",
        duties=duties(delivery, tax),
    )
