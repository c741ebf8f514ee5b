"""What the API sends to operators of the times that causes were open, and of hand-overs."""

from collections.abc import Mapping, Sequence

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.api.operator_approval_representations import ApprovalOut
from orders.api.operator_pause_representations import PausesOut
from orders.api.operator_representations import AlertGroupOut, BulkActionOut
from orders.api.representations import MoneyOut, Out, page_of
from orders.selectors.desk.causes import OpenTime
from orders.selectors.desk.ended_pauses import PausedKind
from orders.vocabulary import AlertKind


class EndingOut(Out):
    """How the last alerts of so many orders of a cause were closed, and by whom; an outage's is of no order."""

    resolution = serializers.CharField(allow_blank=True)
    by = serializers.CharField(allow_blank=True)
    orders = serializers.IntegerField()


class OpenTimeOut(Out):
    """One time that a cause was open; `ended_at` is null while it is. It ends when nothing was open for ten minutes.

    An outage ends with its alert. Its `orders`, and those of an alert that orders will be late, are those that waited
    for its agent. `resolution` and `closed_by` are those of the alert that was closed last, and `endings` those of each
    order, the most frequent first. With `is_more`, `money` is not all.
    """

    group = serializers.IntegerField(source="group.id")
    kind = serializers.ChoiceField(choices=list(AlertKind), source="group.kind")
    agent = serializers.CharField(source="group.agent", allow_blank=True)
    code = serializers.CharField(source="group.code")
    pattern = serializers.CharField(source="group.pattern")
    began_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    alerts = serializers.IntegerField()
    orders = serializers.IntegerField()
    money = serializers.SerializerMethodField()
    is_more = serializers.BooleanField(source="more_money")
    resolution = serializers.CharField(allow_blank=True)
    closed_by = serializers.CharField(allow_blank=True)
    endings = EndingOut(many=True)

    @extend_schema_field(MoneyOut(many=True))
    def get_money(self, time: OpenTime) -> Sequence[Mapping[str, object]]:
        """The sum in each currency."""
        return [{"amount": total, "currency": currency} for currency, total in time.money.items()]


OpenTimePageOut = page_of(OpenTimeOut, "A page of times that causes were open, the last begun first.")


class CauseActOut(Out):
    """What somebody did about a cause, or to one of its orders. `outcome` says how a bulk action went."""

    at = serializers.DateTimeField()
    actor = serializers.CharField()
    act = serializers.CharField()
    target = serializers.CharField()
    result = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    outcome = serializers.CharField(allow_blank=True)


class GroupTimeOut(Out):
    """One time that a cause was open, and what people did about it, the earliest first."""

    time = OpenTimeOut()
    acts = CauseActOut(many=True)


class GroupTimesOut(Out):
    """The last times that one cause was open, in the last 30 days, the last begun first."""

    results = GroupTimeOut(many=True)


class FiguresOut(Out):
    """How many orders were placed, processed and cancelled, and how many failed so that they needed a person."""

    placed = serializers.IntegerField()
    processed = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()


class HeldAgentOut(Out):
    """An agent that a person has paused or limited, or whose circuit a person has forced until a time.

    A pause and a limit have no end.
    """

    name = serializers.CharField()
    state = serializers.CharField()
    by = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    until = serializers.DateTimeField(allow_null=True)


class EndedPauseOut(Out):
    """A pause that lasted from `at` to `ended_at`. `kind` is what was paused, and `name` which: a workflow and its step
    with a slash between them, an agent, or an order. `name` is empty for the intake, and `ended_by` if its time was
    over."""

    kind = serializers.ChoiceField(choices=list(PausedKind))
    name = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()
    by = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    ended_by = serializers.CharField(allow_blank=True)


class WaitingForPeopleOut(Out):
    """What waits for people: decisions, steps to settle, refunds and other reversals that failed, and approvals."""

    decisions = serializers.IntegerField()
    to_settle = serializers.IntegerField()
    to_settle_orders = serializers.ListField(child=serializers.UUIDField(), help_text="The first ten.")
    failed_refunds = serializers.IntegerField()
    failed_refund_orders = serializers.ListField(child=serializers.UUIDField(), help_text="The newest ten.")
    approvals = serializers.IntegerField()
    next_approvals = ApprovalOut(many=True, help_text="The newest ten.")


class HandoverNoteOut(Out):
    """What somebody who left a shift wrote for the next one. The shift began at `since`."""

    at = serializers.DateTimeField()
    by = serializers.CharField()
    since = serializers.DateTimeField()
    text = serializers.CharField()


class CauseNoteOut(Out):
    """A note that somebody left on an alert group."""

    group = serializers.IntegerField(source="group.id")
    at = serializers.DateTimeField()
    by = serializers.CharField()
    text = serializers.CharField()


class OrderNoteOut(Out):
    """A note that somebody left on an order."""

    order_id = serializers.UUIDField()
    at = serializers.DateTimeField()
    by = serializers.CharField()
    text = serializers.CharField()


class PriorityChangeOut(Out):
    """Somebody changed the priority of an order from `before` to `after`."""

    order_id = serializers.UUIDField()
    at = serializers.DateTimeField()
    by = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    before = serializers.IntegerField()
    after = serializers.IntegerField()


class HandoverOut(Out):
    """What a shift leaves the next one. `text` has all of it as plain text.

    `times` are all that touch the range, each once: those of `began` and `ended`, and those that began before and are
    open.
    """

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    figures = FiguresOut()
    open = AlertGroupOut(many=True)
    snoozed = AlertGroupOut(many=True)
    times = OpenTimeOut(many=True)
    began = OpenTimeOut(many=True)
    ended = OpenTimeOut(many=True)
    is_more = serializers.BooleanField(source="has_more_times")
    bulk_actions = BulkActionOut(many=True, help_text="Those under way.")
    ended_bulk_actions = BulkActionOut(many=True, help_text="Those that ended in the range.")
    priority_changes = PriorityChangeOut(many=True, help_text="The last twenty.")
    agents = HeldAgentOut(many=True)
    pauses = PausesOut()
    ended_pauses = EndedPauseOut(many=True, help_text="The last fifty that ended in the range.")
    waiting = WaitingForPeopleOut()
    notes = HandoverNoteOut(many=True)
    cause_notes = CauseNoteOut(many=True)
    order_notes = OrderNoteOut(many=True)
    text = serializers.CharField()
