"""Writes about customers, what they buy and their programs that the database refuses, each with the constraint that is
named as the sentence it enforces."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User

from orders.models import (
    Address,
    ApiToken,
    Erasure,
    Order,
    OrderLine,
    SubmissionKey,
    WebhookDelivery,
    WebhookEndpoint,
)
from orders.shop.models import DeliveryTerms, Product, StockReading
from tests.store.impossible_rows import SOMEBODY, WHEN, twice


def webhook(**fields: Any) -> WebhookEndpoint:
    somebody, _ = User.objects.get_or_create(username="ada")
    return WebhookEndpoint.objects.create(customer=somebody, position=0, event_id=0, **fields)


def delivery(**fields: Any) -> WebhookDelivery:
    endpoint = WebhookEndpoint.objects.first() or webhook()
    return WebhookDelivery.objects.create(endpoint=endpoint, order_id=endpoint.pk, event_id=1, **fields)


def terms(*rows: dict[str, Any]) -> Callable[[], object]:
    def create() -> None:
        for fields in rows:
            legal = {"country": "NL", "price": 0, "fewest_days": 1, "most_days": 2, "tax_rate": 2100}
            DeliveryTerms.objects.create(**(legal | fields))

    return create


def token(**fields: Any) -> Callable[[], object]:
    legal = {"scopes": ["read"], "expires_at": WHEN} | fields
    return lambda: ApiToken.objects.create(user=User.objects.create(username="ada"), **legal)


def addresses(*rows: dict[str, Any]) -> Callable[[], object]:
    def create() -> None:
        user = User.objects.create(username="ada")
        for fields in rows:
            Address.objects.create(
                **(
                    {
                        "user": user,
                        "name": "A",
                        "street": "S",
                        "city": "C",
                        "postal_code": "1",
                        "country": "NL",
                    }
                    | fields
                )
            )

    return create


def line(**fields: Any) -> Callable[[], object]:
    def create() -> None:
        order = Order.objects.create(**ORDER)
        for values in (fields, {}):
            OrderLine.objects.create(
                **({"order": order, "sku": "s", "title": "T", "quantity": 1, "unit_price": 1} | values)
            )

    return create


def product(**fields: Any) -> Callable[[], object]:
    return lambda: Product.objects.create(sku="s", title="T", artist="A", price=1, **fields)


def variants(*rows: dict[str, Any]) -> Callable[[], object]:
    def create() -> None:
        Product.objects.create(sku="s", title="T", artist="A", price=1)
        for fields in rows:
            product, _ = Product.objects.get_or_create(
                sku=fields["sku"], defaults={"title": "T", "artist": "A", "price": 1}
            )
            Product.objects.filter(pk=product.pk).update(variant_of="s", size="30x40")

    return create


ORDER: dict[str, Any] = {
    "email": "a@example.org",
    "currency": "EUR",
    "total": 1,
    "ship_to": {},
    "payment_method": "card",
    "placed_at": WHEN,
}

OF_CUSTOMERS: list[tuple[str, str, Callable[[], object]]] = [
    ("one_delivery_per_country_and_currency", "terms for a country twice", terms({}, {"price": 5})),
    (
        "one_delivery_per_country_and_currency",
        "terms for every other country twice",
        terms({"country": ""}, {"country": ""}),
    ),
    ("delivery_goes_to_a_country_or_every_other", "terms for half a country", terms({"country": "N"})),
    ("delivery_goes_to_a_country_or_every_other", "a country in small letters", terms({"country": "nl"})),
    ("delivery_is_paid_in_a_currency", "terms in no currency", terms({"currency": ""})),
    ("shop_deliveryterms_price_check", "a price below zero", terms({"price": -1})),
    ("delivery_takes_from_the_fewest_days_to_the_most", "no days", terms({"fewest_days": 0})),
    ("delivery_takes_from_the_fewest_days_to_the_most", "days in reverse", terms({"fewest_days": 3})),
    ("delivery_takes_from_the_fewest_days_to_the_most", "a hundred days", terms({"most_days": 100})),
    ("tax_is_at_most_half_of_a_price", "a tax of more than 50%", terms({"tax_rate": 5001})),
    ("one_default_address_per_user", "two defaults", addresses({"is_default": True}, {"is_default": True})),
    ("country_is_two_letters", "a country's name", addresses({"country": "nl"})),
    (
        "one_order_per_key",
        "a key twice",
        twice(SubmissionKey, client="c", key="k", body_hash="h", order_id=SOMEBODY),
    ),
    (
        "one_order_per_number",
        "a number twice",
        twice(SubmissionKey, client="c", body_hash="h", order_id=SOMEBODY),
    ),
    (
        "one_order_per_reference",
        "a reference twice",
        twice(SubmissionKey, client="c", reference_hash="r", body_hash="h", order_id=SOMEBODY),
    ),
    (
        "a_disabled_webhook_says_why",
        "a webhook that is disabled for no reason",
        lambda: webhook(disabled_at=WHEN),
    ),
    (
        "a_previous_secret_has_an_end",
        "a previous secret without an end",
        lambda: webhook(previous_secret="sealed:"),
    ),
    (
        "a_delivery_is_due_or_has_been_made",
        "a delivered message that is due",
        lambda: delivery(state="delivered", due_at=WHEN),
    ),
    ("one_delivery_per_event", "an event twice", lambda: [delivery(), delivery()]),
    ("product_has_a_price", "a free product", twice(Product, sku="s", title="T", artist="A", price=0)),
    ("stock_was_read_at_a_time", "a stock that nobody read", product(stock=3)),
    ("stock_was_read_at_a_time", "a reading of nothing", product(stock_read_at=WHEN)),
    ("only_a_signed_edition_is_numbered", "an open edition with numbers", product(edition_size=100)),
    ("only_a_signed_edition_is_numbered", "none of an edition", product(edition="signed", edition_size=0)),
    (
        "only_a_signed_edition_is_numbered",
        "too large an edition",
        product(edition="signed", edition_size=10_000),
    ),
    ("there_is_one_reading_of_stock", "a second reading", lambda: StockReading.objects.create(id=2)),
    ("product_is_no_variant_of_itself", "its own variant", variants({"sku": "s"})),
    ("one_variant_per_size_and_edition", "a variant twice", variants({"sku": "v1"}, {"sku": "v2"})),
    ("a_value_has_a_currency", "an amount of nothing", twice(Order, **(ORDER | {"currency": ""}))),
    ("a_value_has_a_currency", "a currency of nothing", twice(Order, **(ORDER | {"total": None}))),
    ("line_has_a_quantity", "none of a product", line(quantity=0)),
    ("one_line_per_product", "a product twice", line()),
    (
        "one_unfinished_erasure_per_customer",
        "two that are not finished",
        twice(Erasure, pseudonym="erased-1", entry=1),
    ),
    (
        "a_finished_erasure_names_nobody",
        "finished with an email",
        lambda: Erasure.objects.create(
            pseudonym="erased-1", entry=1, email="a@example.org", finished_at=WHEN
        ),
    ),
    ("every_token_may_read", "one that only writes", token(scopes=["orders"])),
    ("token_scopes_are_known", "an unknown scope", token(scopes=["read", "everything"])),
    ("a_token_expires_after_it_is_created", "expired at birth", token(expires_at="2020-01-01T00:00Z")),
]
