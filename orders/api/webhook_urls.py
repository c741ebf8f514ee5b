"""The URLs of clients' webhooks under /api/v1/."""

from django.urls import path

from orders.api import webhook_views as views

WEBHOOK = "webhooks/<uuid:webhook_id>"

urlpatterns = [
    path("webhooks", views.Webhooks.as_view(), name="webhooks"),
    path(WEBHOOK, views.WebhookDetail.as_view(), name="webhook"),
    path(f"{WEBHOOK}/secret", views.WebhookSecret.as_view(), name="webhook-secret"),
    path(f"{WEBHOOK}/test", views.WebhookTest.as_view(), name="webhook-test"),
    path(f"{WEBHOOK}/enable", views.WebhookEnabling.as_view(), name="webhook-enable"),
    path(f"{WEBHOOK}/deliveries", views.WebhookDeliveries.as_view(), name="webhook-deliveries"),
    path(
        f"{WEBHOOK}/deliveries/<int:delivery_id>/redeliver",
        views.WebhookRedelivery.as_view(),
        name="webhook-redelivery",
    ),
    path(f"{WEBHOOK}/redeliver", views.WebhookRedeliveries.as_view(), name="webhook-redeliveries"),
]
