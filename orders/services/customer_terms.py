"""Learns by which terms operators may find a customer's orders: parts of her email, and the names on her orders.

Placing an order costs nothing for it: a job looks through the orders shortly after they were inserted, some hundreds
at a time, and most are of customers whom it knows already (docs/adr/0063). Orders that were in the archive before there
were terms are walked once.
"""

import re
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import transaction

from orders.business import registry
from orders.engine.runtime.brief_batches import Pace, Walk
from orders.engine.runtime.sql import database_now, fetch, run
from orders.fields.email import ERASED
from orders.models import CustomerTerm, TermsWalk
from orders.vocabulary import ProcessState

BATCH = 200
"""Orders that are looked at together at most: fewer while they take so long that an erasure would wait for the lock."""
SECONDS = 20.0
"""How long a pass goes on at most."""
OVERLAP = timedelta(seconds=30)
"""How far back a pass begins again: longer than a transaction that inserts orders may last."""
LONGEST_TERM = 254
MOST_TERMS = 12
"""Of one email, and of one name."""

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('customer terms', 0))"
"""Whoever adds or removes terms holds it, so that none is added of a customer who is being erased."""

_BOUNDARY = re.compile(r"(?<![^\W_])[^\W_]|@")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_LOWEST = UUID(int=0)
_DONE = UUID(int=2**128 - 1)


def email_terms(email: str) -> list[str]:
    """The parts of an email from the beginning of each of its words, and from its @, to its end. Pure."""
    text = email.lower()
    ends = {text, *(text[match.start() :] for match in _BOUNDARY.finditer(text))}
    return sorted(ends, key=len, reverse=True)[:MOST_TERMS]


def name_terms(name: str) -> list[str]:
    """The same of a name, from the beginning of each of its words. Pure."""
    text = " ".join(name.lower().split())[:LONGEST_TERM]
    return [text[match.start() :] for match in _BOUNDARY.finditer(text)][:MOST_TERMS]


def learn_customers(seconds: float = SECONDS) -> Walk:
    """Looks through the orders that were inserted since the last pass, and then through the archive, once. Returns how
    many orders it looked at. Two passes at once share the work."""
    TermsWalk.objects.get_or_create(pk=1)
    ends, looked_at = time.monotonic() + seconds, 0
    for walk in (_walk_stored, _walk_archived):
        pace, has_more = Pace(size=min(50, BATCH), largest=BATCH), True
        while has_more:
            start = time.monotonic()
            number, has_more = walk(pace.size)
            looked_at += number
            pace.note(time.monotonic() - start)
            if time.monotonic() >= ends:
                return Walk(changed=looked_at, left_behind=0, after=None)
    return Walk(changed=looked_at, left_behind=0, after=None)


def learn_edited(order_id: UUID) -> None:
    """Adds the terms of the customer of an order that was edited. In the caller's transaction, which has locked its
    process: so an erasure of this order comes before or after, and the lock of all terms is not needed."""
    _learn(
        """
        SELECT o.email, o.data, u.first_name || ' ' || u.last_name
          FROM orders_order AS o LEFT JOIN auth_user AS u ON u.id = o.customer_id WHERE o.id = %(id)s
        """,
        {"id": order_id},
    )


def forget_unused(emails: Sequence[str]) -> None:
    """Removes the terms of those emails, in lower case, that no order has any longer. In the caller's transaction."""
    fetch(LOCK)
    run(
        """
        DELETE FROM orders_customerterm AS term
         WHERE email = ANY(%s)
           AND NOT EXISTS (SELECT FROM orders_order WHERE lower(email) = term.email)
           AND NOT EXISTS (SELECT FROM orders_archivedorder WHERE lower(email) = term.email)
        """,
        [list(emails)],
    )


@transaction.atomic
def _walk_stored(size: int) -> tuple[int, bool]:
    """Looks at the next stored orders, about `size`. Returns how many they are, and whether there are more."""
    fetch(LOCK)
    walk, now = TermsWalk.objects.get(pk=1), database_now()
    last = _end_of_batch(walk.until, size)
    upto = last or now
    number = _learn(
        """
        SELECT o.email, o.data, u.first_name || ' ' || u.last_name
          FROM orders_orderprocess AS p JOIN orders_order AS o ON o.id = p.order_id
          LEFT JOIN auth_user AS u ON u.id = o.customer_id
         WHERE p.process_state = ANY(%(states)s) AND p.created_at BETWEEN %(since)s AND %(upto)s
        """,
        {"states": list(ProcessState), "since": walk.until or _FIRST, "upto": upto},
    )
    is_stuck = last is not None and last == walk.until  # so many of one moment, of which it has just read all
    after = upto + timedelta(microseconds=1) if is_stuck else upto
    walk.until = after if last is not None else max(walk.until or after, now - OVERLAP)
    walk.save(update_fields=["until"])
    return number, last is not None


def _end_of_batch(since: datetime | None, size: int) -> datetime | None:
    """When the last of the next `size` orders was inserted; None if there are fewer. By the index of ages."""
    parts = " UNION ALL ".join(
        f"""(SELECT created_at FROM orders_orderprocess WHERE process_state = '{state.value}'
               AND created_at >= %(since)s ORDER BY created_at LIMIT {size})"""
        for state in ProcessState
    )
    rows = fetch(
        f"SELECT created_at FROM ({parts}) AS ages ORDER BY created_at OFFSET {size - 1} LIMIT 1",
        {"since": since or _FIRST},
    )
    return rows[0][0] if rows else None


@transaction.atomic
def _walk_archived(size: int) -> tuple[int, bool]:
    """Looks at the next `size` archived orders. Returns how many they are, and whether there are more."""
    fetch(LOCK)
    walk = TermsWalk.objects.get(pk=1)
    if walk.archived_after == _DONE:
        return 0, False
    after = walk.archived_after or _LOWEST
    rows = fetch(
        "SELECT order_id FROM orders_archivedorder WHERE order_id > %s ORDER BY order_id LIMIT %s",
        [after, size],
    )
    _learn(
        """
        SELECT a.email, nullif(document #> '{order,data}', 'null'), u.first_name || ' ' || u.last_name
          FROM orders_archivedorder AS a LEFT JOIN auth_user AS u ON u.id = a.customer_id
         WHERE order_id = ANY(%(ids)s)
        """,
        {"ids": [order_id for (order_id,) in rows]},
    )
    walk.archived_after = rows[-1][0] if len(rows) == size else _DONE
    walk.save(update_fields=["archived_after"])
    return len(rows), len(rows) == size


def _learn(orders: str, parameters: dict[str, object]) -> int:
    """Adds the terms of these orders' customers that are not known. Returns how many orders there are."""
    paths = sorted({path for kind in registry.kinds() for path in kind.names})
    names = ", ".join(f"data #>> '{{{path.replace('.', ',')}}}'" for path in paths)
    rows = fetch(
        f"""
        SELECT lower(email), name, count(*),
               EXISTS (SELECT FROM orders_customerterm AS term
                        WHERE term.email = lower(customer.email) AND NOT is_name AND term = lower(customer.email)),
               EXISTS (SELECT FROM orders_customerterm AS term
                        WHERE term.email = lower(customer.email) AND is_name
                          AND term = left(lower(btrim(regexp_replace(name, '\\s+', ' ', 'g'))), {LONGEST_TERM}))
          FROM (SELECT email, unnest(ARRAY[account{f", {names}" if names else ""}]) AS name
                  FROM ({orders}) AS o (email, data, account)) AS customer
         WHERE email NOT IN ('', %(erased)s)
         GROUP BY lower(email), name, customer.email
        """,
        {**parameters, "erased": ERASED},
    )
    terms = [term for email, name, _, *flags in rows for term in _terms(email, name or "", *flags)]
    CustomerTerm.objects.bulk_create(terms, ignore_conflicts=True)
    rows_of_each = 1 + len(paths)  # one for each of its names
    return int(sum(number for _, _, number, *_ in rows)) // rows_of_each


def _terms(email: str, name: str, is_known: bool, has_name: bool) -> Iterable[CustomerTerm]:
    if not is_known:
        for term in email_terms(email):
            yield CustomerTerm(email=email, term=term, is_name=False)
    if name.strip() and not has_name:
        for term in name_terms(name):
            yield CustomerTerm(email=email, term=term, is_name=True)
