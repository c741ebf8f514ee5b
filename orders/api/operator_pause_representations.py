"""What the API sends to operators about what is paused."""

from rest_framework import serializers

from orders.api.representations import Out


class PauseOut(Out):
    """Who has paused something, since when, why, and until when if it ends by itself."""

    at = serializers.DateTimeField()
    by = serializers.CharField()
    reason = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True)


class PausedOrderOut(PauseOut):
    """An order that somebody has paused. `by` and `reason` are empty if the audit log does not have them."""

    order_id = serializers.UUIDField()
    by = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)


class PausedStepOut(PauseOut):
    """A step that is paused in all orders of its workflow. `orders` wait because of that, counted up to 10,001."""

    workflow = serializers.CharField()
    step = serializers.CharField()
    orders = serializers.IntegerField()


class PausesOut(Out):
    """What is paused. `intake` is left out while new orders are accepted. `paused_orders` are those that were paused by
    themselves, counted up to 10,001, and `first_orders` the first ten of them."""

    sparse = ("intake",)

    intake = PauseOut(required=False)
    steps = PausedStepOut(many=True)
    paused_orders = serializers.IntegerField(source="orders")
    first_orders = PausedOrderOut(many=True)
