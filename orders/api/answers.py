"""What remote services send when they answer a call later."""

from rest_framework import serializers

from orders.api.fields import Strict, Text


class ErrorIn(Strict):
    """Why the remote service refuses."""

    code = Text(max_length=60)
    message = serializers.CharField(max_length=2_000, allow_blank=True, default="")


class AnswerIn(Strict):
    """Either a result, which is any JSON object, or an error."""

    result = serializers.DictField(required=False)
    error = ErrorIn(required=False)
