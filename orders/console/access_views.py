"""Getting into the console (sign-in, second factor), and the audit log of what was done there."""

import io
from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from orders.access import second_factor
from orders.access.levels import VIEW
from orders.console.csv_safe import csv_lines
from orders.console.guards import act, actor, needs, page
from orders.selectors.desk import audit as audit_log
from orders.services import audit

LONGEST_NEXT = 500


class SignIn(LoginView):
    """Name and password, for who works here."""

    template_name = "console/access/sign_in.html"
    authentication_form = AuthenticationForm
    redirect_authenticated_user = True
    next_page = reverse_lazy("console:overview")


def safe_next(request: HttpRequest) -> str:
    """Where to go afterwards: where `next` asks if that is an address of this host, else the overview."""
    asked = request.POST.get("next", request.GET.get("next", ""))[:LONGEST_NEXT]
    is_ours = url_has_allowed_host_and_scheme(
        asked, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return asked if is_ours else str(reverse_lazy("console:overview"))


def factor_page(view: Any) -> Any:
    """A page about the second factor: for who may look at the console, and for nobody else."""
    return sensitive_post_parameters()(needs(VIEW, view))


@factor_page
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_page(request: HttpRequest) -> HttpResponse:
    """Asks for the factor, or for setting one up; says how it stands when it was given."""
    if request.method == "POST":
        return _verify(request)
    if not second_factor.has_factor(request.user):
        return _offer_set_up(request)
    if not second_factor.is_fresh(request):
        return _ask(request)
    context = {"codes_left": second_factor.recovery_codes_left(request.user)}
    return render(request, "console/access/second_factor.html", context)


def _ask(request: HttpRequest, *, error: str = "", status: int = 200, wait: int = 0) -> HttpResponse:
    context = {"following": safe_next(request), "error": error, "again": second_factor.is_verified(request)}
    response = render(request, "console/access/verify.html", context, status=status)
    if wait:
        response.headers["Retry-After"] = str(wait)
    return response


def _verify(request: HttpRequest) -> HttpResponse:
    verdict = second_factor.verify(request, request.POST.get("code", ""))
    if verdict.is_right:
        return redirect(safe_next(request))
    if verdict.wait:
        said = _("Too many wrong codes. Wait %(seconds)s seconds, then try again.") % {
            "seconds": verdict.wait
        }
        return _ask(request, error=said, status=429, wait=verdict.wait)
    _write_down(request, "second-factor", said="a wrong code", allowed=False)
    return _ask(request, error=_("This code is not right. Wait for the next one and try again."), status=403)


def _offer_set_up(request: HttpRequest, *, error: str = "", status: int = 200) -> HttpResponse:
    key = second_factor.pending_key(request)
    context = {"letters": second_factor.key_letters(key), "error": error, "following": safe_next(request)}
    return render(request, "console/access/set_up.html", context, status=status)


@factor_page
@require_http_methods(["GET", "HEAD"])
def show_qr(request: HttpRequest) -> HttpResponse:
    """The key that is being set up, as a picture for the authenticator app."""
    if second_factor.has_factor(request.user):
        return HttpResponse(status=404)
    address = second_factor.key_url(request.user, second_factor.pending_key(request))  # type: ignore[arg-type]
    drawn = io.BytesIO()
    segno.make_qr(address).save(drawn, kind="svg", scale=5, border=3, light="#fff", nl=False)
    return HttpResponse(drawn.getvalue(), content_type="image/svg+xml")


@factor_page
@require_POST
def set_up(request: HttpRequest) -> HttpResponse:
    """Takes the first code of a new factor, and shows the recovery codes: this once."""
    if second_factor.has_factor(request.user):
        return redirect("console:second-factor")
    codes = second_factor.set_up(request, request.POST.get("code", ""))
    if codes is None:
        said = _("This code is not right. Is the clock of your telephone?")
        return _offer_set_up(request, error=said, status=403)
    _write_down(request, "second-factor-set-up", said="has a second factor")
    return _show_codes(request, codes)


@act(VIEW, confirmed=True)
def renew_codes(request: HttpRequest) -> HttpResponse:
    """Makes new recovery codes, and shows them."""
    if not second_factor.has_factor(request.user):
        return redirect("console:second-factor")
    codes = second_factor.renew_recovery_codes(request.user)
    _write_down(request, "second-factor-codes", said="has new recovery codes")
    return _show_codes(request, codes)


@act(VIEW, confirmed=True)
def remove(request: HttpRequest) -> HttpResponse:
    """Takes the factor away, to set up another."""
    second_factor.remove(request.user)
    _write_down(request, "second-factor-remove", said="has no second factor")
    messages.info(request, _("Your second factor was taken away."))
    return redirect("console:second-factor")


def _show_codes(request: HttpRequest, codes: list[str]) -> HttpResponse:
    context = {"codes": codes, "following": safe_next(request)}
    return render(request, "console/access/codes.html", context)


def _write_down(request: HttpRequest, what: str, *, said: str, allowed: bool = True) -> None:
    audit.record(
        actor=actor(request), act=what, target=request.user.get_username(), said=said, allowed=allowed
    )


@page
def show_audit(request: HttpRequest) -> HttpResponse:
    """Who did what, why, and what it changed; and who was refused what."""
    asked = audit_log.read_filter(request.GET)
    listed = audit_log.entries(asked)
    query = request.GET.copy()
    query.pop("before", None)
    first = query.urlencode() if "before" in request.GET else None
    after = ""
    if listed.following is not None:
        query["before"] = str(listed.following)
        after = query.urlencode()
    query.pop("before", None)
    context = {
        "entries": listed.entries,
        "asked": asked,
        "acts": audit_log.acts(),
        "first": first,
        "after": after,
        "csv_query": query.urlencode(),
    }
    return render(request, "console/audit.html", context)


@page
def download_audit(request: HttpRequest) -> HttpResponseBase:
    """The entries of a filter as CSV."""
    rows = audit_log.rows(audit_log.read_filter(request.GET))
    response = StreamingHttpResponse(
        csv_lines(audit_log.COLUMNS, rows), content_type="text/csv; charset=utf-8"
    )
    response.headers["Content-Disposition"] = 'attachment; filename="audit.csv"'
    return response
