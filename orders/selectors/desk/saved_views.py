"""The saved views of the list of orders: an operator's own, and those that somebody shares."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from orders.models import SavedView
from orders.selectors.desk.query import QueryError, parse

MOST_OWN = 30
"""Views of one operator."""
MOST_SHARED = 100
"""Views that are shared. With `MOST_OWN` a bound on what one operator sees."""

Account = User | AbstractBaseUser | AnonymousUser


@dataclass(frozen=True, kw_only=True)
class ViewRow:
    """A saved view, as one operator sees it. `problem` says why its query cannot be read; empty if it can.

    The names in the query are not looked up: the list of orders does that.
    """

    id: int
    name: str
    query: str
    is_shared: bool
    owner: str
    at: datetime
    by: str
    is_own: bool
    can_change: bool
    problem: str

    @property
    def url_query(self) -> str:
        """The query string of the list of orders."""
        return urlencode({"q": self.query})


def views_of(account: Account) -> list[ViewRow]:
    """The views that an account sees, its own first, each part by name. One query."""
    rows = _visible(account).select_related("owner").order_by(Lower("name"))
    return sorted((_row(view, account) for view in rows), key=lambda row: not row.is_own)


def view_of(view_id: int, account: Account) -> ViewRow | None:
    """The view with this number; None if there is none that the account sees."""
    view = _visible(account).select_related("owner").filter(pk=view_id).first()
    return _row(view, account) if view else None


def view_called(name: str, account: Account) -> ViewRow | None:
    """The account's own view of this name; None if it has none."""
    views = SavedView.objects.select_related("owner").filter(owner_id=account.pk)
    view = views.filter(name__iexact=" ".join(name.split())).first()
    return _row(view, account) if view else None


def named(name: str) -> Sequence[ViewRow]:
    """The shared view with this name, for who has no account, and if there is none all others of this name."""
    views = list(SavedView.objects.select_related("owner").filter(name__iexact=name.strip()).order_by("id"))
    shared = [view for view in views if view.is_shared]
    return [_row(view, AnonymousUser()) for view in shared or views]


def shared_names() -> list[str]:
    """The names of the views that are shared."""
    return list(
        SavedView.objects.filter(is_shared=True).order_by(Lower("name")).values_list("name", flat=True)
    )


def may_change(view: SavedView, account: Account) -> bool:
    """Whether an account may change or delete a view that it sees: its owner and, if it is shared, an admin."""
    if not isinstance(account, User) or not account.has_perm("orders.operate"):
        return False
    return view.owner_id == account.pk or (view.is_shared and account.has_perm("orders.administer"))


def problem_of(query: str) -> str:
    """Why a query cannot be read; empty if it can."""
    try:
        parse(query)
    except QueryError as error:
        return str(error)
    return ""


def _visible(account: Account) -> QuerySet[SavedView]:
    return SavedView.objects.filter(Q(owner_id=account.pk) | Q(is_shared=True))


def _row(view: SavedView, account: Account) -> ViewRow:
    return ViewRow(
        id=view.pk,
        name=view.name,
        query=view.query,
        is_shared=view.is_shared,
        owner=view.owner.get_username(),
        at=view.at,
        by=view.by,
        is_own=view.owner_id == account.pk,
        can_change=may_change(view, account),
        problem=problem_of(view.query),
    )
