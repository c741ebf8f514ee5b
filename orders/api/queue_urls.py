"""The URLs of response queues under /api/v1/."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from orders.api import queue_views as views
from orders.api.requests import QUEUE_NAME


class QueueNameConverter(StringConverter):
    """The name of a response queue, as `reply_to` accepts it."""

    regex = QUEUE_NAME


register_converter(QueueNameConverter, "queue")

QUEUE = "response-queues/<queue:name>"
MESSAGES = f"{QUEUE}/messages"

urlpatterns = [
    path("response-queues", views.Queues.as_view(), name="queues"),
    path(f"{QUEUE}/lease", views.QueueLease.as_view(), name="queue-lease"),
    path(f"{QUEUE}/acknowledge", views.QueueAcknowledgement.as_view(), name="queue-acknowledge"),
    path(f"{QUEUE}/release", views.QueueRelease.as_view(), name="queue-release"),
    path(MESSAGES, views.QueueMessages.as_view(), name="queue-messages"),
    path(f"{MESSAGES}/<int:message_id>", views.QueueMessage.as_view(), name="queue-message"),
]
