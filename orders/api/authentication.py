"""Authenticates clients by `Authorization: Token <token>`. Knox stores only hashes of the tokens."""

import re
from typing import Any

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication as KnoxAuthentication
from knox.crypto import hash_token
from knox.models import get_token_model
from rest_framework.exceptions import AuthenticationFailed

TOKEN = re.compile(rb"[A-Za-z0-9_-]{20,100}")


class TokenAuthentication(KnoxAuthentication):
    """Looks a token up by its hash in one query. Knox itself takes two, and deletes expired tokens meanwhile."""

    def authenticate_credentials(self, token: bytes) -> tuple[Any, Any]:
        """The user and the token. Raises `AuthenticationFailed`."""
        match = None
        if TOKEN.fullmatch(token):
            tokens = get_token_model().objects.select_related("user")
            match = tokens.filter(digest=hash_token(token.decode())).first()
        if match is None or (match.expiry and match.expiry <= timezone.now()) or not match.user.is_active:
            raise AuthenticationFailed("The token is unknown, has expired, or its account is closed.")
        return match.user, match


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes `Authorization: Token <token>` in the OpenAPI document."""

    target_class = "orders.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token <token>`",
        }
