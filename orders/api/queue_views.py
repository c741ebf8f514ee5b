"""The response queues of a client, over REST."""

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api import queue_documentation as documentation
from orders.api import queue_representations as representations
from orders.api import requests
from orders.api.paging import MessageQuery, read_query, render_page
from orders.api.waiting import WaitingView, hold
from orders.fields.numbers import LARGEST_ID
from orders.selectors import response_queues
from orders.services.order_changes import acknowledge_status
from orders.vocabulary import TokenScope


class QueueMessages(WaitingView):
    """The messages on one of the client's response queues."""

    @extend_schema(**documentation.LIST_MESSAGES)
    def get(self, request: Request, name: str) -> Response:
        query = read_query(MessageQuery, request)
        queue = response_queues.queue_of(requests.client_id(request), name)
        after = query["after"]
        page = response_queues.queue_messages(queue=queue, after=after, limit=query["page_size"])
        if query["wait"] and not page.items:
            hold(request, (queue, after), version=response_queues.EMPTY, seconds=query["wait"])
        return render_page(
            representations.MessagePageOut, request, page, key=lambda message: message.id, parameter="after"
        )


class QueueMessage(APIView):
    """One message on a response queue."""

    scope = TokenScope.ORDERS

    @extend_schema(**documentation.DELETE_MESSAGE)
    def delete(self, request: Request, name: str, message_id: int) -> Response:
        queue = response_queues.queue_of(requests.client_id(request), name)
        if not acknowledge_status(queue=queue, message_id=min(message_id, LARGEST_ID)):
            raise NotFound
        return Response(status=204)
