"""`POST orders/quote`: what an order would be if it were placed now."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api import requests
from orders.api.problems import OPERATION_PROBLEMS
from orders.api.representations import LineOut, MoneyOut, Out, StepName, of_kinds
from orders.business import BadOrderError
from orders.business.placing import CannotBePlacedError, ReferenceTakenError
from orders.selectors.orders import client_of
from orders.services.placing import quote_order
from orders.vocabulary import TokenScope


class QuoteOut(Out):
    """What an order would be if it were placed now, at today's prices. `total` is null for a kind of order that has no
    value. `promised_by` is until when it would be promised, null if nothing is. `usual_seconds` is how long nine in ten
    of the latest orders of its workflow took at most, null if that is not known. `steps` are those of its workflow. The
    members that are not required are those of an order, as far as they are known before it is placed."""

    workflow = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    total = MoneyOut(allow_null=True)
    lines = LineOut(many=True)
    promised_by = serializers.DateTimeField(allow_null=True)
    usual_seconds = serializers.IntegerField(allow_null=True)
    steps = serializers.ListField(child=StepName())

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **of_kinds(is_quote=True)}


QUOTE_ORDER: dict[str, Any] = {
    "operation_id": "quote_order",
    "summary": "Ask what an order would cost",
    "description": (
        "Takes the body of `place_order` and makes the same checks. A 200 response means that the order could be "
        "placed now. Nothing is stored, and no price is kept for you."
    ),
    "tags": ["orders"],
    "request": requests.ORDER_SCHEMA,
    "responses": {200: OpenApiResponse(QuoteOut, description="The order could be placed now.")},
    "extensions": {OPERATION_PROBLEMS: ["reference_taken", "intake_paused"]},
}


class OrderQuote(APIView):
    """Says what an order would be."""

    scope = TokenScope.ORDERS

    @extend_schema(**QUOTE_ORDER)
    def post(self, request: Request) -> Response:
        order = requests.read_order(request, request.data)
        try:
            client = client_of(requests.client_id(request))
            return Response(QuoteOut.render(quote_order(client=client, order=order)))
        except (CannotBePlacedError, BadOrderError, ReferenceTakenError) as error:
            raise requests.refusal(error) from error
