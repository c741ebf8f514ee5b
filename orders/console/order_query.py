"""The query bar of the list of orders: what it shows, and what the drop-down lists of the filter write into it."""

from collections.abc import Mapping, Sequence
from typing import Any

from orders.console.forms.filters import OrderFilterForm
from orders.console.forms.saved_views import SavedViewForm
from orders.selectors.desk.filters import NAMES, NOTHING_DONE, OrderFilter
from orders.selectors.desk.query import Query
from orders.selectors.desk.query_fields import ANYTHING, FIELDS
from orders.selectors.desk.saved_views import Account, views_of

CHIPS = 12
"""The views that are shown above the list. The page of views has them all."""
FIELD_OF = {"kind": "standing", "code": "error", "older": "age"}
"""The fields of the language that are called something else in the form."""


def bar(form: OrderFilterForm, *, steps: Sequence[str], agents: Sequence[str]) -> Mapping[str, Any]:
    """What the templates of the bar and of the drop-down lists show."""
    order_filter = form.filter
    names = [FIELD_OF.get(name, name) for name in NAMES if name != "q"]
    return {
        "query": order_filter.q if order_filter.is_impossible else str(order_filter.parsed),
        "rest": str(order_filter.parsed.without(*names))
        if not order_filter.is_impossible
        else order_filter.q,
        "fields": FIELDS.values(),
        "suggestions": _suggestions(steps, agents),
        "has_other_errors": bool(form.errors.keys() - {"q"}),
    }


def in_one_query(order_filter: OrderFilter) -> str:
    """The filter with all of its conditions in `q`, as the query of a URL."""
    return OrderFilter(q=str(order_filter.parsed)).query


def saved(order_filter: OrderFilter, account: Account) -> Mapping[str, Any]:
    """The views above the list, which of them the filter is, and the query that could be saved."""
    views = views_of(account)
    query = "" if order_filter.is_impossible else str(order_filter.parsed)
    is_saved = any(view.query in (query, order_filter.q) for view in views)
    return {
        "views": views[:CHIPS],
        "more_views": len(views) - CHIPS if len(views) > CHIPS else 0,
        "view_form": SavedViewForm(query=query) if query and not is_saved else None,
        "written": (query, order_filter.q),
    }


def chosen_in_query(form: OrderFilterForm) -> None:
    """Chooses in the drop-down lists what the query says, where it says one value that a list has."""
    if form.filter.is_impossible:
        return
    query = form.filter.parsed
    for name in NAMES:
        if name != "q" and name in form.fields and (value := _only(query, FIELD_OF.get(name, name))):
            written = {
                "kind": value.replace("_", " "),
                "waiting": NOTHING_DONE if value == ANYTHING else value,
            }
            form.data = {**form.data, name: written.get(name, value)}


def _only(query: Query, name: str) -> str:
    values = query.values_of(name)
    return values[0] if len(values) == 1 else ""


def _suggestions(steps: Sequence[str], agents: Sequence[str]) -> list[tuple[str, str]]:
    """What the bar completes without JavaScript, each with what it finds: a condition for each value that is known, and
    the beginning of one for other fields."""
    values_of = {"step": steps, "agent": agents, "waiting": [ANYTHING, *agents]}
    return [
        (f"{name}:{value}", field.help)
        for name, field in FIELDS.items()
        for value in (values_of.get(name, field.allowed) or [""])
    ]
