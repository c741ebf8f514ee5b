"""What operators are sent by the API."""

from typing import Any

from rest_framework import serializers

from orders.api.fields import Strict, Text, Whole
from orders.api.representations import Out


class AlertOut(Out):
    """An open alert. The alert of an outage is about an agent and no order."""

    id = serializers.IntegerField(source="alert.id")
    group = serializers.IntegerField(source="alert.group_id")
    order_id = serializers.UUIDField(source="alert.order_id", allow_null=True)
    kind = serializers.CharField(source="alert.kind")
    step = serializers.CharField(source="alert.step", allow_blank=True)
    step_id = serializers.IntegerField(allow_null=True)
    agent = serializers.CharField(source="alert.agent", allow_blank=True)
    code = serializers.CharField(source="alert.code")
    message = serializers.CharField(source="alert.message")
    opened_at = serializers.DateTimeField(source="alert.opened_at")


class AlertPageOut(Out):
    """A page of alerts, newest first."""

    results = AlertOut(many=True)
    next = serializers.CharField(allow_null=True)


class AlertGroupOut(Out):
    """Open alerts with one cause: how many are open, and when the oldest and the newest of them were opened."""

    id = serializers.IntegerField(source="group.id")
    kind = serializers.CharField(source="group.kind")
    agent = serializers.CharField(source="group.agent", allow_blank=True)
    code = serializers.CharField(source="group.code")
    pattern = serializers.CharField(source="group.pattern")
    open = serializers.IntegerField()
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    acknowledged_by = serializers.CharField(allow_blank=True)


class AlertGroupPageOut(Out):
    """A page of groups."""

    results = AlertGroupOut(many=True)
    next = serializers.CharField(allow_null=True)


class ResultOut(Out):
    """What came of an act: `result` is `done`, or `already` when nothing had to be changed; `said` says it in words."""

    result = serializers.CharField()
    said = serializers.CharField()


class CountsOut(Out):
    """How many orders of a bulk action are in each state."""

    waiting = serializers.IntegerField()
    acted = serializers.IntegerField(help_text="under way")
    done = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="failed again")
    nothing = serializers.IntegerField(help_text="there was nothing to do")


class BulkActionOut(Out):
    """An act on many orders, in waves. It begins at `starts_at`."""

    id = serializers.IntegerField(source="action.id")
    kind = serializers.CharField(source="action.kind")
    state = serializers.CharField(source="action.state")
    what = serializers.CharField(source="action.what")
    by = serializers.CharField(source="action.by")
    total = serializers.IntegerField(source="action.total")
    waves = serializers.ListField(source="action.waves", child=serializers.IntegerField())
    wave = serializers.IntegerField(source="action.wave", help_text="the wave that is under way, from 0")
    why_paused = serializers.CharField(source="action.why_paused", allow_blank=True)
    created_at = serializers.DateTimeField(source="action.created_at")
    starts_at = serializers.DateTimeField(source="action.starts_at")
    ended_at = serializers.DateTimeField(source="action.ended_at", allow_null=True)
    counts = CountsOut(source="*")


class ReasonIn(Strict):
    """Why, for the audit log."""

    reason = Text(max_length=200, default="")


class NeededReasonIn(Strict):
    """Why, for the audit log: this is not done without."""

    reason = Text(max_length=200)


class CompensationIn(NeededReasonIn):
    """`confirm` is the word `cancel`, or the amount when money goes back to the customer, as `39.00`."""

    confirm = Text(max_length=40, default="")


class GroupResubmissionIn(ReasonIn):
    """`count` confirms how many orders it is about; more than 50 are not resubmitted without."""

    count = Whole(min_value=1, max_value=1_000_000, required=False)


def read(kind: type[Strict], data: Any) -> dict[str, Any]:
    """The values of a request's body; an empty one is an object without members. Raises `ValidationError`."""
    body = kind(data=data or {})
    body.is_valid(raise_exception=True)
    values: dict[str, Any] = body.validated_data
    return values
