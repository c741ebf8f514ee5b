"""What resubmitting an order would send."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.operator_documentation import DENIED, TAG
from orders.api.operator_order_lists import OrdersView
from orders.api.operator_rehearsal_representations import RehearsalOut
from orders.api.problems import OPERATION_PROBLEMS
from orders.services.operators.rehearsing import rehearse_resubmission
from orders.services.order_lock import NoSuchOrderError

REHEARSE: dict[str, Any] = {
    "operation_id": "rehearse_resubmission",
    "summary": "Show what resubmitting an order would send",
    "description": (
        "Each request that `resubmit_order` would send next, composed by the code that sends it, without secrets. "
        "Nothing is sent, and nothing changes."
    ),
    "tags": TAG,
    "responses": RehearsalOut,
    "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found"]},
}


class OrderRehearsal(OrdersView):
    """What a resubmission would send."""

    @extend_schema(**REHEARSE)
    def get(self, request: Request, order_id: UUID) -> Response:
        try:
            rehearsal = rehearse_resubmission(order_id)
        except NoSuchOrderError as error:
            raise NotFound from error
        return Response(RehearsalOut.render(rehearsal))
