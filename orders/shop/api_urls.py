"""The shop's URLs under /api/v1/."""

from django.urls import path

from orders.shop import rest_catalogue, rest_payment

urlpatterns = [
    path("products", rest_catalogue.Products.as_view(), name="products"),
    path("orders/<uuid:order_id>/payment", rest_payment.OrderPayment.as_view(), name="order-payment"),
    path("products/<str:sku>", rest_catalogue.ProductDetail.as_view(), name="product"),
]
