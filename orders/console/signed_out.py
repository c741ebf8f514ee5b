"""Forms of the console that come after their session has ended: nothing is done, and signing in leads back to them."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from orders.console.guards import SAFE_METHODS, SIGN_IN, previous_page, readable_page

NOT_TAKEN = "not_taken"
"""The parameter of the sign-in page, and the session's key, that says that a form was refused because nobody was
signed in."""


class SignedOutForms:
    """Middleware that asks whoever sends a form of the console to sign in, and then leads to the page with the form.

    It must come before Django's, which would lead to where the form was sent."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *_: Any) -> HttpResponseBase | None:
        is_form = request.method not in SAFE_METHODS and getattr(view, "login_url", "") == SIGN_IN
        if not is_form or request.user.is_authenticated:
            return None
        return redirect(f"{reverse(SIGN_IN)}?{urlencode({'next': _page_with_form(request), NOT_TAKEN: '1'})}")


def _page_with_form(request: HttpRequest) -> str:
    """The path of the page that a form was sent from, with its query, as far as that is known and can be read."""
    came_from = urlsplit(previous_page(request, unknown=request.path))
    path = readable_page(came_from.path)
    return f"{path}?{came_from.query}" if came_from.query and path == came_from.path else path


def say_nothing_was_done(request: HttpRequest) -> None:
    """Says after signing in, once, that the form was not taken."""
    if request.session.pop(NOT_TAKEN, False):
        messages.warning(request, "You had been signed out. Nothing was done: press the button again.")
