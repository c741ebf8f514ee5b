"""The project's urls."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include("orders.api.urls")),
    path("console/", include("orders.console.urls")),
    path("account/", include("orders.storefront.account_urls")),
    path("", include("orders.storefront.urls")),
]

# Errors under /api/ are problem+json even where no view was reached.
handler400 = "orders.api.problems.bad_request"
handler403 = "orders.api.problems.permission_denied"
handler404 = "orders.api.problems.page_not_found"
handler500 = "orders.api.problems.server_error"
