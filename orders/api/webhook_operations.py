"""What the OpenAPI document says about the operations on clients' webhooks."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from orders.api import webhook_representations as representations
from orders.api.problems import OPERATION_PROBLEMS
from orders.api.webhook_requests import DeliveryQuery, NewWebhookIn, RedeliveryIn, WebhookChangesIn
from orders.services.webhooks import MOST, TEST_TIMEOUT

TAG = "webhook settings"


def _operation(
    operation: str, summary: str, responses: Any, *problems: str, description: str = "", **more: Any
) -> dict[str, Any]:
    return {
        "operation_id": operation,
        "summary": summary,
        "description": description,
        "tags": [TAG],
        "responses": responses,
        "extensions": {OPERATION_PROBLEMS: [*problems]},
        **more,
    }


LIST_WEBHOOKS = _operation("list_webhooks", "List your webhooks", representations.WebhookListOut)
CREATE_WEBHOOK = _operation(
    "create_webhook",
    "Create a webhook",
    {201: OpenApiResponse(representations.NewWebhookOut, description="The webhook has been created.")},
    "too_many_webhooks",
    description=(
        "Everything that happens to your orders from now on is posted to the url, as `order` under the webhooks of "
        "this document says, signed after Standard Webhooks. Each message comes at least once, and those of one order "
        "in order. Answer with a 2xx within 15 seconds, and process it afterwards. Anything else is no success, also "
        "a redirect: the message is sent again after growing pauses, for three days. Then the webhook is disabled, "
        "and its owner is told by email. A 410 disables it at once. Store the `secret`, which cannot be read again. "
        f"A client has at most {MOST} webhooks."
    ),
    request=NewWebhookIn,
    parameters=[
        OpenApiParameter(
            "Location",
            {"type": "string", "format": "uri-reference"},
            OpenApiParameter.HEADER,
            description="The URL of the webhook.",
            response=[201],
            required=True,
        )
    ],
)
GET_WEBHOOK = _operation("get_webhook", "Retrieve a webhook", representations.WebhookOut, "not_found")
CHANGE_WEBHOOK = _operation(
    "change_webhook",
    "Change a webhook",
    representations.WebhookOut,
    "not_found",
    description="Messages that wait are sent to the new url, too.",
    request=WebhookChangesIn,
)
DELETE_WEBHOOK = _operation(
    "delete_webhook",
    "Delete a webhook and its log",
    {204: OpenApiResponse(description="The webhook has been deleted.")},
    "not_found",
)
ROTATE_SECRET = _operation(
    "rotate_webhook_secret",
    "Make a new secret",
    representations.SecretOut,
    "not_found",
    description=(
        "For 24 hours each message is signed by both, the new secret and the one before it: store the new one until "
        "then. A secret that was replaced before ends at once."
    ),
    request=None,
)
TEST_WEBHOOK = _operation(
    "test_webhook",
    "Post a test message",
    representations.AttemptOut,
    "not_found",
    description=(
        "Posts a message of the type `webhook.test` once, also to a disabled webhook, and returns what its receiver "
        f"answered within {TEST_TIMEOUT:.0f} seconds."
    ),
    request=None,
)
ENABLE_WEBHOOK = _operation(
    "enable_webhook",
    "Enable a disabled webhook",
    representations.WebhookOut,
    "not_found",
    description=(
        "What it has not taken is sent at once, and then all that has happened meanwhile and is still in the feed of "
        "changes, in order. Repeating the request has no further effect."
    ),
    request=None,
)
LIST_DELIVERIES = _operation(
    "list_webhook_deliveries",
    "List the messages to a webhook, newest first",
    representations.DeliveryPageOut,
    "validation_failed",
    "not_found",
    description="They are kept for 30 days.",
    parameters=[DeliveryQuery],
)
REDELIVER = _operation(
    "redeliver_webhook_delivery",
    "Send a message again",
    {202: OpenApiResponse(representations.DeliveryOut, description="It will be sent.")},
    "not_found",
    description=(
        "With the same `webhook-id`. It goes before later messages of its order that are not delivered yet; one that "
        "waits for an earlier one goes on waiting. To a disabled webhook it is sent when that is enabled."
    ),
    request=None,
)
REDELIVER_SINCE = _operation(
    "redeliver_webhook_deliveries",
    "Send all messages since a time again",
    {202: OpenApiResponse(representations.RedeliveryOut, description="They will be sent.")},
    "not_found",
    description="Those of one order in order, each with the same `webhook-id`. Messages are kept for 30 days.",
    request=RedeliveryIn,
)
