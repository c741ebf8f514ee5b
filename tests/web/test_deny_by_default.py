"""Every url requires a sign-in unless it is listed here, so a new page is closed until somebody opens it."""

from collections.abc import Iterable, Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.support.order_bodies import EMAIL
from tests.support.people import token_of
from tests.web.helpers import ORDERS

PUBLIC = {
    "": {None, "set-language"},  # the first leads to the console where no business has a page
    "account": {"sign-in", "sign-up", "sign-up-sent", "finish", "forgotten", "forgotten-sent", "reset"},
    "shop": {
        *("catalogue", "picture", "picture-png", "poster", "design", None),
        *("shipping", "returns", "privacy", "contact"),
        *("cart", "cart-add", "cart-change", "cart-remove"),
        *("order-receipt", "guest-order-receipt"),
        *(
            "checkout",
            "checkout-sum",
            "find-order",
            "order-pay",
            "guest-order-pay",
            "order-again",
            "guest-order-again",
        ),
    },
    "order": {
        *("page", "progress", "seen", "cancel"),
        *("guest-page", "guest-progress", "guest-seen", "guest-cancel", "guest-renew"),
        *("correct", "guest-correct", "address-rules"),
    },
    "callbacks": {"answer", "unknown"},
    "console": {"sign-in"},
    "admin": {"login"},
}
"""By namespace. A callback's own token is its proof. The API is not here: its views ask for a token themselves
(REST_FRAMEWORK)."""


def views(
    patterns: Iterable[URLPattern | URLResolver], namespace: str = ""
) -> Iterator[tuple[str, URLPattern]]:
    """Every view, with its namespace."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns, pattern.namespace or namespace)
        else:
            yield namespace, pattern


def test_only_the_urls_listed_here_are_public() -> None:
    assert "django.contrib.auth.middleware.LoginRequiredMiddleware" in settings.MIDDLEWARE
    public: dict[str, set[str | None]] = {}
    for namespace, pattern in views(get_resolver().url_patterns):
        if namespace != "api" and not getattr(pattern.callback, "login_required", True):
            public.setdefault(namespace, set()).add(pattern.name)
    assert public == PUBLIC


@pytest.mark.django_db
def test_the_api_takes_its_own_tokens_and_answers_strangers_itself(client: Client) -> None:
    token = token_of(User.objects.create_user(EMAIL))
    assert client.get(ORDERS, headers={"Authorization": f"Token {token}"}).status_code == 200
    refused = client.get(ORDERS)
    assert (refused.status_code, refused["Content-Type"]) == (401, "application/problem+json")
    for path in ("/api/v1/products", "/api/schema/", "/api/docs/", "/api/problems/not_found", "/healthz"):
        assert client.get(path).status_code == 200, path
    assert client.get("/api/nothing").status_code == 404


@pytest.mark.django_db
def test_a_shop_session_does_not_authenticate_at_the_api(client: Client) -> None:
    client.force_login(User.objects.create_user(EMAIL))
    assert client.get(ORDERS).status_code == 401
    assert client.get("/admin/").status_code == 302
