"""What the API sends to operators about what resubmitting an order would send."""

from rest_framework import serializers

from orders.api.representations import Out, StepName


class RehearsedMessageOut(Out):
    """A message as it would be sent: an HTTP request or, with the method `EMAIL`, an email. The values of the headers
    in `masked` are hidden. `body` is text, and of an email the whole of it."""

    method = serializers.CharField()
    url = serializers.CharField()
    headers = serializers.DictField(child=serializers.CharField(allow_blank=True))
    masked = serializers.ListField(child=serializers.CharField())
    body = serializers.SerializerMethodField()

    def get_body(self, message: object) -> str:
        """The body as text."""
        body: bytes = message.body  # type: ignore[attr-defined]
        return body.decode(errors="replace")


class SentBeforeOut(Out):
    """When a step was last sent in the same direction."""

    attempt = serializers.IntegerField()
    at = serializers.DateTimeField()
    key = serializers.CharField()


class RehearsedDifferenceOut(Out):
    """A part of a message that is not as it was; empty where it is missing."""

    name = serializers.CharField()
    before = serializers.CharField(allow_blank=True)
    after = serializers.CharField(allow_blank=True)


class RehearsedCallOut(Out):
    """A call that a resubmission would make, `at` that time at the earliest.

    If there is an `inquiry`, the service is asked that first, and nothing is sent if it has done this already. Without
    a `message`, `note` says why there is none to show. `differences` are from what was sent `last`.
    """

    step = StepName(source="request.step")
    agent = serializers.CharField()
    operation = serializers.CharField(source="request.operation")
    compensates = serializers.BooleanField(source="request.compensates")
    attempt = serializers.IntegerField(source="request.attempt")
    key = serializers.CharField(source="request.key")
    at = serializers.DateTimeField()
    complete_within = serializers.FloatField()
    inquiry = RehearsedMessageOut(allow_null=True)
    message = RehearsedMessageOut(allow_null=True)
    note = serializers.CharField(allow_blank=True)
    last = SentBeforeOut(allow_null=True)
    differences = RehearsedDifferenceOut(many=True)


class LaterStepOut(Out):
    """A step that would come later, after the others in `after`. The results of those in `needs`, which nobody knows
    yet, are part of what it sends."""

    step = StepName()
    agent = serializers.CharField(allow_blank=True)
    after = serializers.ListField(child=StepName())
    needs = serializers.ListField(child=StepName())


class RehearsalOut(Out):
    """What resubmitting an order would send next, and the steps that would come `later`. Without `calls`,
    `why_nothing` says why."""

    calls = RehearsedCallOut(many=True)
    later = LaterStepOut(many=True)
    why_nothing = serializers.CharField(allow_blank=True)
