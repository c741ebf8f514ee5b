"""Authenticates clients by `Authorization: Token <token>`."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from orders.access import api_tokens
from orders.api.rate_limits import count_stranger
from orders.api.repeated_headers import is_repeated
from orders.api.request_log import note_token
from orders.api.versions import choose_version

SCHEME = "Token"


class TokenExpiredError(AuthenticationFailed):
    """Raised when a token is right but has expired."""


def valid_token(token: Any, *, now: datetime) -> Any:
    """The row of a token, if it may be used; None is of no token. Raises `AuthenticationFailed`."""
    if token is None or not token.user.is_active:
        raise AuthenticationFailed(
            "The token is unknown or has been revoked, or its account is closed. Create a new one with"
            " `manage.py token`, or ask an admin for it."
        )
    if token.expires_at <= now:
        raise TokenExpiredError(f"The token expired on {token.expires_at:%Y-%m-%d}. Create a new one.")
    return token


class TokenAuthentication(BaseAuthentication):
    """Looks a token up by its hash in one query, and notes its use once a minute."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """The account and the row of the token; None if none was sent. Raises `AuthenticationFailed`,
        `RateLimitedError` if there were too many that are not valid, and `UnsupportedVersionError`."""
        if is_repeated(request, "Authorization"):
            raise AuthenticationFailed("There is more than one Authorization header. Send one token.")
        scheme, _, secret = get_authorization_header(request).partition(b" ")
        now = timezone.now()
        if scheme.lower() != SCHEME.lower().encode():
            choose_version(request, None, now=now)
            return None
        token = api_tokens.find(secret.decode("latin-1"))
        note_token(request, token)
        try:
            token = valid_token(token, now=now)
        except AuthenticationFailed:
            count_stranger(request)
            raise
        choose_version(request, token, now=now)
        api_tokens.note_use(token, now=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """The scheme that a client without a token should use."""
        return SCHEME


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes `Authorization: Token <token>` in the OpenAPI document."""

    target_class = "orders.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": (
                "The word `Token`, a space and the token: `Token <token>`. A token has scopes and an expiry date. "
                "`read` reads, `orders` places and cancels the account's own orders and deletes its messages, "
                "`priority` places orders with a priority above 5, `operate` acts on one step or agent, and reads any "
                "order, and `compensate` cancels orders, and acts on many."
            ),
        }
