"""Who may see a page of the console, and who may act: the permissions of the roles viewer, operator and admin.

`@page` is for what is read, `@act(OPERATE)` for what changes something; `confirmed=True` asks for the second factor
again when it was given longer ago than ten minutes, for compensation and for acts on many orders.
Whoever is refused an act is in the audit log, as is a forged request.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext as _
from django.views import csrf
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from orders.access import second_factor
from orders.models import BulkAction
from orders.services import audit

log = structlog.get_logger()

View = Callable[..., HttpResponseBase]

VIEW = "orders.view_console"
OPERATE = "orders.operate"
ADMINISTER = "orders.administer"

SIGN_IN = "console:sign-in"
SAFE = ("GET", "HEAD", "OPTIONS")


def page(view: View) -> View:
    """A page that whoever may look at the console can read."""
    return needs(VIEW, require_safe(view))


def act(permission: str, *, confirmed: bool = False) -> Callable[[View], View]:
    """A view that changes something: by POST only, and only with this permission.

    With `confirmed`, who has a second factor must have given it within the last ten minutes; otherwise it is asked for,
    nothing is done, and the way leads back to the page with the button.
    """

    def guarded(view: View) -> View:
        return needs(permission, require_POST(_confirmed(view) if confirmed else view))

    return guarded


def actor(request: HttpRequest) -> audit.Actor:
    """Who asks, for the audit log and for the order's timeline."""
    return audit.Actor(
        name=request.user.get_username()[:120], address=request.META.get("REMOTE_ADDR", "")[:45]
    )


def refuse(request: HttpRequest, *, why: str) -> None:
    """Writes down that somebody was refused an act."""
    match = request.resolver_match
    address = match.url_name if match and match.url_name else "unknown"
    who = actor(request)
    audit.record_refusal(
        actor=who,
        address=address,
        about={**(match.kwargs if match else {}), "kind": _kind(request)},
        path=who.name if address.startswith("second-factor") else request.path,
        why=why,
    )


def _kind(request: HttpRequest) -> str:
    """Which act a form for many orders asks for; nothing if it cannot be read, which hides no refusal."""
    try:
        kind = request.POST.get("do", "")
    except (MultiPartParserError, SuspiciousOperation, OSError):
        return ""
    return kind if kind in BulkAction.Kind.values else ""


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The answer to a forged request: nothing is done, and in the console it is written down."""
    log.warning("forged request", action="refuse", path=request.path, why=reason)
    namespaces = request.resolver_match.namespaces if request.resolver_match else []
    if request.user.is_authenticated and {"console", "admin"} & set(namespaces):
        refuse(request, why=f"forged: {reason}")
    return csrf.csrf_failure(request, reason)


def way_back(request: HttpRequest) -> str:
    """The page of ours that a request came from; the overview when it does not say."""
    came_from = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        came_from, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return came_from if is_ours else reverse("console:overview")


def needs(permission: str, view: View) -> View:
    @wraps(view)
    @never_cache
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.has_perm(permission):
            why = f"needs {permission}"
            log.warning("refused", action="refuse", path=request.path, actor=str(request.user), why=why)
            if request.method not in SAFE:
                refuse(request, why=why)
            raise PermissionDenied
        return view(request, *args, **kwargs)

    guarded.login_url = SIGN_IN  # type: ignore[attr-defined]  # read by LoginRequiredMiddleware
    guarded.needs = permission  # type: ignore[attr-defined]
    return guarded


def _confirmed(view: View) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if second_factor.is_fresh(request):
            return view(request, *args, **kwargs)
        minutes = int(settings.SECOND_FACTOR_FRESH.total_seconds() // 60)
        messages.warning(
            request,
            _("Nothing was done yet: this needs a code from the last %(minutes)s minutes. Then try again.")
            % {"minutes": minutes},
        )
        asked = f"{reverse('console:second-factor')}?{urlencode({'next': way_back(request)})}"
        return redirect(asked)

    return guarded
