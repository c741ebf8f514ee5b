"""What the API sends to operators who edit an order: what the edit would change."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from orders.api.operator_order_representations import EditableFieldOut
from orders.api.representations import Out, StepName
from orders.business.order_edits import OrderEdit
from orders.services.operators.order_editing import EditableOrder
from orders.wording.order_edits import Row, compare_edit, staying_sentences


class EditedFieldOut(EditableFieldOut):
    """A field of an order that may be edited, and its present value. One with `parts` is an object of them."""

    value = serializers.JSONField()


class DifferenceOut(Out):
    """Something that an edit changes, as an operator reads it."""

    name = serializers.CharField()
    before = serializers.CharField(allow_blank=True)
    after = serializers.CharField(allow_blank=True)


class FollowingStepOut(Out):
    """A step that would request something else: the whole of its request, before and after. What one that
    `is_reversed_first` may have done is reversed before that."""

    name = StepName()
    before = serializers.DictField()
    after = serializers.DictField()
    is_reversed_first = serializers.BooleanField()


class StayingStepOut(Out):
    """A step that the edit comes too late for, and in `message` why."""

    name = StepName()
    message = serializers.CharField()


class OrderEditOut(Out):
    """What an edit of an order would change now.

    `fields` are all that may be edited, and `changes` what would change of them. `profile` is what people see of the
    order. The `steps` would request something else, and the requests of those in `staying` would stay as they are.
    """

    fields = EditedFieldOut(many=True)  # type: ignore[assignment]  # a field, not the serializer's fields
    changes = DifferenceOut(many=True)
    profile = DifferenceOut(many=True)
    steps = FollowingStepOut(many=True)
    staying = StayingStepOut(many=True)


def compared(editable: EditableOrder, edit: OrderEdit) -> Mapping[str, Any]:
    """An edit as `OrderEditOut` has it."""
    comparison = compare_edit(edit)
    return {
        "fields": [{**vars(field), "value": editable.values.get(field.name)} for field in editable.fields],
        "changes": [difference(row) for row in comparison.fields],
        "profile": [difference(row) for row in comparison.profile],
        "steps": [
            {
                "name": step.step,
                "before": step.before,
                "after": step.after,
                "is_reversed_first": step.is_reversed_first,
            }
            for step in edit.following
        ],
        "staying": [
            {"name": step.step, "message": message}
            for step, message in zip(edit.staying, staying_sentences(edit), strict=True)
        ],
    }


def difference(row: Row) -> Mapping[str, str]:
    """What an edit changes, as `DifferenceOut` has it."""
    return {"name": row.label, "before": row.before, "after": row.after}
