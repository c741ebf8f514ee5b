"""The catalogue as REST clients see it."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api.fields import OneLine, Text, Token
from orders.api.paging import CURSOR_HELP, PageQuery, read_query, render_page
from orders.api.problems import OPERATION_PROBLEMS, ProblemError
from orders.api.representations import LinkOut, MoneyOut, Out, page_of
from orders.shop import products
from orders.shop.availability import Availability
from orders.shop.description import LONGEST_SKU
from orders.shop.models import LONGEST_SIZE
from orders.shop.pricing import UNKNOWN
from orders.shop.products import ProductView

SIZES_CHECKED_SINCE = "2026-11-28"
"""The version of the API."""


class SizeOut(Out):
    """The size of a print in centimetres."""

    width = serializers.IntegerField()
    height = serializers.IntegerField()

    def to_representation(self, size: tuple[int, int]) -> dict[str, Any]:
        return dict(zip(("width", "height"), size, strict=True))


class OfferOut(Out):
    """What can be ordered: a poster in one size and edition. `is_orderable` is false while it is not for sale; `size`
    is null if it is not known. `stock` is how many were left a few minutes ago, and null if that is not known: an order
    for more may be placed, and then waits for its customer."""

    sku = serializers.CharField()
    title = serializers.CharField()
    size = SizeOut(allow_null=True)
    edition = serializers.CharField(help_text="How it is printed, such as `open` or `signed`.")
    price = MoneyOut()
    is_orderable = serializers.BooleanField()
    availability = serializers.ChoiceField(choices=list(Availability))
    stock = serializers.IntegerField(allow_null=True)
    edition_size = serializers.IntegerField(
        allow_null=True,
        help_text="How many prints a numbered edition has; null if the prints have no numbers.",
    )


class ProductOut(Out):
    """A product for sale. `offers` are all the sizes and editions of its poster, itself among them, the cheapest first:
    each has a SKU of its own."""

    sku = serializers.CharField()
    title = serializers.CharField()
    artist = serializers.CharField()
    description = serializers.CharField()
    price = MoneyOut()
    offers = OfferOut(many=True)
    links = serializers.SerializerMethodField()

    @extend_schema_field(LinkOut)
    def get_links(self, product: ProductView) -> Mapping[str, str]:
        return {"self": reverse("api:product", args=[product.sku])}


ProductPageOut = page_of(ProductOut, "A page of products. `next` is the URL of the following page.")


class ProductQuery(PageQuery):
    """Selects products."""

    cursor = OneLine(default="", max_length=LONGEST_SKU, help_text=CURSOR_HELP)
    size: Text = Token(
        pattern="([0-9]+x[0-9]+)?",
        message="This must be a width and a height in centimetres, such as 30x40.",
        default="",
        allow_blank=True,
        max_length=LONGEST_SIZE,
        help_text="Only products that are sold in this size: width and height in centimetres, such as `30x40`.",
    )


class OlderProductQuery(ProductQuery):
    """The same before `SIZES_CHECKED_SINCE`: no product has a size of another form."""

    size = OneLine(default="", max_length=LONGEST_SIZE)


LIST_PRODUCTS: dict[str, Any] = {
    "operation_id": "list_products",
    "summary": "List products",
    "tags": ["products"],
    "parameters": [ProductQuery],
    "responses": ProductPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed"]},
}
GET_PRODUCT: dict[str, Any] = {
    "operation_id": "get_product",
    "summary": "Retrieve a product",
    "tags": ["products"],
    "parameters": [
        OpenApiParameter(
            "sku",
            {"type": "string", "minLength": 1, "maxLength": LONGEST_SKU},
            OpenApiParameter.PATH,
            description="The product's code.",
        )
    ],
    "responses": ProductOut,
    "extensions": {OPERATION_PROBLEMS: ["not_found"]},
}


class Products(APIView):
    """The catalogue."""

    permission_classes = (AllowAny,)

    @extend_schema(**LIST_PRODUCTS)
    def get(self, request: Request) -> Response:
        is_older = request.api_version.name < SIZES_CHECKED_SINCE  # type: ignore[attr-defined]
        query = read_query(OlderProductQuery if is_older else ProductQuery, request)
        page = products.products(after=query["cursor"], limit=query["page_size"], size=query["size"])
        return render_page(ProductPageOut, request, page, key=lambda product: product.sku)


class ProductDetail(APIView):
    """One product."""

    permission_classes = (AllowAny,)

    @extend_schema(**GET_PRODUCT)
    def get(self, request: Request, sku: str) -> Response:
        product = products.product(sku)
        if product is None:
            raise ProblemError("not_found", UNKNOWN)
        return Response(ProductOut.render(product))
