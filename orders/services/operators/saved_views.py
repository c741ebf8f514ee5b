"""Saves queries of the list of orders under a name, for oneself or for all operators.

Whoever takes a query from a person has looked up the names in it (`orders.wording.queries`): here it need only be one.
"""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from orders.access.levels import may_operate
from orders.engine.errors import SaswebError
from orders.engine.runtime.sql import database_now, fetch
from orders.models import SavedView
from orders.models.views import LONGEST_VIEW_NAME as LONGEST_VIEW_NAME
from orders.selectors.desk.query import LONGEST_QUERY
from orders.selectors.desk.saved_views import MOST_OWN, MOST_SHARED, may_change, problem_of
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused


class NoSuchViewError(SaswebError):
    """Raised when there is no view with a number, or none that whoever asks may see."""


def save(*, actor: Actor, name: str, query: str, is_shared: bool = False) -> Result:
    """Saves a query as a view of whoever asks. The same view is saved once."""
    with transaction.atomic():
        _take_turns()
        account = may_operate().filter(username=actor.name).first()
        if account is None:
            result = refused(f"{actor.name} is not an operator’s account, so it cannot have views.")
            return _record(result, "views", actor=actor, act="save view")
        view = SavedView(owner=account, name=_tidy(name), query=query.strip(), is_shared=is_shared)
        same = SavedView.objects.filter(owner=account, name=view.name, query=view.query, is_shared=is_shared)
        if same.exists():
            return already(f"The view “{view.name}” is saved already.")
        if problem := _refusal(view):
            return _record(refused(problem), "views", actor=actor, act="save view")
        _store(view, actor)
        result = done(f"The view “{view.name}” is saved{_for_whom(view)}.")
        return _record(result, f"view {view.pk}", actor=actor, act="save view", after=_facts(view))


def change(
    *,
    actor: Actor,
    view_id: int,
    name: str | None = None,
    query: str | None = None,
    is_shared: bool | None = None,
) -> Result:
    """Changes what is given of a view; None leaves it as it is. Its owner does that or, if it is shared, an admin.

    Raises `NoSuchViewError`.
    """
    with transaction.atomic():
        _take_turns()
        view, problem = _find(view_id, actor)
        before = _facts(view)
        view.name = view.name if name is None else _tidy(name)
        view.query = view.query if query is None else query.strip()
        view.is_shared = view.is_shared if is_shared is None else is_shared
        target = f"view {view.pk}"
        if problem := problem or (_refusal(view) if _facts(view) != before else ""):
            return _record(refused(problem), target, actor=actor, act="change view")
        if _facts(view) == before:
            return already("The view is the same as before.")
        _store(view, actor)
        result = done(f"The view “{view.name}” is changed{_for_whom(view)}.")
        changes = {"before": before, "after": _facts(view)}
        return _record(result, target, actor=actor, act="change view", **changes)


def delete(*, actor: Actor, view_id: int) -> Result:
    """Deletes a view. Its owner does that or, if it is shared, an admin. Raises `NoSuchViewError`."""
    with transaction.atomic():
        _take_turns()
        view, problem = _find(view_id, actor)
        target, before = f"view {view.pk}", _facts(view)
        if problem:
            return _record(refused(problem), target, actor=actor, act="delete view")
        view.delete()
        result = done(f"The view “{view.name}” is deleted. No order has changed.")
        return _record(result, target, actor=actor, act="delete view", before=before)


def _take_turns() -> None:
    """Views are saved rarely, so those who do it take turns: names and numbers of views are counted before a write."""
    fetch("SELECT pg_advisory_xact_lock(hashtextextended('saved views', 0))")


def _find(view_id: int, actor: Actor) -> tuple[SavedView, str]:
    """The view, and why whoever asks may not change it. Raises `NoSuchViewError` for one that she does not see."""
    account = User.objects.filter(username=actor.name).first()
    view = SavedView.objects.select_related("owner").filter(pk=view_id).first()
    if account is None or view is None or not (view.is_shared or view.owner_id == account.pk):
        raise NoSuchViewError(f"there is no view {view_id}")
    if may_change(view, account):
        return view, ""
    return view, f"Only {view.owner.get_username()} or an admin changes or deletes this view."


def _refusal(view: SavedView) -> str:
    """Why a view cannot be saved like this; empty if it can. Up to four queries."""
    if not view.name:
        return "Enter a name for the view."
    if len(view.name) > LONGEST_VIEW_NAME:
        return f"Shorten the name to {LONGEST_VIEW_NAME} characters."
    return _refusal_of_query(view.query) or _refusal_of_name(view) or _refusal_of_number(view)


def _refusal_of_query(query: str) -> str:
    if not query:
        return "Enter a query: a view of all orders is the list itself."
    if len(query) > LONGEST_QUERY:
        return f"Shorten the query to {LONGEST_QUERY} characters."
    return problem_of(query)


def _refusal_of_name(view: SavedView) -> str:
    others = SavedView.objects.exclude(pk=view.pk).filter(name__iexact=view.name).select_related("owner")
    if others.filter(owner=view.owner).exists():
        return (
            f"{view.owner} has a view called “{view.name}” already. Choose another name, or change that view."
        )
    shared = others.filter(is_shared=True).first()
    if shared is not None:
        return f"{shared.owner} shares a view called “{shared.name}”. Choose another name."
    return ""


def _refusal_of_number(view: SavedView) -> str:
    others = SavedView.objects.exclude(pk=view.pk)
    if view.pk is None and others.filter(owner=view.owner).count() >= MOST_OWN:
        return (
            f"{view.owner} has {MOST_OWN} views, which is the most. Delete one that is not needed any more."
        )
    if view.is_shared and others.filter(is_shared=True).count() >= MOST_SHARED:
        return f"{MOST_SHARED} views are shared, which is the most. Keep this one to yourself, or delete one."
    return ""


def _store(view: SavedView, actor: Actor) -> None:
    view.by, view.at = actor.name, database_now()
    view.save()


def _tidy(name: str) -> str:
    return " ".join(name.split())


def _for_whom(view: SavedView) -> str:
    return ". All operators see it" if view.is_shared else ""


def _facts(view: SavedView) -> dict[str, Any]:
    return {"name": view.name, "query": view.query, "is_shared": view.is_shared}


def _record(
    result: Result, target: str, *, actor: Actor, act: str, before: Any = None, after: Any = None
) -> Result:
    audit.record(
        actor=actor,
        act=act,
        target=target,
        result=result.message,
        allowed=result.status is not ResultStatus.REFUSED,
        before=before,
        after=after,
    )
    return result
