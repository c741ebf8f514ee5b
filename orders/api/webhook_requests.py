"""What clients send about their webhooks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from orders.api.fields import Choice, NumberCursor, Strict, Token, Word
from orders.api.paging import CURSOR_HELP, PageQuery
from orders.vocabulary import EventKind

LONGEST_URL = 500
"""Characters of a url."""
UNDELIVERED, DELIVERED = "undelivered", "delivered"
KINDS_HELP = "Which changes you want, as `kind` of a change has them. Without any, all."


class Kinds(serializers.ListField):
    """Kinds of changes; none means all."""

    child = Word(list(EventKind))

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=len(EventKind), help_text=KINDS_HELP, **options)


class UrlText(Token):
    """A url that is to be called. Whether it may be is for the service to say."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern=r"[Hh][Tt][Tt][Pp][Ss]?://[!-~]+",
            message="This must be a url that starts with https:// and names a host, in ASCII and without spaces.",
            max_length=LONGEST_URL,
            help_text="Begins with https://, and its host is public.",
            **options,
        )


class Time(Token):
    """A time with its offset, in a body."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern=r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})",
            message="This must be an ISO 8601 time with a UTC offset.",
            **options,
        )
        self.schema = {**self.schema, "maxLength": 32}  # as long as the pattern allows

    def to_internal_value(self, data: Any) -> datetime:  # type: ignore[override]
        text = super().to_internal_value(data)
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise serializers.ValidationError(self.error_messages["pattern"]) from error


class NewWebhookIn(Strict):
    """A url to which changes of your orders are posted."""

    url = UrlText()
    kinds = Kinds(default=list)


class WebhookChangesIn(Strict):
    """What is to be changed of a webhook. What is not sent stays as it is."""

    may_be_left_out = True

    url = UrlText(required=False)
    kinds = Kinds(required=False)


class RedeliveryIn(Strict):
    """Since when messages are to be sent again."""

    since = Time(help_text="Messages that were made since this time, an ISO 8601 time with its UTC offset.")


class DeliveryQuery(PageQuery):
    """Selects deliveries."""

    state = Choice(
        [UNDELIVERED, DELIVERED],
        default=None,
        help_text="Only messages that the receiver has not taken, or only those that it has.",
    )
    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)


def values_of(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The values in a body, with kinds as the vocabulary has them."""
    values = dict(changes)
    if "kinds" in values:
        values["kinds"] = [EventKind(kind) for kind in values["kinds"]]
    return values
