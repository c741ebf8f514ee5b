"""What the API sends to operators about approvals."""

from rest_framework import serializers

from orders.api import enumerations
from orders.api.representations import Out, page_of


class ApprovalOut(Out):
    """A request for approval of an act, which `summary` says in words, and which is about `target`.

    It is `waiting` until `expires_at`. If it is approved then, the act is done at once, and `result` says what came of
    it; `lapsed` is one whose act was no longer possible by then. `order_id` is null where it is about no one order.
    `response` is what a step that is settled is to have as its result.
    """

    id = serializers.IntegerField()
    act = serializers.ChoiceField(choices=enumerations.APPROVAL_ACTS)
    target = serializers.CharField()
    order_id = serializers.UUIDField(allow_null=True)
    summary = serializers.CharField()
    response = serializers.DictField()
    reason = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=enumerations.APPROVAL_STATES)
    asked_by = serializers.CharField()
    asked_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decided_by = serializers.CharField(allow_blank=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField(allow_blank=True)
    result = serializers.CharField(allow_blank=True)


ApprovalPageOut = page_of(ApprovalOut, "A page of requests for approval, newest first.")
