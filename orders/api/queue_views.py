"""The response queues of a client, over REST."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api import queue_documentation as documentation
from orders.api import queue_representations as representations
from orders.api import requests
from orders.api.paging import MessageQuery, read_query, render_page
from orders.api.queue_requests import AcknowledgementIn, LeaseIn, QueueQuery, ReleaseIn
from orders.api.waiting import WaitingView, hold, read_body
from orders.fields.numbers import LARGEST_ID
from orders.selectors import queue_lists, response_queues
from orders.services.response_queues import (
    MessageResult,
    acknowledge_message,
    acknowledge_messages,
    lease_messages,
    release_messages,
)
from orders.vocabulary import TokenScope


class Queues(APIView):
    """The client's response queues."""

    @extend_schema(**documentation.LIST_QUEUES)
    def get(self, request: Request) -> Response:
        query = read_query(QueueQuery, request)
        page = queue_lists.queues(
            customer_id=requests.client_id(request), after=query["cursor"], limit=query["page_size"]
        )
        return render_page(representations.QueuePageOut, request, page, key=lambda queue: queue.name)


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
        if not acknowledge_message(queue=queue, message_id=min(message_id, LARGEST_ID)):
            raise NotFound
        return Response(status=204)


class QueueLease(WaitingView):
    """Leases messages of a response queue to one of the client's consumers."""

    scope = TokenScope.ORDERS

    @extend_schema(**documentation.LEASE_MESSAGES)
    def post(self, request: Request, name: str) -> Response:
        body = read_body(request, LeaseIn)
        queue = response_queues.queue_of(requests.client_id(request), name)
        lease = lease_messages(queue=queue, limit=body["max_messages"], seconds=body["lease_seconds"])
        messages: Sequence[Any] = ()
        if lease is not None:
            messages = response_queues.leased_messages(queue=queue, message_ids=lease.message_ids)
        elif body["wait"]:
            hold(request, (queue, None), version=response_queues.EMPTY, seconds=body["wait"])
        return Response(
            representations.LeaseOut.render(
                {
                    "lease": lease and lease.token,
                    "leased_until": lease and lease.until,
                    "messages": messages,
                }
            )
        )


class QueueAcknowledgement(APIView):
    """Deletes messages that a consumer has processed."""

    scope = TokenScope.ORDERS

    @extend_schema(**documentation.ACKNOWLEDGE_MESSAGES)
    def post(self, request: Request, name: str) -> Response:
        body = AcknowledgementIn.read(request.data)
        queue = response_queues.queue_of(requests.client_id(request), name)
        lease = UUID(body["lease"]) if body["lease"] else None
        return _render(acknowledge_messages(queue=queue, lease=lease, message_ids=body["ids"]))


class QueueRelease(APIView):
    """Gives messages back that a consumer does not process."""

    scope = TokenScope.ORDERS

    @extend_schema(**documentation.RELEASE_MESSAGES)
    def post(self, request: Request, name: str) -> Response:
        body = ReleaseIn.read(request.data)
        queue = response_queues.queue_of(requests.client_id(request), name)
        results = release_messages(queue=queue, lease=UUID(body["lease"]), message_ids=body["ids"])
        return _render(results)


def _render(results: Sequence[MessageResult]) -> Response:
    members = [
        {"id": message_id, "result": result.status.value, "message": result.message}
        for message_id, result in results
    ]
    return Response(representations.MessageResultsOut.render({"results": members}))
