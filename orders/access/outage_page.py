"""What a page says while the database is unavailable. It is made without the database, the session and the account.

After a form was sent, nobody knows for certain whether it was stored: the connection may have been lost in the middle
of it. A form that may come again, because it then changes nothing more, is kept on the page, which sends it again; it
has a key by which it is known (`orders.access.attempts`). A business declares such forms of its own (`REPEATED_POSTS`,
see `sasweb.own_settings`). Nothing is kept of any other, and never a password.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string

from orders.access.attempts import ATTEMPT, attempt_of

REPEATED: Final[Mapping[str, str]] = {
    "order:cancel": "errors/not_cancelled.html",
    "order:guest-cancel": "errors/not_cancelled.html",
    "order:correct": "errors/not_corrected.html",
    "order:guest-correct": "errors/not_corrected.html",
    "order:guest-renew": "errors/repeat.html",
}
"""The pages of ours whose form may come again, and the template that says so."""

TOKEN = "csrfmiddlewaretoken"
STAFF = ("/console/", "/admin/")


def render_outage(request: HttpRequest, *, wait: int) -> str:
    """The page for a request that found no database. It is tried again after so many seconds."""
    is_staff = request.path_info.startswith(STAFF)
    if request.method in ("GET", "HEAD"):
        return render_to_string("503.html", {"is_staff": is_staff})
    page = request.resolver_match.view_name if request.resolver_match else ""
    template = {**settings.REPEATED_POSTS, **REPEATED}.get(page)
    if template is None or not _is_own_form(request):
        return render_to_string("errors/unsent.html", {"is_staff": is_staff, "back": _back(request)})
    fields = _fields(request)
    context = {
        "action": request.get_full_path(),
        "fields": [*fields, (ATTEMPT, attempt_of(request))],
        "is_typed": bool(fields),
        "csrf_token": get_token(request),
        "wait": wait,
    }
    return render_to_string(template, context)


def _is_own_form(request: HttpRequest) -> bool:
    """Whether the form is one of ours, as its CSRF token has proved. Another site's must not be sent again with a token
    that is valid."""
    return bool(getattr(request, "csrf_processing_done", False))


def _fields(request: HttpRequest) -> list[tuple[str, Any]]:
    """What was sent, except what the page adds itself, and passwords."""
    return [
        (name, value)
        for name, values in request.POST.lists()
        if name not in (TOKEN, ATTEMPT) and "password" not in name
        for value in values
    ]


def _back(request: HttpRequest) -> str:
    """The path of the page of ours that the form was on; empty if the browser does not say."""
    referrer = urlsplit(request.headers.get("Referer", ""))
    if referrer.netloc != request.get_host() or not referrer.path.startswith("/"):
        return ""
    return referrer.path + (f"?{referrer.query}" if referrer.query else "")
