"""What the API sends of response queues and their messages."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from orders.api import enumerations
from orders.api.representations import MoneyOut, Out, StepName, open_steps, page_of
from orders.vocabulary import StatusKind


class StatusWord(serializers.CharField):
    """What a message says of its order. The document lists what the steps of today's workflows may say."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """What the OpenAPI document adds."""
        words = [*StatusKind, *sorted(declined_as for _, declined_as in open_steps())]
        return {"x-extensible-enum": list(dict.fromkeys(words))}


class MessageBodyOut(Out):
    """What a message says beside its kind. A member is left out where it has no meaning, or is not known.

    Each message has the order's `workflow` and its `total`. `declined` has `step`, `code`, `message` and
    `waiting_until`, until when the customer may change something. `failed` has `reason`, `code` and `message`, and the
    `step` if one failed. `completed` and `compensated` have `charged`, what has been taken, and `compensated` also
    `refunded`, what has been given back, and the `reason`.
    """

    sparse = (
        *("workflow", "total", "charged", "refunded", "reason", "step", "code", "message"),
        "waiting_until",
    )

    workflow = serializers.CharField(required=False)
    total = MoneyOut(required=False)
    charged = MoneyOut(required=False)
    refunded = MoneyOut(required=False)
    reason = serializers.ChoiceField(choices=enumerations.MESSAGE_REASONS, required=False)
    step = StepName(required=False)
    code = serializers.CharField(required=False)
    message = serializers.CharField(required=False)
    waiting_until = serializers.DateTimeField(required=False)


class MessageOut(Out):
    """A message on a response queue.

    `kind` is `received`, `started`, `declined`, `completed`, `failed` or `compensated`. A step may have a word of its
    own in place of `declined`, such as `payment_declined`.

    `sequence` is the sequence number of the message among those about its order: 1, 2, 3 and so on, as things happened.
    It stays the same when the message is delivered again. It is 0 if the message was posted before there were numbers.
    `deliveries` is how often the message has been leased.
    """

    id = serializers.IntegerField()
    order_id = serializers.UUIDField()
    sequence = serializers.IntegerField()
    kind = StatusWord()
    posted_at = serializers.DateTimeField()
    deliveries = serializers.IntegerField()
    body = MessageBodyOut()


MessagePageOut = page_of(MessageOut, "A page of a response queue's messages, oldest first.")


class LeaseOut(Out):
    """Messages that are yours until `leased_until`, oldest first. `lease` is the token with which you acknowledge them
    or give them back. Both are null if there are no messages."""

    lease = serializers.CharField(allow_null=True)
    leased_until = serializers.DateTimeField(allow_null=True)
    messages = MessageOut(many=True)


class MessageResultOut(Out):
    """What became of a message. `result` is `done`, or `already` if there is no such message, or not any more, or
    `refused` if another consumer has leased it, or if it is on another of your queues. `message` explains it."""

    id = serializers.IntegerField()
    result = serializers.ChoiceField(choices=enumerations.MESSAGE_RESULTS)
    message = serializers.CharField()


class MessageResultsOut(Out):
    """What became of each message, in the order of the request."""

    results = MessageResultOut(many=True)


class QueueOut(Out):
    """A response queue. `messages` are there, of which `leased` are leased at present, both counted up to 10,000. The
    oldest message was posted at `oldest_posted_at`, `oldest_age` seconds ago."""

    name = serializers.CharField()
    messages = serializers.IntegerField()
    leased = serializers.IntegerField()
    oldest_posted_at = serializers.DateTimeField()
    oldest_age = serializers.IntegerField()


QueuePageOut = page_of(QueueOut, "A page of response queues, by name.")
