"""What a business needs to let REST clients change what a declined step asks for (docs/your-business.md)."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from orders.api import representations
from orders.api.documentation import ETAG
from orders.api.fields import Strict
from orders.api.problems import OPERATION_PROBLEMS
from orders.api.views import OrderChange

__all__ = ["OrderChange", "change_of_order"]


def change_of_order(
    *, body: type[Strict], operation_id: str, summary: str, description: str
) -> dict[str, Any]:
    """What the OpenAPI document says of an `OrderChange` with this body."""
    repeats = (
        "It needs no `Idempotency-Key`: a step that is under way is not sent again. If a response is lost, repeat the "
        "request; `not_waiting_for_customer` then means that the first one was taken."
    )
    return {
        "operation_id": operation_id,
        "summary": summary,
        "description": f"{description} {repeats}",
        "tags": ["orders"],
        "parameters": [ETAG],
        "request": body,
        "responses": {202: OpenApiResponse(representations.OrderOut, description="It is tried again.")},
        "extensions": {
            OPERATION_PROBLEMS: [
                "not_found",
                "not_waiting_for_customer",
                "being_cancelled",
                "act_refused",
                "total_not_agreed",
            ]
        },
    }
