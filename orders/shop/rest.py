"""What REST clients send to order from the shop, and to pay again.

It accepts nothing that the submission process would set aside (`orders.shop.description`).
"""

from collections import Counter
from typing import Any

from rest_framework import serializers

from orders.api.fields import MailedText, Strict, Text, Token, Whole
from orders.business.mistakes import merged
from orders.fields import email as email_addresses
from orders.fields.postal_address import LONGEST_PART, LONGEST_PHONE
from orders.shop.address_refusals import refusals
from orders.shop.description import (
    LANGUAGE,
    LONGEST_GIFT_NOTE,
    LONGEST_PAYMENT_TOKEN,
    LONGEST_SKU,
    PAYMENT_TOKEN,
)
from orders.shop.incomplete_requests import address_mistakes

PART = {"max_length": LONGEST_PART}


class LineIn(Strict):
    """A product and its quantity."""

    sku = Text(max_length=LONGEST_SKU)
    quantity = Whole(min_value=1, max_value=999)


class AddressIn(Strict):
    """Where an order is shipped. What it has besides depends on the country: a part that an address there does not have
    is left out of the order."""

    name = MailedText(**PART)
    street = MailedText(**PART)
    line2 = MailedText(required=False, help_text="a flat, a floor or a building", **PART)
    city = MailedText(**PART)
    state = MailedText(
        required=False,
        help_text="by its code or its name, as in CA and California, if addresses in the country have one",
        **PART,
    )
    postal_code = MailedText(
        required=False,
        help_text="required if every address in the country has one; checked by its rules",
        **PART,
    )
    country = Token(
        pattern="[A-Za-z]{2}",
        message="This must be a two-letter country code (ISO 3166).",
        min_length=2,
        max_length=2,
    )
    phone = MailedText(required=False, help_text="only for the carrier", max_length=LONGEST_PHONE)

    def validate_country(self, country: str) -> str:
        return country.upper()


class CheckedAddressIn(AddressIn):
    """An address in a country that is served, by the rules of that country."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError(merged(error.detail, address_mistakes(data))) from error

    def validate(self, address: dict[str, Any]) -> dict[str, Any]:
        if wrong := refusals(address):
            raise serializers.ValidationError({part: [text] for part, text in wrong.items()})
        return address


class PaymentToken(Token):
    """A way to pay, as the payment gateway's token."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern=PAYMENT_TOKEN,
            message=(
                "This must be a token from the payment gateway: 1 to 64 letters, digits, and _ . : -, the first a "
                "letter or a digit."
            ),
            max_length=LONGEST_PAYMENT_TOKEN,
            **options,
        )


class RemainingLineIn(Strict):
    """A product of the order, and how many of it are still wanted: 0 leaves it out."""

    sku = Text(max_length=LONGEST_SKU)
    quantity = Whole(min_value=0, max_value=999)


class ChangesIn(Strict):
    """What a client may change of an order that waits for its customer."""

    payment_method = PaymentToken(required=False)
    ship_to = CheckedAddressIn(required=False)
    lines = RemainingLineIn(many=True, min_length=1, max_length=100, required=False)  # type: ignore[call-arg]


class PaymentIn(Strict):
    """How to pay instead. Without `payment_method` the same one is tried again."""

    payment_method = PaymentToken(required=False)


class OrderIn(Strict):
    """A new order. `payment_method` is a token from the payment gateway."""

    # Its address is checked when it is priced, after its key was looked up: countries and their rules change.

    lines = LineIn(many=True, min_length=1, max_length=100)  # type: ignore[call-arg]  # many=True takes them
    ship_to = AddressIn()
    email = Token(
        pattern=email_addresses.PATTERN,
        message="This must be an email address in ASCII.",
        max_length=email_addresses.LONGEST,
    )
    payment_method = PaymentToken()
    language = Token(
        pattern=LANGUAGE,
        message="This must be the tag of a language, such as en or pt-BR.",
        max_length=21,
        required=False,
        help_text="the language of emails about the order, English if it is missing or one that we do not have",
    )
    gift_note = MailedText(
        max_length=LONGEST_GIFT_NOTE,
        required=False,
        help_text="a note that is put into the parcel: one paragraph without web addresses",
    )

    def validate_lines(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        counts = Counter(line["sku"] for line in lines)
        seen: set[str] = set()
        mistakes: list[dict[str, Any]] = []
        for line in lines:
            is_again = counts[line["sku"]] > 1 and line["sku"] in seen
            seen.add(line["sku"])
            mistakes.append({"sku": ["An earlier line already has this product."]} if is_again else {})
        if any(mistakes):
            raise serializers.ValidationError(mistakes)
        return lines
