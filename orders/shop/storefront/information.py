"""The shop's plain pages: shipping, returns, privacy and contact. What only the owner knows comes from settings."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from orders.access.public_urls import public_url
from orders.shop.owner import present_owner

PAGES = ("shipping", "returns", "privacy", "contact")
"""The name of each is that of its url and of its template."""


@login_not_required
@require_safe
def show_information(request: HttpRequest, page: str) -> HttpResponse:
    """One of the pages. A demonstration shows which settings are not made; a real shop leaves those facts out."""
    context = {
        "owner": present_owner(),
        "help_email": settings.CONFIG.help_address,
        "shows_placeholders": settings.IS_DEMONSTRATION,
        "canonical": public_url(f"shop:{page}"),
        "kept_days": round(settings.CONFIG.keep_finished),
        "deleted_days": round(settings.CONFIG.keep_archived),
    }
    return render(request, f"storefront/information/{page}.html", context)
