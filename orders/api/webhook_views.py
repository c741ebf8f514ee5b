"""The REST API of clients' webhooks."""

from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api import requests, webhook_operations
from orders.api import webhook_representations as representations
from orders.api.paging import read_query, render_page
from orders.api.problems import ProblemError, invalid
from orders.api.webhook_requests import (
    DELIVERED,
    DeliveryQuery,
    NewWebhookIn,
    RedeliveryIn,
    WebhookChangesIn,
    values_of,
)
from orders.fields.numbers import LARGEST_ID
from orders.selectors import webhooks
from orders.selectors.paging import Page
from orders.services import webhooks as webhook_services
from orders.vocabulary import TokenScope


class WebhookView(APIView):
    """What only the owner of a webhook may do with it."""

    scope = TokenScope.ORDERS

    def find(self, request: Request, webhook_id: UUID) -> Any:
        """The client's webhook. Raises `NotFound`."""
        endpoint = webhooks.find_endpoint(webhook_id, customer_id=requests.client_id(request))
        if endpoint is None:
            raise NotFound
        return endpoint

    def render(self, request: Request, webhook_id: UUID) -> Response:
        """The webhook as it is now."""
        endpoint = self.find(request, webhook_id)
        return Response(representations.WebhookOut.render(representations.webhook(endpoint)))


class Webhooks(WebhookView):
    """The client's webhooks."""

    @extend_schema(**webhook_operations.LIST_WEBHOOKS)
    def get(self, request: Request) -> Response:
        endpoints = webhooks.endpoints(customer_id=requests.client_id(request))
        body = {"results": [representations.webhook(endpoint) for endpoint in endpoints]}
        return Response(representations.WebhookListOut.render(body))

    @extend_schema(**webhook_operations.CREATE_WEBHOOK)
    def post(self, request: Request) -> Response:
        values = values_of(NewWebhookIn.read(request.data))
        try:
            endpoint, secret = webhook_services.create(customer_id=requests.client_id(request), **values)
        except webhook_services.BadUrlError as error:
            raise invalid(str(error), pointer="/url") from error
        except webhook_services.TooManyWebhooksError as error:
            raise ProblemError("too_many_webhooks") from error
        body = {**representations.webhook(endpoint), "secret": secret}
        location = reverse("api:webhook", args=[endpoint.pk])
        return Response(
            representations.NewWebhookOut.render(body), status=201, headers={"Location": location}
        )


class WebhookDetail(WebhookView):
    """One webhook."""

    @extend_schema(**webhook_operations.GET_WEBHOOK)
    def get(self, request: Request, webhook_id: UUID) -> Response:
        return self.render(request, webhook_id)

    @extend_schema(**webhook_operations.CHANGE_WEBHOOK)
    def patch(self, request: Request, webhook_id: UUID) -> Response:
        endpoint = self.find(request, webhook_id)
        values = values_of(WebhookChangesIn.read(request.data))
        try:
            webhook_services.change(endpoint, **values)
        except webhook_services.BadUrlError as error:
            raise invalid(str(error), pointer="/url") from error
        return self.render(request, webhook_id)

    @extend_schema(**webhook_operations.DELETE_WEBHOOK)
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        webhook_services.delete(self.find(request, webhook_id))
        return Response(status=204)


class WebhookSecret(WebhookView):
    """Makes a new secret."""

    @extend_schema(**webhook_operations.ROTATE_SECRET)
    def post(self, request: Request, webhook_id: UUID) -> Response:
        endpoint = self.find(request, webhook_id)
        secret = webhook_services.rotate(endpoint)
        until = self.find(request, webhook_id).previous_until
        return Response(representations.SecretOut.render({"secret": secret, "previous_secret_until": until}))


class WebhookTest(WebhookView):
    """Posts a test message."""

    @extend_schema(**webhook_operations.TEST_WEBHOOK)
    def post(self, request: Request, webhook_id: UUID) -> Response:
        attempt = webhook_services.test(self.find(request, webhook_id))
        return Response(representations.AttemptOut.render(attempt))


class WebhookEnabling(WebhookView):
    """Enables a disabled webhook."""

    @extend_schema(**webhook_operations.ENABLE_WEBHOOK)
    def post(self, request: Request, webhook_id: UUID) -> Response:
        webhook_services.enable(self.find(request, webhook_id))
        return self.render(request, webhook_id)


class WebhookDeliveries(WebhookView):
    """The messages to a webhook."""

    @extend_schema(**webhook_operations.LIST_DELIVERIES)
    def get(self, request: Request, webhook_id: UUID) -> Response:
        query = read_query(DeliveryQuery, request)
        page = webhooks.deliveries(
            self.find(request, webhook_id),
            is_delivered=None if query["state"] is None else query["state"] == DELIVERED,
            before=query["cursor"],
            limit=query["page_size"],
        )
        items = [representations.delivery(row) for row in page.items]
        shown: Page[dict[str, Any]] = Page(items=items, has_more=page.has_more)
        return render_page(representations.DeliveryPageOut, request, shown, key=lambda row: row["id"])


class WebhookRedelivery(WebhookView):
    """Sends one message again."""

    @extend_schema(**webhook_operations.REDELIVER)
    def post(self, request: Request, webhook_id: UUID, delivery_id: int) -> Response:
        endpoint = self.find(request, webhook_id)
        webhook_services.redeliver(endpoint, _delivery(endpoint, delivery_id))
        body = representations.delivery(_delivery(endpoint, delivery_id))
        return Response(representations.DeliveryOut.render(body), status=202)


class WebhookRedeliveries(WebhookView):
    """Sends all messages since a time again."""

    @extend_schema(**webhook_operations.REDELIVER_SINCE)
    def post(self, request: Request, webhook_id: UUID) -> Response:
        endpoint = self.find(request, webhook_id)
        values = RedeliveryIn.read(request.data)
        queued = webhook_services.redeliver_since(endpoint, values["since"])
        return Response(representations.RedeliveryOut.render({"queued": queued}), status=202)


def _delivery(endpoint: Any, delivery_id: int) -> Any:
    delivery = webhooks.find_delivery(endpoint, min(delivery_id, LARGEST_ID))
    if delivery is None:
        raise NotFound
    return delivery
