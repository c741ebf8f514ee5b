"""What the query bar completes: the values that a condition of the query language can have here, each by an index."""

from collections.abc import Callable, Iterable, Mapping

from django.contrib.auth.models import User

from orders.models import CustomerTerm
from orders.selectors.desk.known_words import KNOWN
from orders.selectors.desk.query import Condition
from orders.selectors.desk.query_fields import ALIASES, FIELDS, NAMED_DAYS
from orders.selectors.desk.sought import skus_like

MOST_COMPLETED = 12
"""Values that are offered at once."""
LEAST_OF_A_CUSTOMER = 2
"""Characters of a customer's name, email or account before any is offered."""
LONGEST_BEGINNING = 100


def complete(field: str, beginning: str, *, codes: Iterable[str] = ()) -> list[str]:
    """The first values of a field for what has been typed of one, as they are written in a query.

    Those that begin with it go before those that contain it. Empty for a field that has no known values, and for a
    name that is no field. `codes` are errors' codes that are known beside those of this store. A few queries.
    """
    name, typed = ALIASES.get(field, field), beginning[:LONGEST_BEGINNING]
    if name in _SOUGHT:
        values = _SOUGHT[name](typed)
    elif name in FIELDS:
        values = _containing(typed, [*_known(name), *(codes if name == "error" else ())])
        stored = _containing(typed, FIELDS[name].words)
        values = list(dict.fromkeys([*values, *map(FIELDS[name].written, stored)]))
    else:
        values = []
    return [str(Condition(name=name, values=(value,))).partition(":")[2] for value in values[:MOST_COMPLETED]]


def _known(name: str) -> Iterable[str]:
    """The words that a field has before the names that it knows; of one that takes amounts or numbers, its example."""
    field = FIELDS[name]
    if name in KNOWN:
        return dict.fromkeys([*field.allowed, *sorted(filter(None, KNOWN[name]()))])
    return field.allowed if field.allowed or field.several else [field.example.partition(":")[2]]


def _containing(typed: str, names: Iterable[str]) -> list[str]:
    sought = typed.lower()
    matches = [name for name in dict.fromkeys(names) if sought in name.lower()]
    return sorted(matches, key=lambda name: not name.lower().startswith(sought))


def _accounts(typed: str) -> list[str]:
    if len(typed) < LEAST_OF_A_CUSTOMER:
        return []
    names = User.objects.filter(username__startswith=typed).values_list("username", flat=True)
    return sorted(names[:MOST_COMPLETED])


def _emails(typed: str) -> list[str]:
    return _terms(typed, "email", is_name=False)


def _customers(typed: str) -> list[str]:
    return list(dict.fromkeys([*_accounts(typed), *_terms(typed, "term", is_name=True), *_emails(typed)]))


def _terms(typed: str, column: str, *, is_name: bool) -> list[str]:
    if len(typed) < LEAST_OF_A_CUSTOMER:
        return []
    terms = CustomerTerm.objects.filter(term__startswith=typed.lower(), is_name=is_name)
    return sorted(set(terms.values_list(column, flat=True)[: MOST_COMPLETED * 4]))


def _times(typed: str) -> list[str]:
    return _containing(typed, NAMED_DAYS)


_SOUGHT: Mapping[str, Callable[[str], list[str]]] = {
    "account": _accounts,
    "customer": _customers,
    "email": _emails,
    "sku": lambda typed: skus_like(typed, MOST_COMPLETED),
    "since": _times,
    "until": _times,
    "placed": _times,
}
