"""The shop's pages: the catalogue at the root, and customers' accounts."""

from django.urls import include, path

urlpatterns = [
    path("account/", include("orders.shop.storefront.account_urls")),
    path("", include("orders.shop.storefront.urls")),
]
