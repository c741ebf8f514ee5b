"""The operators' edit of an order's fields, and what it would change."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api import operator_order_documentation as documentation
from orders.api.fields import MOST_UNKNOWN
from orders.api.operator_order_edit_representations import OrderEditOut, compared
from orders.api.operator_order_requests import OrderChangesIn, OrderEditIn
from orders.api.operator_views import ActView, OperatorView, problem_of_missing
from orders.api.problems import ProblemError, bad_values, misplaced, pointed
from orders.business import BadOrderError
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators import editing, order_editing
from orders.services.order_lock import NoSuchOrderError


@contextmanager
def wrong_values_reported() -> Iterator[None]:
    """Turns what is wrong with new values of fields into problems that point at them."""
    try:
        yield
    except BadOrderError as error:
        raise bad_values(error, "/changes") from error
    except order_editing.NotEditableError as error:
        details = {"changes": dict.fromkeys(error.names[:MOST_UNKNOWN], "This cannot be edited.")}
        errors = [*pointed(details), *misplaced(error.mistakes, "/changes")]
        raise ProblemError("validation_failed", errors=errors) from error


def edit_step(
    *, order_id: UUID, step: str, changes: dict[str, Any], actor: Actor, reason: str, seen: Any = None
) -> Result:
    """Edits the fields of the order that a failed step asks for, as `editing.edit_and_resubmit` does."""
    with wrong_values_reported():
        return editing.edit_and_resubmit(
            order_id=order_id, step=step, changes=changes, seen=seen or {}, actor=actor, reason=reason
        )


def _edit(
    *,
    order_id: UUID,
    changes: dict[str, Any],
    actor: Actor,
    reason: str,
    seen: Any = None,
    reverse: Sequence[str] = (),
) -> Result:
    with wrong_values_reported():
        return order_editing.edit_order(
            order_id=order_id, changes=changes, seen=seen or {}, actor=actor, reason=reason, reverse=reverse
        )


@extend_schema_view(post=extend_schema(**documentation.EDIT_ORDER))
class OrderEdit(ActView):
    """Edits fields of an order."""

    body = OrderEditIn
    act = staticmethod(_edit)


class OrderEditPreview(OperatorView):
    """What an edit of an order would change."""

    @extend_schema(**documentation.PREVIEW_EDIT)
    def post(self, request: Request, order_id: UUID) -> Response:
        body = OrderChangesIn.read(request.data)
        try:
            return Response(OrderEditOut.render(_preview(order_id, body["changes"], body.get("reverse", ()))))
        except NoSuchOrderError as error:
            raise problem_of_missing({"order_id": order_id}) from error


def _preview(order_id: UUID, changes: dict[str, Any], reverse: Sequence[str]) -> Mapping[str, Any]:
    editable = order_editing.editable_order(order_id)
    try:
        with wrong_values_reported():
            edit = order_editing.preview(order_id=order_id, changes=changes, reverse=reverse)
    except order_editing.CannotEditError as error:
        raise ProblemError("act_refused", str(error)) from error
    return compared(editable, edit)
