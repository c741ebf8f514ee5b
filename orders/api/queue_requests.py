"""What clients send about the messages of their response queues."""

from rest_framework import serializers

from orders.api.fields import UUID_PATTERN, Strict, Token, Whole
from orders.api.paging import CURSOR_HELP, LARGEST_PAGE, LONGEST_WAIT, PageQuery
from orders.api.requests import QUEUE_NAME
from orders.fields.numbers import LARGEST_ID

MOST_LEASED, LEASED = LARGEST_PAGE, 10
LONGEST_LEASE, LEASE = 3_600, 60
"""In seconds."""


class QueueQuery(PageQuery):
    """Selects response queues."""

    cursor = Token(
        pattern=QUEUE_NAME, message="This is not the name of a queue.", default="", help_text=CURSOR_HELP
    )


class LeaseToken(Token):
    """The token of a lease, as it was sent to the client."""

    def __init__(self, **options: object) -> None:
        super().__init__(
            pattern=UUID_PATTERN,
            message="This must be the `lease` of a lease, as you received it.",
            max_length=36,
            **options,
        )


class LeaseIn(Strict):
    """How many messages to lease and for how many seconds, and how many seconds to wait for the first of them."""

    may_be_left_out = True

    max_messages = Whole(min_value=1, max_value=MOST_LEASED, default=LEASED)
    lease_seconds = Whole(min_value=1, max_value=LONGEST_LEASE, default=LEASE)
    wait = Whole(min_value=0, max_value=LONGEST_WAIT, default=0)


class MessageIdsIn(Strict):
    """Messages, by their IDs."""

    ids = serializers.ListField(
        child=Whole(min_value=0, max_value=LARGEST_ID), min_length=1, max_length=MOST_LEASED
    )


class AcknowledgementIn(MessageIdsIn):
    """The messages that you have processed, by their IDs, and the lease under which you had them, if any."""

    lease = LeaseToken(default=None)


class ReleaseIn(MessageIdsIn):
    """The messages that you do not process, by their IDs, and the lease under which you have them."""

    lease = LeaseToken()
