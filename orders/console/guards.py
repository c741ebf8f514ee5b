"""Guards the views of the console: who may see a page, and who may act (`orders.access.levels`).

`@page` is for what is read, `@act(OPERATE)` for what changes something. `@act(…, confirmed=True)` also asks for the
second factor again if it was last given more than ten minutes ago; acts on money and on many orders need that. A
refused act and a forged request are recorded in the audit log.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.contrib import messages
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import csrf
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from orders.access import second_factor
from orders.access.levels import OPERATOR_NAMESPACES, VIEW
from orders.services import audit
from orders.vocabulary import BulkKind

log = structlog.get_logger()

View = Callable[..., HttpResponseBase]

SIGN_IN = "console:sign-in"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def page(view: View) -> View:
    """Guards a page that everybody with the console's lowest access level can read."""
    return needs(VIEW, require_safe(view))


def act(permission: str, *, confirmed: bool = False) -> Callable[[View], View]:
    """Guards a view that changes something: it takes POST only, from users with this permission only.

    With `confirmed`, users with a second factor must have given it within the last ten minutes. Otherwise nothing is
    done: they are asked for it, and then return to the page with the button.
    """

    def guarded(view: View) -> View:
        guarded_view = needs(permission, posts_only(_confirmed(view) if confirmed else view))
        guarded_view.is_confirmed = confirmed  # type: ignore[attr-defined]
        return guarded_view

    return guarded


def posts_only(view: View) -> View:
    """Lets a view take POST only. Whoever reads its url, as from a bookmark, is led to the page above it."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "POST":
            return view(request, *args, **kwargs)
        messages.info(request, "Nothing was changed: that address works only from a button.")
        return redirect(readable_page(request.path))

    guarded.takes_only_posts = True  # type: ignore[attr-defined]  # read by desk_updates
    return require_http_methods(["GET", "HEAD", "POST"])(guarded)


def ask_then_act(show_form: View, take_form: View) -> View:
    """Joins two views under one URL: a GET shows the form, a POST takes it."""

    @wraps(take_form)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return (take_form if request.method == "POST" else show_form)(request, *args, **kwargs)

    view.takes_only_posts = False  # type: ignore[attr-defined]  # wraps() has copied what is true of `take_form` alone
    return view


actor = audit.actor_of
"""Names the user behind a request, for the audit log and for an order's history."""


def record_refusal(request: HttpRequest, *, reason: str) -> None:
    """Records a refused act in the audit log."""
    match = request.resolver_match
    url_name = match.url_name if match and match.url_name else "unknown"
    operator = actor(request)
    audit.record_refusal(
        actor=operator,
        url_name=url_name,
        parameters={**(match.kwargs if match else {}), "kind": _bulk_kind(request)},
        path=operator.name if url_name.startswith("second-factor") else request.path,
        why=reason,
    )


def _bulk_kind(request: HttpRequest) -> str:
    """Returns the kind of bulk action that a form asks for.

    Returns an empty string for a form that cannot be read and for an unknown kind: neither may hide the refusal.
    """
    try:
        kind = request.POST.get("do", "")
    except (MultiPartParserError, SuspiciousOperation, OSError):
        return ""
    return kind if kind in list(BulkKind) else ""


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answers a forged request. Nothing is done; in the console and the admin site, the attempt is recorded."""
    log.warning("forged request", action="refuse", path=request.path, why=reason)
    namespaces = request.resolver_match.namespaces if request.resolver_match else []
    if request.user.is_authenticated and OPERATOR_NAMESPACES & set(namespaces):
        record_refusal(request, reason=f"forged: {reason}")
    return csrf.csrf_failure(request, reason)


def previous_page(request: HttpRequest, *, unknown: str = "") -> str:
    """Returns the URL of our page that a request came from. If that is unknown: `unknown`, or the overview's."""
    referer = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        referer, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return referer if is_ours else unknown or reverse("console:overview")


def readable_page(path: str) -> str:
    """Returns the path of the console's page at or above `path` that a GET shows; the overview's if there is none."""
    overview = reverse("console:overview")
    while path.startswith(overview):
        try:
            if not getattr(resolve(path).func, "takes_only_posts", False):
                return path
        except Resolver404:
            pass
        path = path.rstrip("/").rpartition("/")[0] + "/"
    return overview


def needs(permission: str, view: View) -> View:
    """Guards a view with a permission. Users without it get a 403, and an attempt to act is recorded."""

    @wraps(view)
    @never_cache
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.has_perm(permission):
            reason = f"needs {permission}"
            log.warning("refused", action="refuse", path=request.path, actor=str(request.user), why=reason)
            if request.method not in SAFE_METHODS:
                record_refusal(request, reason=reason)
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
        return second_factor.ask_again(request, back_to=previous_page(request))

    return guarded
