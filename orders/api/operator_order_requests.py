"""What operators send to act on one order."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from orders.api.fields import Choice, Text, Whole
from orders.api.operator_requests import ActIn, NeededReasonIn, ReasonIn
from orders.api.webhook_requests import Time

DONE, NOT_DONE, COMPENSATED = "done", "not_done", "compensated"
"""What an operator can find to have become of a step."""
MOST_STEPS = 100
"""Steps that one request may name."""


class StepNames(serializers.ListField):
    """Names of steps of one order."""

    child = Text(max_length=120)

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": MOST_STEPS, **options})


class RetryIn(ReasonIn):
    """`step` is the only one to retry. Without it, each step that waits for a retry is retried."""

    step = Text(max_length=120, required=False)


class PriorityIn(ReasonIn):
    """The new priority, from 0 to 9. Orders with 9 go first."""

    priority = Whole(min_value=0, max_value=9)


class PauseIn(NeededReasonIn):
    """`until` is when the pause ends by itself. Without it, the pause lasts until somebody ends it."""

    until = Time(required=False)


class EditIn(ReasonIn):
    """`changes` are the new values of fields that the step lets operators edit, each of them whole.

    `seen` are the values of some of them as you have read them. If one is different now, nothing is changed.
    """

    changes = serializers.DictField()
    seen = serializers.DictField(required=False)


class OrderChangesIn(ActIn):
    """`changes` are the new values of fields of the order, each of them whole. What the steps in `reverse` may have
    done would be reversed first."""

    changes = serializers.DictField(default=dict)
    reverse = StepNames(required=False)


class OrderEditIn(ReasonIn):
    """`changes` are the new values of fields of the order, each of them whole.

    `seen` are the values of some of them as you have read them. If one is different now, nothing is changed. `reverse`
    names failed steps of which it is unknown whether they were done: what they may have done is reversed first, and
    then they are done anew with the new values.
    """

    changes = serializers.DictField()
    seen = serializers.DictField(required=False)
    reverse = StepNames(required=False)


class SettlementIn(NeededReasonIn):
    """What has become of a step, and in `reason` how you know.

    `done` and `not_done` settle a step whose outcome is unknown, `compensated` one whose compensation failed. `result`
    is what the remote service has answered, or would have; only with `done`, and with the fields that the step's
    result must hold.
    """

    outcome = Choice([DONE, NOT_DONE, COMPENSATED])
    result = serializers.DictField(required=False)

    def validate(self, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        if "result" in attrs and attrs["outcome"] != DONE:
            raise ValidationError({"result": [f"Only a step that was {DONE} has a result."]})
        return attrs


class ErasureIn(NeededReasonIn):
    """`confirm` is the word `erase`."""

    confirm = Text(max_length=40, default="", source="typed")
