"""Getting into an account: signing up, signing in and out, and replacing a forgotten password.

None of these pages reveals whether an account exists. Everyone who signs up or forgot a password sees the same page
and gets an email; only the email depends on whether there is an account.
"""

from typing import Any

from axes.utils import reset as forget_guesses
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from orders.access import known_devices, sign_up_links
from orders.access.attempts import attempt_of
from orders.services import accounts as account_services
from orders.shop import my_orders
from orders.shop.storefront.account_forms import ForgottenForm, NewPasswordForm, SignInForm, SignUpForm

BACKEND = "django.contrib.auth.backends.ModelBackend"
LONGEST_NEXT = 500
"""The most characters of a path to continue to."""

never_stored = method_decorator(never_cache, name="dispatch")
form_methods = require_http_methods(["GET", "HEAD", "POST"])


def safe_next(request: HttpRequest) -> str:
    """The path in `next` to continue to; empty unless it is a URL without a host, since an email may lead to it."""
    next_path = request.POST.get("next", request.GET.get("next", ""))[:LONGEST_NEXT]
    return next_path if url_has_allowed_host_and_scheme(next_path, allowed_hosts=None) else ""


class SignIn(LoginView):
    """Signs in with email and password."""

    template_name = "account/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Adds a picture, and `next` for the link to sign up."""
        context = {"picture": my_orders.picture(3), "following": safe_next(self.request)}
        return super().get_context_data(**kwargs) | context


@never_stored
class SignOut(LogoutView):
    """Ends the session. POST only."""

    http_method_names = ["post", "options"]
    next_page = "shop:catalogue"


@login_not_required
@never_cache
@form_methods
def sign_up(request: HttpRequest) -> HttpResponse:
    """Asks for an email address, and requests the email with the next step."""
    if request.user.is_authenticated:
        return redirect("account:overview")
    form = SignUpForm(request.POST or None)
    following = safe_next(request)
    if form.is_valid():
        account_services.ask_to_sign_up(
            email=form.cleaned_data["email"],
            following=following,
            language=get_language() or "en",
            attempt=attempt_of(request),
        )
        request.session["emailed"] = form.cleaned_data["email"]
        return redirect("account:sign-up-sent")
    context = {"form": form, "following": following, "picture": my_orders.picture(2)}
    return render(request, "account/sign_up.html", context)


@login_not_required
@never_cache
@require_safe
def show_sent(request: HttpRequest, about: str) -> HttpResponse:
    """Says that an email is on its way; `about` is sign-up or password."""
    context = {
        "about": about,
        "email": request.session.get("emailed", ""),
        "picture": my_orders.picture(1),
    }
    return render(request, "account/sent.html", context)


@login_not_required
@never_cache
@sensitive_post_parameters()
@form_methods
def finish_sign_up(request: HttpRequest, token: str) -> HttpResponse:
    """The page that the emailed link leads to: choosing a password creates the account and signs in."""
    sign_up = sign_up_links.read_token(token)
    if sign_up is None:
        return render(request, "account/stale.html", {"again": "account:sign-up"}, status=410)
    email = sign_up.email
    form = NewPasswordForm(User(username=email, email=email), request.POST or None)
    if form.is_valid():
        account = account_services.create_account(email=email, password=form.cleaned_data["new_password1"])
        if account is None:
            messages.info(request, _("You already have an account. Sign in to continue."))
            return redirect("account:sign-in")
        login(request, account.user, backend=BACKEND)
        messages.success(request, _welcome(account.earlier_orders))
        return redirect(sign_up.next_path or "account:overview")
    context = {"form": form, "email": email, "picture": my_orders.picture(2)}
    return render(request, "account/finish.html", context)


def _welcome(earlier_orders: int) -> str:
    if not earlier_orders:
        return _("Welcome! Your account is ready.")
    return ngettext(
        "Welcome! Your account is ready, and the order that you placed with this email before is in it.",
        "Welcome! Your account is ready, and the {count} orders that you placed with this email before are in it.",
        earlier_orders,
    ).format(count=earlier_orders)


@login_not_required
@never_cache
@form_methods
def forgotten(request: HttpRequest) -> HttpResponse:
    """Asks for the email address of the account whose password was forgotten."""
    form = ForgottenForm(request.POST or None)
    if form.is_valid():
        account_services.ask_for_new_password(
            email=form.cleaned_data["email"], language=get_language() or "en", attempt=attempt_of(request)
        )
        request.session["emailed"] = form.cleaned_data["email"]
        return redirect("account:forgotten-sent")
    context = {"form": form, "picture": my_orders.picture(4)}
    return render(request, "account/forgotten.html", context)


class Reset(PasswordResetConfirmView):
    """The page that the emailed link leads to. Django keeps the link's secret in the session and out of the URL."""

    template_name = "account/reset.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("account:sign-in")

    def form_valid(self, form: Any) -> HttpResponse:
        """Sets the password, which ends every session, and clears failed sign-ins: the owner has proved who she is."""
        response = super().form_valid(form)
        forget_guesses(username=form.user.get_username().lower())
        known_devices.remember(self.request, form.user)
        messages.success(self.request, _("Your password has been changed. Sign in with it now."))
        return response

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """The form, or a page that says that the link is no longer valid."""
        if not self.validlink:
            return render(self.request, "account/stale.html", {"again": "account:forgotten"}, status=410)
        return super().render_to_response(context | {"picture": my_orders.picture(4)}, **kwargs)
