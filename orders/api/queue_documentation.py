"""What the OpenAPI document says about the operations on response queues."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from orders.api import queue_representations as representations
from orders.api.documentation import path_parameter
from orders.api.paging import MessageQuery
from orders.api.problems import OPERATION_PROBLEMS
from orders.api.queue_requests import AcknowledgementIn, LeaseIn, QueueQuery, ReleaseIn
from orders.api.requests import QUEUE_NAME

QUEUE = path_parameter(
    "name", "The name of the queue, as `reply_to` has it.", pattern=f"^{QUEUE_NAME}$", maxLength=64
)

LIST_QUEUES: dict[str, Any] = {
    "operation_id": "list_queues",
    "summary": "List your response queues, by name",
    "description": (
        "Those on which there are messages: a queue exists as soon as an order names it in `reply_to`. A queue that "
        "you do not know, or whose oldest message grows old, may be a name that somebody has misspelt."
    ),
    "tags": ["response queues"],
    "parameters": [QueueQuery],
    "responses": representations.QueuePageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed"]},
}
LIST_MESSAGES: dict[str, Any] = {
    "operation_id": "list_messages",
    "summary": "List the messages on a response queue",
    "description": (
        "A queue exists as soon as an order names it in `reply_to`. Process each message, then delete it. Messages of "
        "different orders may appear out of ID order, so use `after` only for paging. A message that you have not "
        "deleted is still to be processed, whatever its ID. To share a queue among several consumers, have each lease "
        "its messages; this list shows all of them."
    ),
    "tags": ["response queues"],
    "parameters": [QUEUE, MessageQuery],
    "responses": representations.MessagePageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", "not_found", "too_many_waiting"]},
}
DELETE_MESSAGE: dict[str, Any] = {
    "operation_id": "delete_message",
    "summary": "Delete a message that you have processed",
    "tags": ["response queues"],
    "parameters": [QUEUE],
    "responses": {204: OpenApiResponse(description="The message has been deleted.")},
    "extensions": {OPERATION_PROBLEMS: ["not_found"]},
}
LEASE_MESSAGES: dict[str, Any] = {
    "operation_id": "lease_messages",
    "summary": "Lease messages of a response queue",
    "description": (
        "Gives you up to `max_messages` messages, oldest first, and hides them from the leases of your other consumers "
        "for `lease_seconds`. Process them, then acknowledge them; what you have not acknowledged by then is leased "
        "again, and its `deliveries` says how often. The messages about one order come in their order: none is leased "
        "while an earlier one is leased. With `wait` the response is held until there is a message, for so many "
        "seconds at most. It may be empty earlier, if another consumer was quicker."
    ),
    "tags": ["response queues"],
    "parameters": [QUEUE],
    "request": LeaseIn,
    "responses": {200: representations.LeaseOut},
    "extensions": {OPERATION_PROBLEMS: ["not_found", "too_many_waiting"]},
}
ACKNOWLEDGE_MESSAGES: dict[str, Any] = {
    "operation_id": "acknowledge_messages",
    "summary": "Delete messages that you have processed",
    "description": (
        "Send the `lease` under which you had them. If it has lapsed, you can still acknowledge a message until "
        "another consumer leases it; then its result is `refused`, and it is still there. Without `lease`, a message "
        "that anybody has leased is refused. Repeating the request has no further effect."
    ),
    "tags": ["response queues"],
    "parameters": [QUEUE],
    "request": AcknowledgementIn,
    "responses": {200: representations.MessageResultsOut},
    "extensions": {OPERATION_PROBLEMS: ["not_found"]},
}
RELEASE_MESSAGES: dict[str, Any] = {
    "operation_id": "release_messages",
    "summary": "Give messages back that you do not process",
    "description": "Other consumers may lease them at once, instead of when your lease is over.",
    "tags": ["response queues"],
    "parameters": [QUEUE],
    "request": ReleaseIn,
    "responses": {200: representations.MessageResultsOut},
    "extensions": {OPERATION_PROBLEMS: ["not_found"]},
}
