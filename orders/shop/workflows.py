"""What the print shop sells: one kind of order, for posters."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from babel import Locale
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orders.business import (
    BadOrderError,
    ClientLink,
    Draft,
    Environment,
    Field,
    FieldType,
    Json,
    Line,
    LineName,
    LinePicture,
    Money,
    OrderKind,
    Profile,
    ResultFact,
    SumRow,
    Workflow,
    fewer_lines,
)
from orders.fields.locales import reader_locale
from orders.shop import (
    catalogue,
    delivery_words,
    description,
    fulfilment,
    incomplete_requests,
    pricing,
    repeats,
    served,
)
from orders.shop.addresses import written_address
from orders.shop.customer_words import CUSTOMER_WORDS
from orders.shop.delivery import delivery_of, expected_arrival, sum_of, summed_again, sums, tax_of
from orders.shop.editions import numbers_in_words, numbers_of
from orders.shop.models import Product
from orders.shop.pictures import line_names, line_pictures
from orders.shop.runbooks import RUNBOOKS
from orders.shop.time_limits import present_limits, read_limits
from orders.shop.tracking import parcel_of, present_tracking_url

if TYPE_CHECKING:
    from orders.shop.rest import OrderIn

MOST_NAMED = 3
POSTAL_CODES_CHECKED_SINCE = "2026-11-28"
"""The version of the REST API."""
ADDRESS_PARTS = (
    Field(
        name="country",
        label="Country",
        type=FieldType.COUNTRY,
        customer_label=_("Country"),
        autocomplete="shipping country",
        choices=served.choices,
    ),
    Field(name="name", label="Name", customer_label=_("Name"), autocomplete="shipping name"),
    Field(
        name="street",
        label="Street and number",
        customer_label=_("Street and number"),
        autocomplete="shipping address-line1",
    ),
    Field(
        name="line2",
        label="Flat, floor, building",
        customer_label=_("Flat, floor, building (optional)"),
        autocomplete="shipping address-line2",
        is_optional=True,
    ),
    Field(
        name="postal_code",
        label="Postal code",
        customer_label=_("Postal code"),
        autocomplete="shipping postal-code",
        is_optional=True,
    ),
    Field(name="city", label="City", customer_label=_("City"), autocomplete="shipping address-level2"),
    Field(
        name="state",
        label="State",
        customer_label=_("State"),
        autocomplete="shipping address-level1",
        is_optional=True,
    ),
    Field(
        name="phone",
        label="Phone",
        customer_label=_("Phone (optional)"),
        autocomplete="shipping tel",
        is_optional=True,
    ),
)


class FulfilOrder(OrderKind):
    """An order for posters: the stock is reserved, the payment taken, the parcel sent, the customer written to."""

    name = fulfilment.NAME
    label = "order of prints"
    is_open_to_clients = True
    notices_have_link = True
    client_links = {"payment": ClientLink(url="order-payment", fields=("payment_method",))}
    client_results = (fulfilment.RESERVATION,)
    has_older_fingerprints = True
    customer_fields = (
        Field(name="lines", label="Quantities", type=FieldType.LINES, act=_("Change what you ordered")),
    )
    fields = (
        Field(name="payment_method", label="Payment method (the gateway’s token)", type=FieldType.TOKEN),
        Field(name="email", label="Email", type=FieldType.EMAIL),
        Field(
            name="ship_to",
            label="Address",
            type=FieldType.ADDRESS,
            parts=ADDRESS_PARTS,
            act=_("Give another address"),
            button=_("Send it to this address"),
        ),
    )
    texts = (Field(name="gift_note", label="Gift note"),)
    personal = ("ship_to.name", "ship_to.street", "ship_to.line2", "ship_to.phone", "gift_note")
    names = ("ship_to.name",)
    customer_words = CUSTOMER_WORDS
    runbooks = RUNBOOKS
    templates = "storefront/order"

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        return [fulfilment.fulfil_order(read_limits(environment))]

    @classmethod
    def read(cls, data: Json) -> Json:
        return description.as_json(description.parse(data))

    @classmethod
    def profile(cls, data: Json, *, placed_at: datetime) -> Profile:
        lines = tuple(_line(line) for line in data["lines"])
        return Profile(
            title=_title(lines),
            value=Money(amount=data["total"], currency=data["currency"]),
            email=data["email"],
            promised_by=placed_at + timedelta(seconds=present_limits().order_complete_by),
            lines=lines,
        )

    @classmethod
    def serializer(cls) -> "type[OrderIn]":
        from orders.shop.rest import OrderIn  # noqa: PLC0415 - the roles need no REST framework

        return OrderIn

    @classmethod
    def update_request(cls, request: Json, version: str) -> Json:
        return {**request, "takes_any_postal_code": True} if version < POSTAL_CODES_CHECKED_SINCE else request

    @classmethod
    def describe(cls, request: Json) -> Json:
        return pricing.describe(request)

    @classmethod
    def describe_all(cls, requests: Sequence[Json]) -> Sequence[Json | Exception]:
        return pricing.describe_all(requests)

    @classmethod
    def read_field(cls, name: str, value: object) -> Any:
        return description.read_field(name, value)

    @classmethod
    def accept_changes(cls, changes: Json) -> Json:
        from orders.shop.rest import ChangesIn  # noqa: PLC0415 - the roles need no REST framework

        accepted: Json = ChangesIn.read(changes)
        return accepted

    @classmethod
    def find_mistakes(cls, body: Json) -> Json:
        return incomplete_requests.find_mistakes(body)

    @classmethod
    def edit(cls, data: Json, changes: Json) -> Json:
        if "lines" not in changes:
            return super().edit(data, changes)
        lines = fewer_lines(data["lines"], changes["lines"])
        return {**data, **changes, "lines": lines, **summed_again(data, sum_of(lines))}

    @classmethod
    def correct(cls, data: Json, changes: Json) -> Json:
        edited = cls.edit(data, changes)
        country = edited["ship_to"]["country"]
        if country == data["ship_to"]["country"]:
            return edited
        try:
            terms = pricing.tariff([country]).terms(edited["currency"], country)
        except pricing.NotDeliveredError as error:
            raise BadOrderError(str(error), where="ship_to.country") from error
        rest = {name: value for name, value in edited.items() if name not in ("delivery", "tax")}
        return {**rest, **sums(sum_of(edited["lines"]), terms)}

    @classmethod
    def check_correction(cls, refusal: Json, changes: Json, *, before: Json, after: Json) -> None:
        repeats.check(refusal, changes, before=before, after=after)

    @classmethod
    def find_skus(cls, words: str, most: int) -> Sequence[str]:
        products = Product.objects.filter(Q(sku__iexact=words) | Q(title__icontains=words))
        return list(products.order_by("sku").values_list("sku", flat=True)[:most])

    @classmethod
    def line_names(cls, skus: Sequence[str]) -> Mapping[str, LineName]:
        return line_names(catalogue.line_products(skus))

    @classmethod
    def pictures(cls, skus: Sequence[str], *, width: int) -> Mapping[str, LinePicture]:
        return line_pictures(catalogue.line_products(skus), width=width)

    @classmethod
    def email_facts(cls, data: Json, *, on_course_since: datetime | None) -> Sequence[tuple[str, str]]:
        address = description.whole_address(data)
        now = datetime.now(UTC)
        days = expected_arrival(data, on_course_since, now=now) if on_course_since else None
        return [
            *([(gettext("Ships to"), written_address(address))] if address else []),
            *(
                [(gettext("Should arrive"), delivery_words.arrives(days, locale=reader_locale()))]
                if days
                else []
            ),
        ]

    @classmethod
    def sum_rows(cls, data: Json) -> Sequence[SumRow]:
        return delivery_words.sum_rows(data)

    @classmethod
    def client_members(cls) -> Mapping[str, Any]:
        from orders.shop import rest_delivery  # noqa: PLC0415 - the roles need no REST framework

        return rest_delivery.MEMBERS

    @classmethod
    def order_members(cls) -> Mapping[str, Any]:
        from orders.shop import rest_editions  # noqa: PLC0415 - the roles need no REST framework

        return rest_editions.MEMBERS

    @classmethod
    def client_values(cls, data: Json, results: Mapping[str, Json]) -> Mapping[str, Any]:
        currency = data.get("currency")
        values = {"delivery": delivery_of(data), "tax": tax_of(data)} if isinstance(currency, str) else {}
        numbers = numbers_of(results.get(fulfilment.RESERVATION))
        return {
            **{name: (value, currency) for name, value in values.items() if value},
            **({"editions": list(numbers.items())} if numbers else {}),
        }

    @classmethod
    def describe_result(cls, step: str, result: Json) -> Sequence[ResultFact]:
        if step == fulfilment.RESERVATION:
            return [
                ResultFact(
                    label="Edition numbers",
                    text=f"{sku}: {numbers_in_words(edition, locale=Locale('en'))}",
                )
                for sku, edition in numbers_of(result).items()
            ]
        parcel = (
            parcel_of(result, tracking_url=present_tracking_url()) if step == fulfilment.SHIPMENT else None
        )
        return [ResultFact(label="Tracking number", text=parcel.tracking, url=parcel.url)] if parcel else ()

    @classmethod
    def refuse(cls, drafts: Sequence[Draft]) -> Sequence[str | None]:
        skus = {line["sku"] for draft in drafts for line in draft.data["lines"]}
        currencies = dict(Product.objects.filter(pk__in=skus).values_list("sku", "currency"))
        return [mismatch(draft.data, currencies) for draft in drafts]


def mismatch(data: Json, currencies: Mapping[str, str]) -> str | None:
    """Says what in an order does not match the catalogue, in one sentence. Returns None if everything does. Pure.

    `currencies` has the currency of each product that exists, listed or not.
    """
    for line in data["lines"]:
        currency = currencies.get(line["sku"])
        if currency is None:
            return f"unknown product {line['sku']!a}."
        if currency != data["currency"]:
            return f"the product {line['sku']!a} is sold in {currency}, not in {data['currency']}."
    return None


def _line(line: Json) -> Line:
    return Line(**{name: line[name] for name in ("sku", "title", "quantity", "unit_price")})


def _title(lines: Sequence[Line]) -> str:
    """What an order is, in a few words: "2 × Tidal Lines, 1 × First Sun and 3 more"."""
    named = ", ".join(f"{line.quantity} × {line.title}" for line in lines[:MOST_NAMED])
    return f"{named} and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else named
