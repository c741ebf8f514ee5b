"""What the API sends to operators of alert groups."""

from collections.abc import Mapping, Sequence

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.api.representations import MoneyOut, Out, StepName, page_of
from orders.business import Advice
from orders.selectors.desk.at_risk import ValueAtRisk
from orders.vocabulary import AlertKind, BulkKind, BulkState, MessageChannel, MessageState


class NoteOut(Out):
    """A note of an operator."""

    at = serializers.DateTimeField()
    by = serializers.CharField()
    text = serializers.CharField()


class GroupActionOut(Out):
    """A bulk action on the orders of a group. `GET /api/v1/bulk-actions/{action_id}` has the rest of it."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=list(BulkKind))
    state = serializers.ChoiceField(choices=list(BulkState))
    by = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    total = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class NotificationOut(Out):
    """A message about a group to people. `error` is that of the last attempt to send it."""

    channel = serializers.ChoiceField(choices=list(MessageChannel))
    recipient = serializers.CharField()
    state = serializers.ChoiceField(choices=list(MessageState))
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField(allow_blank=True)


class AtRiskOut(Out):
    """The customers and the money of the open alerts of a group. With `is_more` these are not all."""

    customers = serializers.IntegerField()
    money = serializers.SerializerMethodField()
    is_more = serializers.BooleanField(source="more")

    @extend_schema_field(MoneyOut(many=True))
    def get_money(self, at_risk: ValueAtRisk) -> Sequence[Mapping[str, object]]:
        """The sum in each currency."""
        return [{"amount": total, "currency": currency} for currency, total in at_risk.money.items()]


class OpenAlertsOut(Out):
    """The open alerts of a group. The oldest opened at `first_at`, the newest at `last_at` with this `message`.

    `last_hour` and `hour_before` count all that were opened then. `waiting` counts the steps that wait for an outage to
    end.
    """

    count = serializers.IntegerField(source="open")
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    last_hour = serializers.IntegerField()
    hour_before = serializers.IntegerField()
    message = serializers.CharField()
    step = StepName(allow_blank=True)
    waiting = serializers.IntegerField()
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    acknowledged_by = serializers.CharField(allow_blank=True)
    at_risk = AtRiskOut()


class SnoozeOut(Out):
    """Who snoozed a group when. It comes back at `until` or, if `most` is not null, when so many alerts are open."""

    by = serializers.CharField()
    at = serializers.DateTimeField()
    until = serializers.DateTimeField()
    most = serializers.IntegerField(allow_null=True)


class RunbookOut(Out):
    """What a code means, what the system does by itself, and what to do, in English. `advises` is the act on its orders
    that comes first; unless that is `resubmit`, resubmitting alone does not help."""

    means = serializers.CharField()
    does = serializers.CharField()
    todo = serializers.CharField()
    advises = serializers.ChoiceField(choices=list(Advice))


class OwnRunbookOut(Out):
    """What this installation itself says about a code."""

    text = serializers.CharField()
    by = serializers.CharField()
    at = serializers.DateTimeField()


class AlertGroupDetailsOut(Out):
    """Alerts with one cause, and what people did about it. `alerts` is null if none of them is open.

    `snooze` is null unless it is snoozed; `woken_why` says why it last came back by itself. `runbook` is about its
    `code`, and null for a code that only the remote service knows; `own_runbook` is what this installation adds.
    """

    id = serializers.IntegerField(source="group.id")
    kind = serializers.ChoiceField(choices=list(AlertKind), source="group.kind")
    agent = serializers.CharField(source="group.agent", allow_blank=True)
    code = serializers.CharField(source="group.code")
    pattern = serializers.CharField(source="group.pattern")
    alerts = OpenAlertsOut(source="summary", allow_null=True)
    owner = serializers.CharField(source="group.owner_name", allow_blank=True)
    owned_at = serializers.DateTimeField(source="group.owned_at", allow_null=True)
    ticket_url = serializers.CharField(source="group.ticket_url", allow_blank=True)
    snooze = SnoozeOut(allow_null=True)
    woken_at = serializers.DateTimeField(source="group.woken_at", allow_null=True)
    woken_why = serializers.CharField(source="group.woken_why", allow_blank=True)
    runbook = RunbookOut(allow_null=True)
    own_runbook = OwnRunbookOut(allow_null=True)
    notes = NoteOut(source="history.notes", many=True)
    bulk_actions = GroupActionOut(source="history.actions", many=True)
    notifications = NotificationOut(source="history.messages", many=True)


class ClosedAlertOut(Out):
    """A closed alert. `resolution` says how it was resolved."""

    id = serializers.IntegerField()
    order_id = serializers.UUIDField(allow_null=True)
    step = StepName(allow_blank=True)
    subject = serializers.CharField(allow_blank=True)
    message = serializers.CharField()
    opened_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField()
    closed_by = serializers.CharField(allow_blank=True)
    resolution = serializers.CharField(allow_blank=True)


ClosedAlertPageOut = page_of(ClosedAlertOut, "A page of closed alerts, the last closed first.")
