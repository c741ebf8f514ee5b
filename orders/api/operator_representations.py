"""What the API sends to operators."""

from rest_framework import serializers

from orders.api import enumerations
from orders.api.representations import MoneyOut, Out, StepName, page_of
from orders.vocabulary import AlertKind, BulkItemState, BulkKind, BulkState


class AlertOut(Out):
    """An open alert. An outage alert is about an agent and has no order.

    Neither has an alert of the kind `release` or `stalled`: its `subject` is a role, or a version of a workflow.
    """

    id = serializers.IntegerField(source="alert.id")
    group = serializers.IntegerField(source="alert.group_id")
    order_id = serializers.UUIDField(source="alert.order_id", allow_null=True)
    kind = serializers.ChoiceField(choices=list(AlertKind), source="alert.kind")
    step = StepName(source="alert.step", allow_blank=True)
    step_id = serializers.IntegerField(allow_null=True)
    agent = serializers.CharField(source="alert.agent", allow_blank=True)
    subject = serializers.CharField(source="alert.subject", allow_blank=True)
    code = serializers.CharField(source="alert.code")
    message = serializers.CharField(source="alert.message")
    opened_at = serializers.DateTimeField(source="alert.opened_at")


AlertPageOut = page_of(AlertOut, "A page of alerts, newest first.")


class AlertGroupOut(Out):
    """Open alerts with one cause. `open` counts them. The oldest opened at `first_at`, the newest at `last_at`.

    `owner` is the account that has it. It is out of sight if `snoozed_until` is a time to come.
    """

    id = serializers.IntegerField(source="group.id")
    kind = serializers.ChoiceField(choices=list(AlertKind), source="group.kind")
    agent = serializers.CharField(source="group.agent", allow_blank=True)
    code = serializers.CharField(source="group.code")
    pattern = serializers.CharField(source="group.pattern")
    open = serializers.IntegerField()
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    acknowledged_by = serializers.CharField(allow_blank=True)
    owner = serializers.CharField(source="group.owner_name", allow_blank=True)
    ticket_url = serializers.CharField(source="group.ticket_url", allow_blank=True)
    snoozed_by = serializers.CharField(source="group.snoozed_by", allow_blank=True)
    snoozed_until = serializers.DateTimeField(source="group.snoozed_until", allow_null=True)


AlertGroupPageOut = page_of(AlertGroupOut, "A page of alert groups.")


class ResultOut(Out):
    """The outcome of an act. `result` is `done`, or `already` if nothing had to change. `message` explains it."""

    result = serializers.ChoiceField(choices=enumerations.ACT_RESULTS)
    message = serializers.CharField()


class CountsOut(Out):
    """How many orders of a bulk action are in each state."""

    waiting = serializers.IntegerField()
    acted = serializers.IntegerField(help_text="Under way.")
    done = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Failed again.")
    nothing = serializers.IntegerField(help_text="Nothing had to be done.")


class WaveOut(CountsOut):
    """A wave of a bulk action: how many orders it has, and how many of them are in each state."""

    size = serializers.IntegerField()


class BulkSumOut(Out):
    """What a bulk action's orders in a state are about in one currency: what goes back if they are cancelled (released
    if it `is_held` only, or else refunded), or what they were worth."""

    state = serializers.ChoiceField(choices=list(BulkItemState))
    amount = MoneyOut()
    is_held = serializers.BooleanField()


class BulkActionOut(Out):
    """An act on many orders, carried out in waves. The first wave starts at `starts_at`.

    It pauses itself if more than `stop_percent` of a wave fails again. `rate` is the most orders a second. It
    `can_be_undone` until it acts on the first order.
    """

    id = serializers.IntegerField(source="action.id")
    kind = serializers.ChoiceField(choices=list(BulkKind), source="action.kind")
    state = serializers.ChoiceField(choices=list(BulkState), source="action.state")
    selection = serializers.CharField(source="action.selection")
    by = serializers.CharField(source="action.by")
    total = serializers.IntegerField(source="action.total")
    waves = serializers.ListField(source="action.waves", child=serializers.IntegerField())
    wave = serializers.IntegerField(source="action.wave", help_text="The wave under way, counted from 0.")
    group = serializers.IntegerField(source="action.group_id", allow_null=True)
    reason = serializers.CharField(source="action.reason", allow_blank=True)
    rate = serializers.FloatField(source="action.rate")
    stop_percent = serializers.FloatField()
    can_be_undone = serializers.BooleanField()
    pause_reason = serializers.CharField(source="action.pause_reason", allow_blank=True)
    created_at = serializers.DateTimeField(source="action.created_at")
    starts_at = serializers.DateTimeField(source="action.starts_at")
    ended_at = serializers.DateTimeField(source="action.ended_at", allow_null=True)
    predecessor = serializers.IntegerField(
        source="action.predecessor",
        allow_null=True,
        help_text="The action whose orders that failed again these are.",
    )
    successor = serializers.IntegerField(
        source="action.successor",
        allow_null=True,
        help_text="The newest action on its orders that failed again.",
    )
    counts = CountsOut(source="*")
    sums = BulkSumOut(many=True, source="sums_by_state")
    by_wave = WaveOut(many=True, source="waves")


class ChoiceOut(Out):
    """What may be chosen. With `compensates` it has the whole order cancelled."""

    choice = serializers.CharField(source="name")
    compensates = serializers.BooleanField()


class DecisionOut(Out):
    """A step that waits for a person's decision until a time."""

    order_id = serializers.UUIDField()
    workflow = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    subject = serializers.CharField(allow_blank=True)
    step = StepName()
    since = serializers.DateTimeField(allow_null=True)
    until = serializers.DateTimeField()
    choices = ChoiceOut(many=True)


DecisionPageOut = page_of(DecisionOut, "A page of decisions, earliest deadline first.")
