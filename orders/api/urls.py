"""The URLs under /api/."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from orders.api import operator_urls, problem_pages, queue_urls, request_views, views, webhook_urls
from orders.api.corrections import OrderCorrection
from orders.api.docs_page import Docs
from orders.api.document import Document
from orders.api.feed_views import Changes
from orders.api.order_batches import OrderBatch
from orders.api.order_quotes import OrderQuote
from orders.api.order_stream import OrderStream
from orders.business import registry

app_name = "api"

version_1: list[URLPattern | URLResolver] = [
    path("orders", views.Orders.as_view(), name="orders"),
    path("orders/batch", OrderBatch.as_view(), name="order-batch"),
    path("orders/quote", OrderQuote.as_view(), name="order-quote"),
    path("orders/<uuid:order_id>", views.OrderDetail.as_view(), name="order"),
    path("orders/<uuid:order_id>/cancel", views.OrderCancellation.as_view(), name="order-cancel"),
    path("orders/<uuid:order_id>/corrections", OrderCorrection.as_view(), name="order-corrections"),
    path("orders/<uuid:order_id>/events", views.OrderEvents.as_view(), name="order-events"),
    path("orders/<uuid:order_id>/progress", views.OrderProgress.as_view(), name="order-progress"),
    path("orders/<uuid:order_id>/stream", OrderStream.as_view(), name="order-stream"),
    path("changes", Changes.as_view(), name="changes"),
    *queue_urls.urlpatterns,
    *webhook_urls.urlpatterns,
    *request_views.urlpatterns,
    *operator_urls.urlpatterns,
    *(url for module in registry.own_modules("api_urls") for url in module.urlpatterns),
]

urlpatterns = [
    path("v1/", include(version_1)),
    path("schema/", Document.as_view(), name="schema"),
    path("docs/", Docs.as_view(), name="docs"),
    path("problems/", problem_pages.ProblemList.as_view(), name="problems"),
    path("problems/<str:code>", problem_pages.ProblemPage.as_view(), name="problem"),
    re_path("^", views.UnknownRoute.as_view(), name="unknown"),
]
