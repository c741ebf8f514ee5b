"""What the API sends of response queues and their messages."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from orders.api.representations import Out, open_steps, page_of
from orders.vocabulary import StatusKind


class StatusWord(serializers.CharField):
    """What a message says of its order. The document lists what the steps of today's workflows may say."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """What the OpenAPI document adds."""
        words = [*StatusKind, *sorted(declined_as for _, declined_as in open_steps())]
        return {"x-extensible-enum": list(dict.fromkeys(words))}


class MessageOut(Out):
    """A message on a response queue.

    `kind` is `received`, `started`, `declined`, `completed`, `failed` or `compensated`. A step may have a word of its
    own in place of `declined`, such as `payment_declined`. The body of that message has `step`, `code`, `message` and
    `waiting_until`; that of `failed` has `step` and `code` if a step failed; that of `compensated` has the `reason`.
    """

    id = serializers.IntegerField()
    order_id = serializers.UUIDField()
    kind = StatusWord()
    posted_at = serializers.DateTimeField()
    body = serializers.JSONField()


MessagePageOut = page_of(MessageOut, "A page of a response queue's messages, oldest first.")
