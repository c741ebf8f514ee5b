"""Getting into an account: signing up, in and out, and setting a password that was forgotten.

None of these pages says whether there is an account. Who signs up or has forgotten her password gets a mail, and the
same page as everybody else; what the mail says depends on what there is.
"""

from typing import Any

from axes.utils import reset as forget_guesses
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from orders.mail import accounts as account_mail
from orders.selectors import accounts as account_selectors
from orders.services import accounts as account_services
from orders.storefront.account_forms import ForgottenForm, NewPasswordForm, SignInForm, SignUpForm

BACKEND = "django.contrib.auth.backends.ModelBackend"
LONGEST_NEXT = 500

never_stored = method_decorator(never_cache, name="dispatch")
form_methods = require_http_methods(["GET", "HEAD", "POST"])


def safe_next(request: HttpRequest) -> str:
    """Where to go afterwards, as `next` asks; empty unless that is an address of this host."""
    asked = request.POST.get("next", request.GET.get("next", ""))[:LONGEST_NEXT]
    is_ours = url_has_allowed_host_and_scheme(
        asked, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return asked if is_ours else ""


def _site(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


class SignIn(LoginView):
    """E-mail and password."""

    template_name = "account/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Adds a picture, and `next` for the way to sign up."""
        more = {"picture": account_selectors.picture(3), "following": safe_next(self.request)}
        return super().get_context_data(**kwargs) | more


@never_stored
class SignOut(LogoutView):
    """Ends the session; by POST only."""

    http_method_names = ["post", "options"]
    next_page = "shop:catalogue"


@login_not_required
@never_cache
@form_methods
def sign_up(request: HttpRequest) -> HttpResponse:
    """Asks for an e-mail address, and has the mail sent that leads on."""
    if request.user.is_authenticated:
        return redirect("account:overview")
    form = SignUpForm(request.POST or None)
    following = safe_next(request)
    if form.is_valid():
        account_services.ask_to_sign_up(
            email=form.cleaned_data["email"],
            site=_site(request),
            following=following,
            language=get_language() or "en",
        )
        request.session["asked_email"] = form.cleaned_data["email"]
        return redirect("account:sign-up-sent")
    context = {"form": form, "following": following, "picture": account_selectors.picture(2)}
    return render(request, "account/sign_up.html", context)


@login_not_required
@never_cache
@require_safe
def show_sent(request: HttpRequest, about: str) -> HttpResponse:
    """Says that a mail is on its way; `about` is sign-up or password."""
    context = {
        "about": about,
        "email": request.session.get("asked_email", ""),
        "picture": account_selectors.picture(1),
    }
    return render(request, "account/sent.html", context)


@login_not_required
@never_cache
@sensitive_post_parameters()
@form_methods
def finish_sign_up(request: HttpRequest, token: str) -> HttpResponse:
    """What the link of the mail leads to: choosing a password makes the account and signs in."""
    said = account_mail.read_sign_up(token)
    if said is None:
        return render(request, "account/stale.html", {"again": "account:sign-up"}, status=410)
    email, following = said
    form = NewPasswordForm(User(username=email, email=email), request.POST or None)
    if form.is_valid():
        user = account_services.create_account(email=email, password=form.cleaned_data["new_password1"])
        if user is None:
            messages.info(request, _("This address has an account already. Please sign in."))
            return redirect("account:sign-in")
        login(request, user, backend=BACKEND)
        messages.success(request, _("Welcome. Your account is ready."))
        return redirect(following or "account:overview")
    context = {"form": form, "email": email, "picture": account_selectors.picture(2)}
    return render(request, "account/finish.html", context)


@login_not_required
@never_cache
@form_methods
def forgotten(request: HttpRequest) -> HttpResponse:
    """Asks for the e-mail address of the account whose password is forgotten."""
    form = ForgottenForm(request.POST or None)
    if form.is_valid():
        account_services.ask_for_new_password(
            email=form.cleaned_data["email"], site=_site(request), language=get_language() or "en"
        )
        request.session["asked_email"] = form.cleaned_data["email"]
        return redirect("account:forgotten-sent")
    context = {"form": form, "picture": account_selectors.picture(4)}
    return render(request, "account/forgotten.html", context)


class Reset(PasswordResetConfirmView):
    """What the link of the mail leads to. Django keeps its secret in the session and out of the address."""

    template_name = "account/reset.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("account:sign-in")

    def form_valid(self, form: NewPasswordForm) -> HttpResponse:
        """Sets the password, which ends every session, and forgets earlier guesses: its owner has proved herself."""
        response = super().form_valid(form)
        forget_guesses(username=self.user.get_username().lower())
        messages.success(self.request, _("The new password holds. Please sign in with it."))
        return response

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponseBase:
        """The form; or the page that says that the link does not hold any more."""
        if not self.validlink:
            return render(self.request, "account/stale.html", {"again": "account:forgotten"}, status=410)
        return super().render_to_response(context | {"picture": account_selectors.picture(4)}, **kwargs)
