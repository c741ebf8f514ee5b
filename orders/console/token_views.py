"""The API tokens of the operator: the list, creating one, and revoking one. Administrators see everybody's."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from orders.access import used_forms
from orders.access.api_versions import supported
from orders.access.levels import ADMINISTER, VIEW
from orders.console.forms.tokens import TokenForm
from orders.console.guards import act, actor, ask_then_act, page
from orders.fields.numbers import LARGEST_ID
from orders.selectors import api_tokens
from orders.selectors.database_clock import now
from orders.services import api_tokens as token_services

ROTATED = "rotate"
"""The field with the key of a token that is to be rotated."""


@page
def _show(request: HttpRequest) -> HttpResponse:
    return _tokens_page(request, TokenForm(user=request.user))


@act(VIEW, confirmed=True)
def _create(request: HttpRequest) -> HttpResponse:
    if request.POST.get(ROTATED):
        return _rotate(request, request.POST[ROTATED])
    form = TokenForm(request.POST, user=request.user)
    if not form.is_valid():
        return _tokens_page(request, form)
    form_key = str(form.cleaned_data.pop("form_key"))
    with used_forms.taking(request.session, form_key) as is_first:  # type: ignore[arg-type]  # `SESSION_ENGINE`
        if is_first:
            token, secret = token_services.create(
                user=request.user,  # type: ignore[arg-type]  # signed in
                actor=actor(request),
                **form.cleaned_data,
            )
    if not is_first:  # the page with the new token was loaded again, or the form was posted twice
        messages.error(
            request,
            "Nothing has been created: the form’s token is there, and is not shown again. If you have not copied it,"
            " revoke it and create another.",
        )
        return redirect("console:tokens")
    return render(request, "console/tokens/new.html", {"token": token, "secret": secret})


def _rotate(request: HttpRequest, token_id: str) -> HttpResponse:
    """Replaces a token of the operator's own account: whoever sees the new one can act as that account."""
    key = min(int(token_id), LARGEST_ID) if token_id.isdecimal() else 0
    token = api_tokens.find_token(key, user_id=request.user.pk or 0)
    if token is None:
        raise Http404
    try:
        successor, secret = token_services.rotate(token=token, actor=actor(request))
    except ValueError as error:
        messages.error(request, f"Nothing has been changed: {error}.")
        return redirect("console:tokens")
    token = api_tokens.find_token(key, user_id=request.user.pk)
    context = {"token": successor, "secret": secret, "predecessor": token}
    return render(request, "console/tokens/new.html", context)


show_tokens = ask_then_act(_show, _create)
"""Shows the tokens, newest first, and creates one for the operator's own account, or one in place of another, which is
shown only this once: a page that reads itself again must not be at a url of its own."""


@page
def _ask_to_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    if api_tokens.find_token(min(token_id, LARGEST_ID), user_id=None) is None:
        return redirect("console:tokens")  # it is gone, perhaps while this page reads itself again
    return render(request, "console/tokens/revoke.html", {"token": _token(request, token_id)})


@act(VIEW)
def _revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    token = _token(request, token_id)
    token_services.revoke(token=token, actor=actor(request))
    messages.success(request, f"The token {token} has been revoked.")
    return redirect("console:tokens")


revoke = ask_then_act(_ask_to_revoke, _revoke)
"""Shows what a token is for and when it was last used, and revokes it."""


@act(VIEW)
def pin(request: HttpRequest, token_id: int) -> HttpResponse:
    """Pins a token to a version of the API."""
    token = _token(request, token_id)
    try:
        token_services.pin(token=token, version=request.POST.get("version", ""), actor=actor(request))
    except ValueError as error:
        messages.error(request, f"The token {token} stays as it is: {error}.")
    else:
        messages.success(request, f"Version {request.POST['version']} answers the token {token} from now on.")
    return redirect("console:tokens")


def _token(request: HttpRequest, token_id: int) -> Any:
    """A token that the operator may change. Raises `Http404`."""
    token = api_tokens.find_token(min(token_id, LARGEST_ID), user_id=_owner(request))
    if token is None:
        raise Http404
    return token


def _owner(request: HttpRequest) -> int | None:
    """The account whose tokens the operator may see and revoke; None for all."""
    return None if request.user.has_perm(ADMINISTER) else request.user.pk


def _tokens_page(request: HttpRequest, form: TokenForm) -> HttpResponse:
    owner, time = _owner(request), now()
    context = {
        "tokens": api_tokens.tokens(user_id=owner),
        "is_everybodys": owner is None,
        "form": form,
        "now": time,
        "versions": supported(time),
    }
    return render(request, "console/tokens/list.html", context, status=422 if form.errors else 200)
