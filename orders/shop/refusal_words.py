"""What the shop's customers read when a poster has sold out, an address is not served or a card is declined."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from orders.business import OrderedLine, RefusalWords
from orders.shop.agents.codes import NOT_SERVED, SOLD_OUT
from orders.shop.fulfilment import PAYMENT
from orders.wording.customers.shortages import shortage


def explain_shortage(detail: Mapping[str, Any], lines: Sequence[OrderedLine]) -> Sequence[str]:
    """Says of which posters there are not enough, and how many there are. The detail may be anything."""
    stock = count_left(detail)
    return [
        shortage(title=line.title, stock=stock[line.sku], ordered=line.quantity)
        for line in lines
        if line.quantity > stock.get(line.sku, line.quantity)
    ]


def count_left(detail: Mapping[str, Any]) -> Mapping[str, int]:
    """How many there are of each product that is short, by its code. The detail may be anything."""
    return dict(filter(None, map(_stock, _items(detail.get("lines")))))


def _items(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _stock(item: object) -> tuple[str, int] | None:
    """A product and how many are left, as the warehouse says it."""
    if not isinstance(item, Mapping):
        return None
    sku, number = item.get("sku"), item.get("left")
    return (sku, max(number, 0)) if isinstance(sku, str) and isinstance(number, int) else None


def explain_country(detail: Mapping[str, Any], lines: Sequence[OrderedLine]) -> Sequence[str]:
    """Says to which country the carrier does not deliver. The detail may be anything."""
    from orders.fields import countries  # noqa: PLC0415 - the roles need no names of countries

    code = refused_country(detail)
    if not code:
        return []
    return [
        gettext("Our carrier doesn’t deliver to {country}.").format(country=countries.name_in_sentence(code))
    ]


def refused_country(detail: Mapping[str, Any]) -> str:
    """The code of the country to which the carrier does not deliver; "" if it names none. The detail may be
    anything."""
    code = detail.get("country")
    return code if isinstance(code, str) else ""


REFUSALS: Mapping[str, RefusalWords] = {
    PAYMENT: RefusalWords(
        in_list=_("Waiting for your payment"),
        headline=_("Your card was declined."),
        sentence=_("Nothing has been charged. Choose another way to pay, and we’ll go on with your order."),
        again=_(
            "This payment was declined too, and nothing has been charged. Choose another way to pay, and we’ll go on"
            " with your order."
        ),
        reason=_("Your card was declined, and we didn’t get another payment in time."),
        icon="card",
    ),
    SOLD_OUT: RefusalWords(
        headline=_("We don’t have enough posters for your order."),
        explain=explain_shortage,
        count_left=count_left,
        nothing_left_headline=ngettext_lazy(
            "Your poster has sold out.", "Your posters have sold out.", "pieces"
        ),
        nothing_left=_("Nothing has been charged, and we’re sorry. You can cancel the order."),
        sentence=_("Nothing has been charged. You can change what you ordered, or cancel the order."),
        again=_(
            "We still don’t have enough, and nothing has been charged. You can change what you ordered, or cancel the"
            " order."
        ),
        reason=_("We didn’t have enough posters for your order, and we’re sorry."),
    ),
    NOT_SERVED: RefusalWords(
        headline=_("We can’t send your order to this address."),
        explain=explain_country,
        refused_country=refused_country,
        names_lines=False,
        sentence=ngettext_lazy(
            "Nothing has been charged, and we’re keeping your poster for you. Give us another address, or cancel the"
            " order.",
            "Nothing has been charged, and we’re keeping your posters for you. Give us another address, or cancel the"
            " order.",
            "pieces",
        ),
        again=_(
            "We can’t send it to the new address either, and nothing has been charged. Give us another one, or cancel"
            " the order."
        ),
        reason=_("Our carrier doesn’t deliver to your address, and we didn’t get another one in time."),
    ),
}
"""The words by code, or by step."""

UNANSWERED: Mapping[str, RefusalWords] = {
    PAYMENT: RefusalWords(
        in_list=_("Waiting for your bank"),
        headline=_("Your bank isn’t answering."),
        sentence=_(
            "We’ve asked several times, and our team knows about it. You can wait, or choose another way to pay. If"
            " you do, we first release whatever was reserved on the card you used last, so you won’t be charged twice."
        ),
        icon="card",
    ),
}
