"""Template tags of the shop: pictures of posters, and what an order's page shows beside its progress.

{% picture_url poster.sku poster.design %}
{% paper_colour poster.design %}            "#f4efe6", which shows until the picture has arrived
<h1{% catalogue_language %}>                lang="en" on a page in another language: the catalogue has one
{% sold_lines order as lines %}             pairs: each line, and the product that it was
{% sold_rows form as rows %}                pairs: the product of each line that a form asks for, and its input
{% delivery tracked.data as ship_to %}      the address as it is written in its country, line by line, and the phone
{% parcel order as parcel %}                the carrier's number and page of it; None before there is one
{% if order|has_receipt %}                  whether the money of an order has been taken
{% arrival tracked progress as days %}       the days on which the order should arrive; empty where that is not known
{% expected_arrival changed as days %}      the same of an order as a correction would make it
{% duties changed.data as words %}           that import duties may be due; empty where a tax is included
{% delivery_terms as terms %}               what delivery costs and how long it takes, by country; empty if it is free
{% not_delivered_to as names %}             the countries that the owner leaves out, in words; empty if there are none
{{ offer|stock_words }}                     "Only 3 left"; empty if nothing is said
{{ 3|only_left }}                           "Only 3 left"
{% edition_numbers tracked as numbers %}    pairs: the name of each numbered line, and "No. 12 of 100"; empty before
                                            the warehouse has given the numbers
{% payment_methods as methods %}            pairs: each token, and how to pay with it
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.conf import settings
from django.forms import BoundField
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.business import LineName
from orders.fields import countries
from orders.fields.address_rules import address_lines
from orders.fields.locales import reader_locale
from orders.order_page.correction_forms import CorrectionForm
from orders.selectors import tracked_orders
from orders.selectors.customer_order import CustomerLine, CustomerOrder
from orders.selectors.tracked_orders import TrackedOrder
from orders.shop import catalogue, posters, pricing
from orders.shop import stock_words as stock_words_of
from orders.shop.delivery_words import arrives, duties_of
from orders.shop.description import ship_to
from orders.shop.editions import numbered_lines
from orders.shop.estimates import estimate, expected
from orders.shop.fulfilment import SHIPMENT
from orders.shop.given_numbers import given_numbers
from orders.shop.offers import Offer
from orders.shop.pictures import line_names
from orders.shop.receipts import contents
from orders.shop.storefront.checkout_form import METHODS
from orders.shop.storefront.terms import TermsRow, left_out, terms_rows
from orders.shop.tracking import Parcel, parcel_of, present_tracking_url
from orders.wording.customers.progress import Progress

register = template.Library()


@register.simple_tag
def picture_url(sku: str, design: Any) -> str:
    """The URL of a product's picture. It changes with the picture, so browsers may cache it for ever."""
    return f"{reverse('shop:picture', args=[sku])}?v={posters.fingerprint(design)}"


@register.simple_tag
def paper_colour(design: Any) -> str:
    """The colour of a picture's paper, as six hexadecimal digits."""
    return posters.paper_colour(design)


@register.simple_tag
def catalogue_language() -> SafeString:
    """The attribute that names the language of titles and descriptions; empty where the page is in it anyway."""
    is_of_page = catalogue.is_in_reader_language()
    return SafeString("") if is_of_page else format_html(' lang="{}"', settings.LANGUAGE_CODE)


@register.simple_tag
def sold_lines(order: CustomerOrder) -> Sequence[tuple[CustomerLine, Any]]:
    """An order's lines, each with its product; None in its place if the shop no longer knows it."""
    products = catalogue.line_products([line.sku for line in order.lines])
    return [(line, products.get(line.sku)) for line in order.lines]


@register.simple_tag
def sold_rows(form: CorrectionForm) -> Sequence[tuple[Any, BoundField]]:
    """The inputs for how many are wanted of an order's lines, each with its product; None if the shop no longer knows
    it."""
    products = catalogue.line_products([line.sku for line, _input in form.rows()])
    return [(products.get(line.sku), bound) for line, bound in form.rows()]


@register.simple_tag
def delivery(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `lines` of the address that an order with these data goes to, and its `phone`."""
    address = ship_to(data)
    lines = address_lines(address, country_name=countries.name(address.get("country", "")))
    return {"lines": lines, "phone": address.get("phone", "")}


@register.simple_tag
def parcel(order: CustomerOrder) -> Parcel | None:
    """The parcel of an order that was handed to the carrier."""
    return parcel_of(tracked_orders.result_of(order, SHIPMENT), tracking_url=present_tracking_url())


@register.filter
def has_receipt(order: CustomerOrder) -> bool:
    """Whether there is a receipt for an order."""
    return contents.has_receipt(order)


@register.simple_tag
def arrival(tracked: TrackedOrder, present: Progress) -> str:
    """The days on which an order should arrive; empty where that is not known."""
    days = estimate(tracked, present)
    return arrives(days, locale=reader_locale()) if days else ""


@register.simple_tag
def expected_arrival(changed: TrackedOrder) -> str:
    """The days on which an order should arrive once it goes on, as a correction would make it; empty where they are not
    known."""
    days = expected(changed)
    return arrives(days, locale=reader_locale()) if days else ""


@register.simple_tag
def duties(data: Mapping[str, Any]) -> str:
    """What is said of import duties on an order with these data; empty where a tax is included."""
    return duties_of(data)


@register.simple_tag
def delivery_terms() -> Sequence[TermsRow]:
    """What delivery costs and how long it takes, by country; empty if it is free everywhere."""
    return terms_rows(pricing.tariff())


@register.simple_tag
def not_delivered_to() -> str:
    """The countries that the owner leaves out; empty if there are none."""
    return left_out(pricing.tariff())


@register.simple_tag
def edition_numbers(tracked: TrackedOrder) -> Sequence[tuple[LineName, str]]:
    """The numbers of an order's prints, once the warehouse has given them. No statement for an order without any."""
    numbers = given_numbers(tracked)
    names = line_names(catalogue.line_products(numbers)) if numbers else {}
    return numbered_lines(tracked.order.lines, numbers, names=names, locale=reader_locale())


@register.filter
def stock_words(offer: Offer) -> str:
    """What is said of what is left of an offer."""
    return stock_words_of.words_of(offer)


@register.filter
def only_left(number: int) -> str:
    """That only so many are left."""
    return stock_words_of.only_left(number)


@register.simple_tag
def payment_methods() -> Any:
    """The ways to pay, by the gateway's token."""
    return METHODS.items()
