"""Signing in to the console, and the second factor."""

import io
from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from orders.access import second_factor
from orders.access.levels import VIEW
from orders.console.forms.second_factor import CodeForm, SignInForm
from orders.console.guards import View, act, actor, needs, posts_only, record_refusal
from orders.console.signed_out import NOT_TAKEN, say_nothing_was_done
from orders.services import audit

LONGEST_NEXT = 500
WRONG_CODE = "a wrong code"


class SignIn(LoginView):
    """Signs operators in by name and password."""

    template_name = "console/access/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True
    next_page = reverse_lazy("console:overview")  # type: ignore[assignment]  # reversed when it is needed

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Has the page say that a form was not taken, if one led here."""
        fields = self.request.POST if self.request.method == "POST" else self.request.GET
        return super().get_context_data(**kwargs, not_taken=NOT_TAKEN in fields)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Signs in. That a form was not taken is said where it can be sent again: after the second factor."""
        response = super().form_valid(form)
        if NOT_TAKEN in self.request.POST:
            self.request.session[NOT_TAKEN] = True
            if not second_factor.is_asked_of(self.request.user):
                say_nothing_was_done(self.request)
        return response


def next_url(request: HttpRequest) -> str:
    """Returns where `next` leads if that is a URL of this host, otherwise the overview's URL."""
    url = request.POST.get("next", request.GET.get("next", ""))[:LONGEST_NEXT]
    is_ours = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if is_ours else str(reverse_lazy("console:overview"))


def factor_page(view: View) -> Any:
    """Guards a page about the second factor: only users who may see the console may see it."""
    return sensitive_post_parameters()(needs(VIEW, view))


@factor_page
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_page(request: HttpRequest) -> HttpResponse:
    """Asks for the second factor, or to set one up. Once it has been given, shows how it is set up."""
    if request.method == "POST":
        return _verify(request)
    if not second_factor.has_factor(request.user):
        return _set_up_page(request, CodeForm())
    if not second_factor.is_fresh(request):
        return _verify_page(request, CodeForm())
    context = {"codes_left": second_factor.recovery_codes_left(request.user)}
    return render(request, "console/access/second_factor.html", context)


def _verify_page(request: HttpRequest, form: CodeForm, *, status: int = 200, wait: int = 0) -> HttpResponse:
    context = {"next": next_url(request), "form": form, "again": second_factor.is_verified(request)}
    response = render(request, "console/access/verify.html", context, status=status)
    if wait:
        response.headers["Retry-After"] = str(wait)
    return response


def _verify(request: HttpRequest) -> HttpResponse:
    form = CodeForm(request.POST)
    check = second_factor.verify(request, form.typed)
    if check.is_right:
        _record(request, "second factor", result="a right code")
        say_nothing_was_done(request)
        return redirect(next_url(request))
    if check.wait:
        message = f"Too many wrong codes. Wait {check.wait} seconds, then try again."
        form.reject(message)
        return _verify_page(request, form, status=429, wait=check.wait)
    record_refusal(request, reason=WRONG_CODE)
    form.reject("This code is wrong. Wait for the next one and try again.")
    return _verify_page(request, form, status=403)


def _set_up_page(request: HttpRequest, form: CodeForm, *, status: int = 200) -> HttpResponse:
    letters = second_factor.key_letters(second_factor.pending_key(request))
    context = {"letters": letters, "form": form, "next": next_url(request)}
    return render(request, "console/access/set_up.html", context, status=status)


@factor_page
@require_http_methods(["GET", "HEAD"])
def show_qr(request: HttpRequest) -> HttpResponse:
    """Draws the key that is being set up, for an authenticator app."""
    if second_factor.has_factor(request.user):
        return HttpResponse(status=404)
    url = second_factor.key_url(request.user, second_factor.pending_key(request))  # type: ignore[arg-type]
    picture = io.BytesIO()
    segno.make_qr(url).save(picture, kind="svg", scale=5, border=3, light="#fff", nl=False)
    return HttpResponse(picture.getvalue(), content_type="image/svg+xml; charset=utf-8")


@factor_page
@posts_only
def set_up(request: HttpRequest) -> HttpResponse:
    """Takes the first code of a new factor, and shows the recovery codes, only this once."""
    if second_factor.has_factor(request.user):
        return redirect("console:second-factor")
    form = CodeForm(request.POST)
    codes = second_factor.set_up(request, form.typed)
    if codes is None:
        record_refusal(request, reason=WRONG_CODE)
        form.reject("This code is wrong. Check that your phone’s clock is set automatically, then try again.")
        return _set_up_page(request, form, status=403)
    _record(request, "second factor set up", result="has a second factor")
    return _codes_page(request, codes)


@act(VIEW, confirmed=True)
def renew_codes(request: HttpRequest) -> HttpResponse:
    """Makes new recovery codes, and shows them."""
    if not second_factor.has_factor(request.user):
        return redirect("console:second-factor")
    codes = second_factor.renew_recovery_codes(request.user)
    _record(request, "second factor codes", result="has new recovery codes")
    return _codes_page(request, codes)


@act(VIEW, confirmed=True)
def remove(request: HttpRequest) -> HttpResponse:
    """Removes the factor, so that another one can be set up."""
    second_factor.remove(request.user)
    _record(request, "second factor remove", result="has no second factor")
    messages.info(request, "Your second factor has been removed.")
    return redirect("console:second-factor")


def _codes_page(request: HttpRequest, codes: list[str]) -> HttpResponse:
    return render(request, "console/access/codes.html", {"codes": codes, "next": next_url(request)})


def _record(request: HttpRequest, act_name: str, *, result: str) -> None:
    username = request.user.get_username()
    audit.record(actor=actor(request), act=act_name, target=username, result=result)
