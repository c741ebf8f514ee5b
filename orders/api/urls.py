"""The addresses under /api/."""

from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from orders.api import problems, views
from orders.api.requests import QUEUE_NAME

app_name = "api"

version_1: list[URLPattern | URLResolver] = [
    path("products", views.Products.as_view(), name="products"),
    path("products/<str:sku>", views.ProductDetail.as_view(), name="product"),
    path("orders", views.Orders.as_view(), name="orders"),
    path("orders/<uuid:order_id>", views.OrderDetail.as_view(), name="order"),
    path("orders/<uuid:order_id>/events", views.OrderEvents.as_view(), name="order-events"),
    re_path(
        rf"^response-queues/(?P<name>{QUEUE_NAME})/messages$",
        views.QueueMessages.as_view(),
        name="queue-messages",
    ),
    re_path(
        rf"^response-queues/(?P<name>{QUEUE_NAME})/messages/(?P<message_id>[0-9]{{1,19}})$",
        views.QueueMessage.as_view(),
        name="queue-message",
    ),
]

urlpatterns = [
    path("v1/", include(version_1)),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api:schema"), name="docs"),
    path("problems/<str:code>", problems.page, name="problem"),
    re_path("^", views.UnknownRoute.as_view(), name="unknown"),
]
