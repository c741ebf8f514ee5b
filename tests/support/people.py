"""Accounts for tests, with the permissions of an access level."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from orders.access import api_tokens
from orders.access.levels import LEVELS, permissions
from orders.access.password_hashing import PasswordHasher
from orders.vocabulary import TokenScope

PASSWORD = "nine grey geese at dusk"


class QuickHasher(PasswordHasher):
    """The product's hasher with the least work."""

    time_cost = 1
    memory_cost = 8
    parallelism = 1


def person(role: str, name: str = "", *, password: str | None = None, codes: Sequence[str] = ()) -> User:
    """An account with that role (viewer, operator, admin; anything else is a customer) and further permissions."""
    user = User(username=name or role, email=f"{name or role}@example.com")
    user.set_password(password) if password else user.set_unusable_password()
    user.save()
    user.user_permissions.set(permissions([*LEVELS.get(role, ()), *codes]))
    return user


def signed_in(user: User, **options: object) -> Client:
    """A browser in which this user has signed in."""
    client = Client(**options)  # type: ignore[arg-type]
    client.force_login(user)
    return client


def token_of(user: User, *scopes: TokenScope) -> str:
    """A new API token with these scopes, or with all if none is given."""
    _, token = api_tokens.mint(user, scopes=scopes or list(TokenScope), by="test")
    return token


def api_client(token: str) -> APIClient:
    """A client of the API with this token."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    return client
