"""The URLs of response queues under /api/v1/."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from orders.api import queue_views as views
from orders.api.requests import QUEUE_NAME


class QueueNameConverter(StringConverter):
    """The name of a response queue, as `reply_to` accepts it."""

    regex = QUEUE_NAME


register_converter(QueueNameConverter, "queue")

MESSAGES = "response-queues/<queue:name>/messages"

urlpatterns = [
    path(MESSAGES, views.QueueMessages.as_view(), name="queue-messages"),
    path(f"{MESSAGES}/<int:message_id>", views.QueueMessage.as_view(), name="queue-message"),
]
