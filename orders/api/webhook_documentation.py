"""What the OpenAPI document says about the calls that we make: clients' webhooks, and that of the alerts."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, OpenApiWebhook, extend_schema
from rest_framework import serializers

from orders.api.feed_views import ChangeOut
from orders.api.representations import Out
from orders.vocabulary import AlertKind, ApprovalAct, EventKind, MessageKind


class AlertNoticeOut(Out):
    """A group of alerts of which some are new. `text` says everything in one line, as chat programs show it.

    `count` of its alerts are new, and `open` are open in all. `waiting` steps wait for the agent of an outage. `orders`
    has the IDs of the latest orders that it is about, and `url` is its page in the console.
    """

    text = serializers.CharField()
    kind = serializers.ChoiceField(choices=list(AlertKind))
    agent = serializers.CharField(allow_blank=True)
    step = serializers.CharField(allow_blank=True)
    code = serializers.CharField()
    count = serializers.IntegerField(min_value=0)
    open = serializers.IntegerField(min_value=0)
    waiting = serializers.IntegerField(min_value=0)
    orders = serializers.ListField(child=serializers.UUIDField())
    url = serializers.URLField()


class ApprovalNoticeOut(Out):
    """Somebody asks an admin to approve an act. `text` says everything in one line, as chat programs show it.

    `request` is the number of the request, and `url` where the console shows it and an admin answers it.
    """

    text = serializers.CharField()
    kind = serializers.ChoiceField(choices=[MessageKind.APPROVAL])
    request = serializers.IntegerField(min_value=1)
    act = serializers.ChoiceField(choices=list(ApprovalAct))
    summary = serializers.CharField()
    target = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    asked_by = serializers.CharField()
    expires_at = serializers.DateTimeField()
    url = serializers.URLField()


class OrderMessageOut(Out):
    """Something that happened to an order. `type` is `order.` and the kind of the change, `timestamp` when it happened,
    and `data` the change as the feed has it."""

    type = serializers.ChoiceField(choices=[f"order.{kind}" for kind in EventKind])
    timestamp = serializers.DateTimeField()
    data = ChangeOut()  # type: ignore[assignment]  # a field, which Serializer.data is not


ORDER = OpenApiWebhook(
    name="order",
    decorator=extend_schema(
        operation_id="receive_change",
        summary="Receive what happens to your orders",
        description=(
            "Posted to each of your webhooks, signed after Standard Webhooks. It comes at least once: every attempt "
            "has the same `webhook-id`, and another follows unless you answer with a 2xx. The next message of the same "
            "order comes after that. Take types that you do not know, too: others may be added."
        ),
        tags=["webhooks"],
        request=OrderMessageOut,
        responses={"2XX": OpenApiResponse(description="You have received the message.")},
    ),
)
ALERT = OpenApiWebhook(
    name="alert",
    decorator=extend_schema(
        operation_id="notice_alert",
        summary="Receive new alerts",
        description=(
            "Posted to the url in `ALERT_WEBHOOK_URL` when alerts open, signed after Standard Webhooks. It comes at "
            "least once: every attempt has the same `webhook-id`, and another follows unless the answer is a success. "
            "Redirects are not followed."
        ),
        tags=["webhooks"],
        request=AlertNoticeOut,
        responses={"2XX": OpenApiResponse(description="You have received the notice.")},
    ),
)
APPROVAL = OpenApiWebhook(
    name="approval",
    decorator=extend_schema(
        operation_id="notice_approval",
        summary="Receive new requests for approval",
        description=(
            "Posted to the url in `ALERT_WEBHOOK_URL` once for each request for approval, like an alert. An alert has "
            "another `kind`."
        ),
        tags=["webhooks"],
        request=ApprovalNoticeOut,
        responses={"2XX": OpenApiResponse(description="You have received the notice.")},
    ),
)


def _header(name: str, description: str, *, is_sure: bool = True) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": is_sure,
        "description": description,
        "schema": {"type": "string", "minLength": 1},
    }


SIGNED = [
    _header("webhook-id", "The same for every attempt to deliver this message."),
    _header("webhook-timestamp", "When this attempt was made, in seconds since 1970."),
]
SIGNATURE = (
    "What a library of Standard Webhooks checks: `v1,` and the HMAC-SHA256 in base64 of `webhook-id`, "
    "`webhook-timestamp` and the body with dots between them. While two secrets are valid there are two, with a space."
)
OF_OPERATORS = [
    *SIGNED,
    _header("webhook-signature", f"{SIGNATURE} Left out without `ALERT_WEBHOOK_SECRET`.", is_sure=False),
    _header("Idempotency-Key", "The same as `webhook-id`."),
]
HEADERS = {
    "receive_change": [*SIGNED, _header("webhook-signature", SIGNATURE)],
    "notice_alert": OF_OPERATORS,
    "notice_approval": OF_OPERATORS,
}
"""The headers of each webhook, by its operation."""


def add_headers(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Adds the headers of each webhook, which drf-spectacular has no place for."""
    for operations in result.get("webhooks", {}).values():
        for operation in operations.values():
            operation["parameters"] = HEADERS[operation["operationId"]]
    return result
