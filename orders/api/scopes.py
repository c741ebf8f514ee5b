"""What a token may do: each view names the scope that its acts need. Reading needs the scope that every token has,
except for everybody's orders."""

from collections.abc import Container
from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from orders.vocabulary import TokenScope
from orders.wording.token_scopes import ACTS


class MissingScopeError(Exception):
    """Raised when a token lacks the scope that a request needs. `detail` says how to get one that has it."""

    def __init__(self, needed: TokenScope, *, token: Any) -> None:
        super().__init__(needed)
        self.needed = needed
        scopes = [
            scope for scope in TokenScope if scope in {needed, *token.scopes} and scope != TokenScope.READ
        ]
        self.detail = (
            f"This token has {_named(token.scopes)}. To {ACTS[needed]}, create one with the scope `{needed}`: "
            f"`manage.py token {token.user.get_username()} --scope {' '.join(scopes)}`."
        )


class MayUseScope(BasePermission):
    """Lets a request pass if its token has the scope that the view needs. Raises `MissingScopeError`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.auth is None:
            return False
        needed = scope_of(view, request.method)
        if needed is not None:
            require(request, needed)
        return True


def scope_of(view: Any, method: str | None) -> TokenScope | None:
    """The scope that a method of a view needs; None if it has no such method. A view may name a `reading_scope` of its
    own.

    Raises `AttributeError` if a view that acts names no scope.
    """
    if method in SAFE_METHODS:
        reading_scope: TokenScope = getattr(view, "reading_scope", TokenScope.READ)
        return reading_scope
    if not hasattr(view, (method or "").lower()):
        return None
    scope: TokenScope = view.scope
    return scope


def require(request: Request, needed: TokenScope) -> None:
    """Raises `MissingScopeError` unless the request's token has this scope."""
    token: Any = request.auth
    if needed not in token.scopes:
        raise MissingScopeError(needed, token=token)


def _named(scopes: Container[str]) -> str:
    names = [f"`{scope}`" for scope in TokenScope if scope in scopes]
    return f"only the scope {names[0]}" if len(names) == 1 else f"the scopes {', '.join(names)}"
