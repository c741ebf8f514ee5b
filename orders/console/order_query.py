"""The query bar of the list of orders: what it shows, and what the folded filters write into it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orders.console.forms.filters import CONDITIONS, FoldedFiltersForm, OrderFilterForm
from orders.console.forms.saved_views import SavedViewForm
from orders.selectors.desk.filters import NAMES, NOTHING_DONE, OrderFilter
from orders.selectors.desk.query import Query, QueryError, parse
from orders.selectors.desk.query_fields import ANYTHING, FIELDS
from orders.selectors.desk.saved_views import Account, views_of
from orders.wording.queries import EXPLANATIONS

CHIPS = 12
"""The views that are shown above the list. The page of views has them all."""
FIELD_OF = {"kind": "standing", "code": "error", "older": "age"}
"""The fields of the language that are called something else in the form."""


def bar(
    order_filter: OrderFilter,
    form: OrderFilterForm,
    panel: FoldedFiltersForm,
    *,
    steps: Sequence[str],
    agents: Sequence[str],
) -> Mapping[str, Any]:
    """What the templates of the bar and of the folded filters show."""
    is_read = not order_filter.is_impossible
    query = order_filter.parsed
    return {
        "query": str(query) if is_read else order_filter.q,
        "rest": str(query.without(*_shown(query))) if is_read else order_filter.q,
        "panel": panel,
        "fields": FIELDS.values(),
        "suggestions": _suggestions(steps, agents),
        "has_other_errors": bool(form.errors.keys() - {"q"} or panel.errors),
    }


def read_filter(form: OrderFilterForm, panel: FoldedFiltersForm) -> OrderFilter:
    """The filter of both forms. With an error in either, it matches nothing."""
    order_filter = form.filter
    return replace(order_filter, problems=(*order_filter.problems, *panel.problems))


def in_one_query(order_filter: OrderFilter, panel: FoldedFiltersForm) -> str:
    """The filter with all of its conditions in `q`, as the query of a URL."""
    query = order_filter.parsed
    every = Query(conditions=(*query.conditions, *panel.conditions), text=query.text)
    return OrderFilter(q=str(every)).query


def saved(order_filter: OrderFilter, account: Account) -> Mapping[str, Any]:
    """The views above the list, which of them the filter is, and the query that could be saved."""
    views = views_of(account)
    query = "" if order_filter.is_impossible else str(order_filter.parsed)
    same = [
        view.query for view in views if view.query == order_filter.q or _as_written(view.query) == query != ""
    ]
    return {
        "views": views[:CHIPS],
        "more_views": len(views) - CHIPS if len(views) > CHIPS else 0,
        "view_form": SavedViewForm(query=query) if query and not same else None,
        "written": same,
    }


def _as_written(text: str) -> str:
    """A saved query as it is written today; as it is if it cannot be read."""
    try:
        return str(parse(text))
    except QueryError:
        return text


def chosen_in_query(order_filter: OrderFilter, form: OrderFilterForm, panel: FoldedFiltersForm) -> None:
    """Shows in the folded filters what the query says, where it says one value that they can show."""
    if order_filter.is_impossible:
        return
    shown = _shown(order_filter.parsed)
    for name in NAMES:
        value = shown.get(FIELD_OF.get(name, name))
        if name in form.fields and value:
            written = {
                "kind": value.replace("_", " "),
                "waiting": NOTHING_DONE if value == ANYTHING else value,
            }
            form.data = {**form.data, name: written.get(name, value)}
    panel.data = {name: shown.get(name, "") for name in CONDITIONS}


def _shown(query: Query) -> Mapping[str, str]:
    """The fields of which the query has one value that the folded filters can show."""
    names = [FIELD_OF.get(name, name) for name in (*NAMES, *CONDITIONS) if name != "q"]
    values = {name: _only(query, name) for name in names}
    return {
        name: value for name, value in values.items() if value and (name != "priority" or value.isdecimal())
    }


def _only(query: Query, name: str) -> str:
    values = query.values_of(name)
    return values[0] if len(values) == 1 else ""


def _suggestions(steps: Sequence[str], agents: Sequence[str]) -> list[tuple[str, str, str]]:
    """What the bar completes without JavaScript, each with what the field finds and what the value means: a condition
    for each value that is known, and the beginning of one for other fields."""
    values_of = {"step": steps, "agent": agents, "waiting": [ANYTHING, *agents]}
    return [
        (f"{name}:{value}", field.help, EXPLANATIONS.get(name, {}).get(value, ""))
        for name, field in FIELDS.items()
        for value in (values_of.get(name, field.allowed) or [""])
    ]
