"""Corrections of an order by its client: what was declined is changed, and tried again."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.changes import change_of_order
from orders.api.fields import MOST_UNKNOWN, Strict, Whole
from orders.api.problems import ProblemError, misplaced, pointed
from orders.api.views import OrderChange
from orders.business import BadOrderError, OrderKind, registry
from orders.fields.money import Money
from orders.selectors.customer_order import CustomerOrder

PLACE = "/changes"
"""Where in the body the new values are."""
CANNOT_BE_CHANGED = "This cannot be changed now. `correctable` of the order says what can."


class CorrectionIn(Strict):
    """`changes` are the new values of fields that `correctable` of the order names, each of them whole. With none of
    them, what waits is tried again as it is; the address that was just refused, or more than is left, is refused at
    once.

    Of `lines`, send the `sku` and `quantity` of those that you want fewer of, and a quantity of 0 to leave one out. The
    order's `total` follows. Where it becomes greater, as with the delivery to another country, send the `total` that
    you agree to, in minor units: the problem `total_not_agreed` has the one that it would be. With another `total`
    nothing is changed.
    """

    changes = serializers.DictField()
    total = Whole(min_value=1, max_value=2**63 - 1, required=False)


CORRECT_ORDER = change_of_order(
    body=CorrectionIn,
    operation_id="correct_order",
    summary="Correct an order that waits for its customer",
    description=(
        "For an order that cannot go on, because a service refused what its customer can change. `correctable` "
        "of the order says what was refused, why, and which fields can be changed; while there is anything in it, the "
        "order's links have `corrections`. What was refused is tried again with what you change. If you do nothing "
        "until `waiting_until`, the order is cancelled. Money that was reserved for another total is released first, "
        "so nothing is charged twice."
    ),
)


def _read(
    kind: type[OrderKind], changes: Mapping[str, Any], fields: Collection[str]
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The new values of these fields, and everything that is wrong with them."""
    unknown = sorted(name for name in changes if name not in fields)
    errors = list(pointed({"changes": dict.fromkeys(unknown[:MOST_UNKNOWN], CANNOT_BE_CHANGED)}))
    values = {name: value for name, value in changes.items() if name in fields}
    if unknown and not values:
        return {}, errors
    try:
        return dict(kind.accept_changes(values)), errors
    except serializers.ValidationError as error:
        return {}, [*errors, *pointed({"changes": error.detail})]
    except BadOrderError as error:
        return {}, [*errors, *misplaced(error.mistakes, PLACE)]


@extend_schema_view(post=extend_schema(**CORRECT_ORDER))
class OrderCorrection(OrderChange):
    """Corrects an order that waits for its customer."""

    body = CorrectionIn

    def read_changes(self, request: Request, order: CustomerOrder) -> tuple[dict[str, Any], frozenset[str]]:
        kind = registry.find_kind(order.workflow)
        fields = order.correctable_fields
        try:
            changes = self.body.read(request.data)["changes"]
        except serializers.ValidationError as error:
            sent = request.data.get("changes") if isinstance(request.data, Mapping) else None
            if kind is None or not fields or not isinstance(sent, Mapping):
                raise
            errors = [*pointed(error.detail), *_read(kind, sent, fields)[1]]
            raise ProblemError("validation_failed", errors=errors) from error
        if kind is None or not fields:
            return {}, frozenset()
        values, errors = _read(kind, changes, fields)
        if errors:
            raise ProblemError("validation_failed", errors=errors)
        return values, frozenset(changes)

    def read_agreed(self, request: Request, order: CustomerOrder) -> Money | None:
        total = self.body.read(request.data).get("total")
        return Money(amount=total, currency=order.total.currency) if total and order.total else None

    def post(self, request: Request, order_id: UUID) -> Response:
        return self.change(request, order_id, where=PLACE)
