"""The API tokens of the operator: the list, creating one, and revoking one. Administrators see everybody's."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from orders.access.levels import ADMINISTER, VIEW
from orders.console.forms.tokens import TokenForm
from orders.console.guards import act, actor, ask_then_act, page
from orders.fields.numbers import LARGEST_ID
from orders.selectors import api_tokens
from orders.selectors.database_clock import now
from orders.services import api_tokens as token_services


@page
def _show(request: HttpRequest) -> HttpResponse:
    return _tokens_page(request, TokenForm(user=request.user))


@act(VIEW, confirmed=True)
def _create(request: HttpRequest) -> HttpResponse:
    form = TokenForm(request.POST, user=request.user)
    if not form.is_valid():
        return _tokens_page(request, form)
    token, secret = token_services.create(
        user=request.user,  # type: ignore[arg-type]  # signed in
        actor=actor(request),
        **form.cleaned_data,
    )
    return render(request, "console/tokens/new.html", {"token": token, "secret": secret})


show_tokens = ask_then_act(_show, _create)
"""Shows the tokens, newest first, and creates one for the operator's own account, which is shown only this once."""


@act(VIEW)
def revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revokes a token."""
    token = api_tokens.find_token(min(token_id, LARGEST_ID), user_id=_owner(request))
    if token is None:
        raise Http404
    token_services.revoke(token=token, actor=actor(request))
    messages.success(request, f"The token {token} has been revoked.")
    return redirect("console:tokens")


def _owner(request: HttpRequest) -> int | None:
    """The account whose tokens the operator may see and revoke; None for all."""
    return None if request.user.has_perm(ADMINISTER) else request.user.pk


def _tokens_page(request: HttpRequest, form: TokenForm) -> HttpResponse:
    owner = _owner(request)
    context = {
        "tokens": api_tokens.tokens(user_id=owner),
        "is_everybodys": owner is None,
        "form": form,
        "now": now(),
    }
    return render(request, "console/tokens/list.html", context, status=422 if form.errors else 200)
