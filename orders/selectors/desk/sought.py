"""What a condition or the free words look for that an index finds: ids, orders by a column, and codes of lines.

An index finds few of them among a million, and then the other conditions are checked on these few. When it finds many,
the same is checked on the orders of a page, one by one, as a condition of each.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BooleanField, F, Func, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Lower

from orders.business import registry
from orders.engine.runtime.sql import fetch
from orders.models import ArchivedOrder, CustomerTerm, Order, OrderLine
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.looked_up import LookedUp
from orders.selectors.desk.named import MOST_SKUS, named_by
from orders.selectors.desk.order_ids import archived_ids_like, ids_like
from orders.selectors.desk.query import Condition
from orders.selectors.desk.query_values import read_amounts
from orders.selectors.order_numbers import orders_with_number

MOST_EMAILS = 4_000
"""The most emails that a part of one may stand for and still be looked up one by one. So many customers have more
orders than are looked for by an index."""

_OF_EMAILS = """
SELECT placed.id FROM unnest(%s::text[]) AS sought (email)
 CROSS JOIN LATERAL (SELECT id FROM orders_order WHERE lower(email) = sought.email LIMIT %s) AS placed
 LIMIT %s
"""
"""Email by email: for a list of them, an estimate of their orders that is too high would read the whole table."""
_FOUND = """
WITH found (part, id) AS MATERIALIZED ({parts})
SELECT (SELECT max(number) FROM (SELECT count(*) AS number FROM found GROUP BY part) AS of_parts),
       count(DISTINCT id), array_agg(DISTINCT id)::text
  FROM found
"""
_TERMS = {True: "AND is_name", False: "AND NOT is_name", None: ""}


class Ids(NamedTuple):
    """Orders' ids, and how many. They go back as the text that they come as: each alone would cost more than to find
    it."""

    number: int
    array: str


@dataclass(frozen=True, kw_only=True)
class Sought:
    """Orders with one of these ids, or of one of these emails, or `about` which this is true, or with a line of one of
    these codes. Of orders that are known to be `many`, no index is asked.

    `about` may use `lower_email`. It is of columns that an order has in the archive, too.
    """

    ids: list[UUID] = field(default_factory=list)
    archived_ids: list[UUID] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    about: Q | None = None
    skus: list[str] = field(default_factory=list)
    many: bool = False

    def __or__(self, other: "Sought") -> "Sought":
        about = [each for each in (self.about, other.about) if each is not None]
        return Sought(
            ids=[*self.ids, *other.ids],
            archived_ids=[*self.archived_ids, *other.archived_ids],
            emails=[*self.emails, *other.emails],
            about=about[0] | about[1] if len(about) == 2 else (about[0] if about else None),
            skus=[*self.skus, *other.skus],
            many=self.many or other.many,
        )

    def find(self, most: int) -> Ids | None:
        """The stored orders; None if an index finds more than `most`. One query, which reads no more than that of each
        index."""
        if self.many:
            return None
        parts: list[tuple[str, tuple[Any, ...]]] = (
            [(_UNNESTED, (text_array(map(str, self.ids)),))] if self.ids else []
        )
        if self.emails:
            parts.append((_OF_EMAILS, (text_array(self.emails), most + 1, most + 1)))
        if self.about is not None:
            orders = _with_email(Order.objects.all()).filter(self.about).order_by()
            parts += _statement(orders.values_list("id")[: most + 1])
        if self.skus:
            lines = OrderLine.objects.filter(sku__in=self.skus).order_by()
            parts += _statement(lines.values_list("order_id")[: most + 1])
        if not parts:
            return Ids(0, "{}")
        union = " UNION ALL ".join(
            f"SELECT {part}, of_part.id FROM ({statement}) AS of_part (id)"
            for part, (statement, _) in enumerate(parts)
        )
        with connection.cursor() as cursor:  # planned for these values, which a partial index may be for
            cursor.execute(_FOUND.format(parts=union), [value for _, values in parts for value in values])
            of_a_part, number, ids = cursor.fetchone()
        # An order is found by each of its lines, so the number of orders alone would not tell.
        return None if max(of_a_part or 0, number) > most else Ids(number, ids or "{}")

    @property
    def _of_order(self) -> Q | None:
        """What is sought in the columns of an order; None if nothing is."""
        if not self.emails:
            return self.about
        has_email = Q(_AnyOf(F("lower_email"), Value(text_array(self.emails), TextField())))
        return has_email if self.about is None else self.about | has_email

    @property
    def of_process(self) -> Q:
        """The same as a condition of an `OrderProcess`."""
        condition = Q(order_id__in=self.ids)
        if (of_order := self._of_order) is not None:
            condition |= _has_order(of_order)
        if self.skus:
            condition |= Q(
                LookedUp(OrderLine.objects.filter(order_id=OuterRef("order_id"), sku__in=self.skus))
            )
        return condition

    @property
    def of_archived(self) -> Q:
        """The same as a condition of an `ArchivedOrder` with `lower_email`."""
        condition = Q(pk__in=self.archived_ids)
        if (of_order := self._of_order) is not None:
            condition |= of_order
        return condition | Q(skus__overlap=self.skus) if self.skus else condition


def all_of_process(parts: Iterable[Sought]) -> Q:
    """All of these as one condition of an `OrderProcess`. What is sought in the columns of its order is looked up
    together."""
    condition, of_order = Q(), Q()
    for each in parts:
        if each._of_order is not None and not each.ids and not each.skus:
            of_order &= each._of_order
        else:
            condition &= each.of_process
    return condition & _has_order(of_order) if of_order else condition


def _has_order(of_order: Q) -> Q:
    return Q(LookedUp(_with_email(Order.objects.filter(pk=OuterRef("order_id"))).filter(of_order)))


class _AnyOf(Func):
    """Whether a text is in an array, which is one parameter however long it is."""

    template = "(%(expressions)s::text[]))"
    arg_joiner = " = ANY("
    arity = 2
    output_field = BooleanField()


_UNNESTED = "SELECT unnest(%s::uuid[])"


def text_array(texts: Iterable[str]) -> str:
    """The texts as the text of an array, which is cast in the statement. psycopg takes several times as long."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def _statement(rows: QuerySet[Any, Any]) -> list[tuple[str, tuple[Any, ...]]]:
    """A query as SQL with its parameters; none if it can find nothing."""
    try:
        return [rows.query.sql_with_params()]
    except EmptyResultSet:
        return []


def _with_email(orders: QuerySet[Order]) -> QuerySet[Order]:
    return orders.alias(lower_email=Lower("email"))


def sought(condition: Condition) -> Sought:
    """What a condition on one of `READERS` looks for."""
    parts = [READERS[condition.name](value) for value in condition.values]
    result = parts[0]
    for part in parts[1:]:
        result |= part
    return result


def sought_by_words(order_filter: OrderFilter) -> Sought:
    """What the free words look for."""
    if order_filter.requested:
        ids = list(order_filter.requested)
        return Sought(ids=ids, archived_ids=ids)
    if order_filter.email:
        return _whole_email(order_filter.email) | _by_terms(order_filter.email)
    by_number = _number(order_filter.number) if order_filter.number else Sought()
    if order_filter.digits:
        return by_number | _id(order_filter.digits) | _own_words(order_filter.text)
    if order_filter.total is not None:
        return Sought(about=Q(total=order_filter.total))
    if order_filter.attribute:
        return _attribute(order_filter.attribute)
    words = order_filter.words
    named = named_by(words)
    about = Q(customer_id__in=named.customers)
    return by_number | _own_words(words) | Sought(about=about, skus=named.skus) | _by_terms(words)


def _id(value: str) -> Sought:
    digits = value.lower().replace("-", "")
    return Sought(ids=ids_like(digits), archived_ids=archived_ids_like(digits))


def _number(number: str) -> Sought:
    ids = list(orders_with_number(number))
    return Sought(ids=ids, archived_ids=ids)


def _own_words(text: str) -> Sought:
    return Sought(about=Q(subject=text) | Q(reference=text))


def _attribute(value: str) -> Sought:
    return Sought(about=~Q(attributes=[]) & Q(attributes__contains=[value]))


def _total(value: str) -> Sought:
    amounts = read_amounts(value)
    about = Q(currency=amounts.currency) if amounts.currency else Q()
    if amounts.only is not None:
        return Sought(about=about & Q(total=amounts.only))
    if amounts.low is not None:
        about &= Q(total__gte=amounts.low)
    if amounts.high is not None:
        about &= Q(total__lte=amounts.high)
    return Sought(about=about)


def _account(name: str) -> Sought:
    keys = User.objects.filter(username__in={name, name.lower()}).values_list("pk", flat=True)
    return Sought(about=Q(customer_id__in=list(keys)))


def _email(text: str) -> Sought:
    parts = _by_terms(text, is_name=False)
    return parts | _whole_email(text) if "@" in text[1:] else parts


def _customer(text: str) -> Sought:
    matches = _account(text) | _by_terms(text, is_name=True)
    return matches | _whole_email(text) if "@" in text[1:] else matches


def _whole_email(email: str) -> Sought:
    return Sought(emails=[email.lower()])


def _by_terms(text: str, is_name: bool | None = None) -> Sought:
    """The orders of the customers who are known by a term that begins like this: all terms, or only names, or only
    parts of emails. One query."""
    # In the order of their index, because an estimate that many begin like this would make it look at all of them.
    ((number, emails),) = fetch(
        f"""
        WITH few AS MATERIALIZED (
             SELECT email FROM orders_customerterm
              WHERE term ~>=~ %(first)s AND term LIKE %(like)s {_TERMS[is_name]} ORDER BY term USING ~<~
              LIMIT %(most)s + 1)
        SELECT count(*), CASE WHEN count(*) <= %(most)s THEN array_agg(DISTINCT email) END FROM few
        """,
        {"first": text.lower(), "like": _like(text.lower()), "most": MOST_EMAILS},
    )
    if number <= MOST_EMAILS:
        return Sought(emails=emails or [])
    terms = CustomerTerm.objects.filter(term__startswith=text.lower(), email=OuterRef("lower_email"))
    if is_name is not None:
        terms = terms.filter(is_name=is_name)
    return Sought(about=Q(LookedUp(terms)), many=True)


def skus_like(beginning: str, most: int = MOST_SKUS) -> list[str]:
    """The codes of stored lines that begin like this, each found by one step along their index."""
    rows = fetch(
        """
        WITH RECURSIVE codes (sku) AS (
            (SELECT sku FROM orders_orderline WHERE sku ~>=~ %(first)s AND sku LIKE %(like)s
              ORDER BY sku USING ~<~ LIMIT 1)
            UNION ALL
            SELECT (SELECT sku FROM orders_orderline WHERE sku ~>~ codes.sku AND sku LIKE %(like)s
                     ORDER BY sku USING ~<~ LIMIT 1)
              FROM codes WHERE codes.sku IS NOT NULL
        )
        SELECT sku FROM codes WHERE sku IS NOT NULL LIMIT %(most)s
        """,
        {"first": beginning, "like": _like(beginning), "most": most},
    )
    return [sku for (sku,) in rows]


def _like(beginning: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in beginning) + "%"


def _sku(value: str) -> Sought:
    """Lines of this code or of one that begins like it. The archive has no index of beginnings, so of archived orders
    those that the business still knows, or that other orders have."""
    codes = (sku for kind in registry.kinds() for sku in kind.find_skus(value, MOST_SKUS))
    like = {sku for sku in codes if sku.startswith(value)}
    return Sought(skus=sorted({value, *like, *skus_like(value)})[:MOST_SKUS])


def _title(words: str) -> Sought:
    return Sought(skus=named_by(words).skus)


READERS: Mapping[str, Callable[[str], Sought]] = {
    "customer": _customer,
    "account": _account,
    "email": _email,
    "total": _total,
    "sku": _sku,
    "title": _title,
    "subject": lambda value: Sought(about=Q(subject=value)),
    "reference": lambda value: Sought(about=Q(reference=value)),
    "attribute": _attribute,
    "number": _number,
    "id": _id,
}
"""The fields of which an index finds the orders."""


def sought_of(order_filter: OrderFilter) -> list[tuple[Sought, bool]]:
    """What a filter looks for that indexes may find, and whether it is to be left out. A few queries."""
    parts = [(sought_by_words(order_filter), False)] if order_filter.text else []
    return [
        *parts,
        *((sought(condition), condition.negated) for condition in order_filter.conditions(*READERS)),
    ]


def archived(rows: QuerySet[ArchivedOrder], parts: Iterable[tuple[Sought, bool]]) -> QuerySet[ArchivedOrder]:
    """Those of the archived orders that are sought or, with True beside it, are not."""
    rows = rows.alias(lower_email=Lower("email"))
    for each, is_negated in parts:
        rows = rows.exclude(each.of_archived) if is_negated else rows.filter(each.of_archived)
    return rows
