"""What the API sends to operators of orders: rows of a list, and all about one."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.api import enumerations
from orders.api.operator_alert_representations import NoteOut
from orders.api.operator_representations import ChoiceOut
from orders.api.own_words import SentMetadata
from orders.api.representations import (
    LinkOut,
    MoneyOut,
    Out,
    SpokenNumber,
    StepName,
    order_link,
    page_of,
)
from orders.fields.money import Money
from orders.selectors.desk.order_rows import OrderRow
from orders.vocabulary import AlertKind, BulkKind, Goal, ProcessState


class StandingWord(serializers.ChoiceField):
    """Where an order or a step stands, as one word."""

    def __init__(self, **options: Any) -> None:
        super().__init__(enumerations.STANDINGS, **options)

    def to_representation(self, value: Any) -> str:
        return str(value).replace(" ", "_")


class StandingOut(Out):
    """Where an order or a step stands. `on` is its agent. It has stood there `since`, and the wait ends at `until`, or
    the time is up. `failures` of at most `limit` have been counted. With `compensating` it is being compensated."""

    kind = StandingWord()
    on = serializers.CharField(allow_blank=True)
    since = serializers.DateTimeField(allow_null=True)
    until = serializers.DateTimeField(allow_null=True)
    attempt = serializers.IntegerField()
    failures = serializers.IntegerField()
    limit = serializers.IntegerField()
    compensating = serializers.BooleanField()


class CurrentStepOut(Out):
    """A step that an order is at."""

    name = StepName()
    agent = serializers.CharField(allow_blank=True)
    attempt = serializers.IntegerField()
    failures = serializers.IntegerField()
    standing = StandingOut()


class PendingActOut(Out):
    """What an operator last requested for an order in a bulk action. It begins at `until`, while it can be undone."""

    bulk_action = serializers.IntegerField(source="action")
    kind = serializers.ChoiceField(choices=list(BulkKind))
    by = serializers.CharField()
    state = serializers.ChoiceField(choices=enumerations.PENDING_ACT_STATES)
    result = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True)


class ListedOrderLinksOut(LinkOut):
    """The URLs of the order: as its customer sees it, and with what only operators see."""

    details = serializers.CharField()


class ListedOrderOut(Out):
    """An order in a list for operators. `code` and `group` are of its open alert, `seconds` is its age or, once it has
    ended, how long it took. `steps` are those that it is at, `act` is what an operator last requested in bulk."""

    id = serializers.UUIDField(source="order_id")
    number = SpokenNumber(source="order_id")
    workflow = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    subject = serializers.CharField(allow_blank=True)
    email = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=list(ProcessState), source="order.state")
    standing = StandingOut(source="order.standing")
    steps = CurrentStepOut(source="order.steps", many=True)
    failure_count = serializers.IntegerField(source="order.failure_count")
    priority = serializers.IntegerField(source="order.priority")
    locked_by = serializers.CharField(source="order.locked_by", allow_null=True)
    created_at = serializers.DateTimeField(source="order.created_at")
    seconds = serializers.FloatField(source="order.seconds")
    total = serializers.SerializerMethodField()
    code = serializers.CharField(source="order.code", allow_blank=True)
    group = serializers.IntegerField(allow_null=True)
    act = PendingActOut(allow_null=True)
    is_archived = serializers.BooleanField()
    links = serializers.SerializerMethodField()

    @extend_schema_field(MoneyOut(allow_null=True))
    def get_total(self, row: OrderRow) -> Mapping[str, Any] | None:
        """The order's value."""
        return money(row.total, row.currency)

    @extend_schema_field(ListedOrderLinksOut)
    def get_links(self, row: OrderRow) -> Mapping[str, str]:
        """Where more is to be read of the order."""
        return {
            "self": order_link("order", row.order_id),
            "details": order_link("order-details", row.order_id),
        }


def money(total: int | None, currency: str | None) -> Mapping[str, Any] | None:
    """An amount; None if there is none."""
    return None if total is None else MoneyOut.render(Money(amount=total, currency=currency or ""))


ListedOrderPageOut = page_of(
    ListedOrderOut, "A page of orders, newest first. It may have fewer than you asked for."
)


class SetAsideOut(Out):
    """A submission that was set aside for a `reason`. `body` is what was posted, which may be anything."""

    number = serializers.IntegerField()
    order_id = serializers.UUIDField()
    client = serializers.CharField(allow_blank=True)
    reason = serializers.CharField()
    posted_at = serializers.DateTimeField()
    set_aside_at = serializers.DateTimeField()
    body = serializers.JSONField()


SetAsidePageOut = page_of(SetAsideOut, "A page of submissions that were set aside, oldest first.")


class EditablePartOut(Out):
    """A part of a field, which is edited together with the others."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field, not the attribute
    type = serializers.ChoiceField(choices=enumerations.EDITABLE_FIELD_TYPES)


class EditableFieldOut(EditablePartOut):
    """A field of a step's request that may be edited. One with `parts` is an object of them."""

    parts = EditablePartOut(many=True)


class ResultFieldOut(Out):
    """A field that a step's result must hold."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field, not the attribute
    type = serializers.ChoiceField(choices=enumerations.RESULT_FIELD_TYPES)


class InquiryOut(Out):
    """What its remote service said when it was last asked, in the present attempt, what has become of a step."""

    at = serializers.DateTimeField()
    detail = serializers.DictField()


class StepDetailsOut(Out):
    """A step of an order. `id` is the one in `/steps/{step_id}/…`.

    `request` is what its agent is sent, `original` the same before it was edited, and `answer` what the agent has
    answered in the present attempt if that lacks what the result must hold. What one that `is_reversed_first` may have
    done is reversed, since its order was edited, and then it is done anew under the next `generation`. `acts` are the
    operations that may be called for it now, `editable` the fields that `edit_step` takes, `result_fields` what the
    `result` of `settle_step` must hold, and `choices` what may be chosen with `decide`.
    """

    id = serializers.IntegerField()
    name = StepName(source="facts.name")
    agent = serializers.CharField(source="facts.agent", allow_blank=True)
    state = serializers.ChoiceField(choices=enumerations.STEP_STATES, source="facts.state")
    outcome = serializers.ChoiceField(choices=enumerations.OUTCOMES, source="facts.outcome")
    standing = StandingOut(allow_null=True)
    attempt = serializers.IntegerField(source="facts.attempt")
    generation = serializers.IntegerField(source="facts.generation")
    key = serializers.CharField(source="facts.key")
    failure_count = serializers.IntegerField(source="facts.failure_count")
    compensation_failure_count = serializers.IntegerField(source="facts.compensation_failure_count")
    complete_by = serializers.DateTimeField(source="facts.complete_by", allow_null=True)
    not_before = serializers.DateTimeField(source="facts.not_before", allow_null=True)
    started_at = serializers.DateTimeField(source="facts.started_at", allow_null=True)
    completed_at = serializers.DateTimeField(source="facts.completed_at", allow_null=True)
    error = serializers.JSONField(source="facts.error")
    is_reversed_first = serializers.BooleanField(source="facts.is_reversed_first")
    request = serializers.JSONField()
    original = serializers.JSONField()
    result = serializers.JSONField()
    answer = serializers.JSONField()
    inquiry = InquiryOut(allow_null=True)
    acts = serializers.ListField(child=serializers.CharField())
    editable = EditableFieldOut(many=True)
    result_fields = ResultFieldOut(many=True)
    choices = ChoiceOut(many=True)


class OrderAlertOut(Out):
    """The open alert of an order."""

    group = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=list(AlertKind))
    step = StepName(allow_blank=True)
    agent = serializers.CharField(allow_blank=True)
    code = serializers.CharField()
    message = serializers.CharField()
    opened_at = serializers.DateTimeField()


class QueuedSubmissionOut(Out):
    """A submission on its queue; `ahead` counts those before it."""

    client = serializers.CharField(allow_blank=True)
    goal = serializers.ChoiceField(choices=list(Goal))
    posted_at = serializers.DateTimeField()
    ahead = serializers.IntegerField()


class OrderProcessOut(Out):
    """An order that is inserted. At `due_at` a scheduler turns to it again; if that is null, it may at any time."""

    workflow = serializers.CharField()
    version = serializers.IntegerField()
    state = serializers.ChoiceField(choices=list(ProcessState))
    goal = serializers.ChoiceField(choices=list(Goal))
    standing = StandingOut()
    priority = serializers.IntegerField()
    reply_to = serializers.CharField(allow_blank=True)
    locked_by = serializers.CharField(allow_null=True)
    complete_by = serializers.DateTimeField(allow_null=True)
    due_at = serializers.DateTimeField(allow_null=True)
    failure_count = serializers.IntegerField()
    overruns = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    title = serializers.CharField(source="profile.title", allow_blank=True)
    subject = serializers.CharField(source="profile.subject", allow_blank=True)
    reference = serializers.CharField(source="profile.reference", allow_blank=True)
    metadata = SentMetadata(source="profile.metadata")
    email = serializers.CharField(allow_null=True, allow_blank=True)
    customer = serializers.CharField(allow_null=True)
    total = serializers.SerializerMethodField()

    @extend_schema_field(MoneyOut(allow_null=True))
    def get_total(self, order: Any) -> Mapping[str, Any] | None:
        """The order's value."""
        return money(order.total, order.currency)


class OrderDetailsOut(Out):
    """All about an order that only operators see. `process` and `steps` are there once it is inserted, `queued` or
    `set_aside` before that. `acts` are the operations that may be called for it now, and `notes` the operators', the
    newest first."""

    id = serializers.UUIDField()
    number = SpokenNumber(source="id")
    process = OrderProcessOut(allow_null=True)
    steps = StepDetailsOut(many=True)
    alert = OrderAlertOut(allow_null=True)
    act = PendingActOut(allow_null=True)
    queued = QueuedSubmissionOut(allow_null=True)
    set_aside = SetAsideOut(allow_null=True)
    is_archived = serializers.BooleanField()
    acts = serializers.ListField(child=serializers.CharField())
    notes = NoteOut(many=True)
