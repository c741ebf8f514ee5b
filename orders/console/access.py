"""Who may see a page of the console, and who may act: the permissions of the roles viewer, operator and admin."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST, require_safe

View = Callable[..., HttpResponseBase]

VIEW = "orders.view_console"
OPERATE = "orders.operate"
ADMINISTER = "orders.administer"


def page(view: View) -> View:
    """A page that whoever may look at the console can read."""
    return require_safe(_needs(VIEW, view))


def act(permission: str) -> Callable[[View], View]:
    """A view that changes something: by POST only, and only with this permission."""

    def guarded(view: View) -> View:
        return require_POST(_needs(permission, view))

    return guarded


def _needs(permission: str, view: View) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.has_perm(permission):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded
