"""What the OpenAPI document says about the operations on response queues."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from orders.api import queue_representations as representations
from orders.api.documentation import path_parameter
from orders.api.paging import MessageQuery
from orders.api.problems import OPERATION_PROBLEMS
from orders.api.requests import QUEUE_NAME

QUEUE = path_parameter(
    "name", "The name of the queue, as `reply_to` has it.", pattern=f"^{QUEUE_NAME}$", maxLength=64
)

LIST_MESSAGES: dict[str, Any] = {
    "operation_id": "list_messages",
    "summary": "List the messages on a response queue",
    "description": (
        "A queue exists as soon as an order names it in `reply_to`. Process each message, then delete it. Messages of "
        "different orders may appear out of ID order, so use `after` only for paging. A message that you have not "
        "deleted is still to be processed, whatever its ID."
    ),
    "tags": ["response queues"],
    "parameters": [QUEUE, MessageQuery],
    "responses": representations.MessagePageOut,
    "extensions": {
        OPERATION_PROBLEMS: ["validation_failed", "not_found", "headers_too_large", "too_many_waiting"]
    },
}
DELETE_MESSAGE: dict[str, Any] = {
    "operation_id": "delete_message",
    "summary": "Delete a message that you have processed",
    "tags": ["response queues"],
    "parameters": [QUEUE],
    "responses": {204: OpenApiResponse(description="The message has been deleted.")},
    "extensions": {OPERATION_PROBLEMS: ["not_found"]},
}
