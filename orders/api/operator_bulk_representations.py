"""What the API sends to operators about bulk actions."""

from typing import Any

from rest_framework import serializers

from orders.api import enumerations
from orders.api.operator_order_edit_representations import DifferenceOut, difference
from orders.api.operator_representations import BulkActionOut
from orders.api.representations import MoneyOut, Out, SpokenNumber, StepName, page_of
from orders.fields.money import Money
from orders.selectors.desk.bulk_preview import Preview
from orders.selectors.desk.order_rows import OrderRow
from orders.services.operators.bulk import needs_count
from orders.services.operators.bulk_editing import BulkEditPreview
from orders.vocabulary import BulkItemState, BulkKind, ProcessState

BulkActionPageOut = page_of(BulkActionOut, "A page of bulk actions, newest first.")


class SelectedOrderOut(Out):
    """An order that a bulk action would act on. `standing` says more precisely than its state where it stands."""

    id = serializers.UUIDField()
    number = SpokenNumber(source="id")
    workflow = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    subject = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=list(ProcessState))
    standing = serializers.ChoiceField(choices=enumerations.STANDINGS)
    total = MoneyOut(allow_null=True)


class RefusedOrdersOut(Out):
    """Why an edit does not apply to so many `orders`."""

    reason = serializers.CharField()
    orders = serializers.IntegerField()


class OrdersOfStepOut(Out):
    """A step, and in how many `orders`."""

    step = StepName()
    orders = serializers.IntegerField()


class EditedOrderOut(Out):
    """What an edit would change of an order, the `steps` that would request something else, and in `staying` what it
    comes too late for."""

    id = serializers.UUIDField(source="order_id")
    number = SpokenNumber(source="order_id")
    changes = DifferenceOut(many=True)
    steps = serializers.ListField(child=StepName())
    staying = serializers.ListField(child=serializers.CharField())


class BulkEditOut(Out):
    """What an edit would do to the first `examined` orders, 2,000 at most: `applies` to so many of them, and the
    `reasons` why not to the others. The `steps` would request something else; those in `staying` have been sent with
    the former values, which does not change. `orders` are the first 20 to which it applies."""

    examined = serializers.IntegerField()
    applies = serializers.IntegerField()
    reasons = RefusedOrdersOut(many=True)
    steps = OrdersOfStepOut(many=True)
    staying = OrdersOfStepOut(many=True)
    orders = EditedOrderOut(many=True)


class BulkPreviewOut(Out):
    """What a bulk action would do now. `selection` says in words which orders it would take.

    `count` is how many there are, and `archived` how many others match that are archived, which no action takes. Both
    stop at 10,001, and for more than 10,000 orders the action is refused (`is_too_many`). `needs_count` says whether
    the action must confirm `count`. With `may_have_paid`, money may have been taken for some of the orders, and a
    cancellation gives it back: what was `charged`, or may have been, and what is only `held`, in each currency. `worth`
    is what the orders are worth. These sums are of the first 2,000 orders. `orders` are the first of them. `edit` is
    what an edit would do, and null for other kinds.
    """

    kind = serializers.ChoiceField(choices=list(BulkKind))
    selection = serializers.CharField()
    count = serializers.IntegerField()
    archived = serializers.IntegerField()
    is_too_many = serializers.BooleanField()
    needs_count = serializers.BooleanField()
    may_have_paid = serializers.BooleanField()
    charged = MoneyOut(many=True)
    held = MoneyOut(many=True)
    worth = MoneyOut(many=True)
    orders = SelectedOrderOut(many=True)
    edit = BulkEditOut(allow_null=True)


class BulkItemOut(Out):
    """An order of a bulk action, at this position of all of them, and in this wave, counted from 0.

    Its `state` is `waiting` for its turn, `acted` while it is under way, `done`, `failed` if it has failed again, or
    `nothing` if nothing had to be done. `result` explains it. `cause` is the alert group of its new failure.
    """

    position = serializers.IntegerField()
    wave = serializers.IntegerField()
    order_id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=list(BulkItemState))
    result = serializers.CharField(allow_blank=True)
    cause = serializers.IntegerField(allow_null=True)
    acted_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


BulkItemPageOut = page_of(
    BulkItemOut, "A page of a bulk action's orders, in the order in which it takes them."
)


def previewed(preview: Preview, edit: BulkEditPreview | None = None) -> dict[str, Any]:
    """A preview, as `BulkPreviewOut` says it."""
    selection = preview.selection
    return {
        "kind": selection.kind,
        "selection": selection.description,
        "count": preview.count,
        "archived": preview.archived,
        "is_too_many": preview.is_too_many,
        "needs_count": needs_count(kind=selection.kind, count=preview.count),
        "may_have_paid": bool(preview.back.charged) or preview.back.more,
        "charged": preview.back.charged,
        "held": preview.back.held,
        "worth": preview.worth.charged,
        "orders": [_selected(row) for row in preview.first],
        "edit": None if edit is None else _edited(edit),
    }


def _edited(edit: BulkEditPreview) -> dict[str, Any]:
    return {
        "examined": edit.examined,
        "applies": edit.applies,
        "reasons": [{"reason": reason, "orders": orders} for reason, orders in edit.reasons.most_common()],
        "steps": [{"step": step, "orders": orders} for step, orders in edit.steps.most_common()],
        "staying": [{"step": step, "orders": orders} for step, orders in edit.staying.most_common()],
        "orders": [
            {**vars(order), "changes": [difference(row) for row in order.rows]} for order in edit.first
        ],
    }


def _selected(row: OrderRow) -> dict[str, Any]:
    return {
        "id": row.order_id,
        "workflow": row.workflow,
        "title": row.title,
        "subject": row.subject,
        "state": row.order.state,
        "standing": row.order.standing.kind.replace(" ", "_"),
        "total": None if row.total is None else Money(amount=row.total, currency=row.currency),
    }
