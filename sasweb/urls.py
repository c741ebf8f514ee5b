"""The project's urls."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import RedirectView
from django.views.i18n import set_language

from orders.business import registry

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include("orders.api.urls")),
    path("callbacks/", include("orders.api.callback_urls")),
    path("console/", include("orders.console.urls")),
    path("", include("orders.order_page.urls")),
    # It only stores a preference. Without a CSRF token, the footer of a public page needs no cookie.
    path("language/", login_not_required(csrf_exempt(set_language)), name="set-language"),
    *(path("", include(module.__name__)) for module in registry.own_modules("urls")),
    # If no business has a page there.
    path("", login_not_required(RedirectView.as_view(pattern_name="console:overview"))),
]

# Errors under /api/ are problem+json even where no view was reached.
handler400 = "orders.api.problems.bad_request"
handler403 = "orders.api.problems.permission_denied"
handler404 = "orders.api.problems.page_not_found"
handler500 = "orders.api.problems.server_error"
