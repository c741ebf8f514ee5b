"""Erases customers from what is no order's: the audit log, notes, bulk actions and the like, searched by key.

These tables have no index on names, so each is walked once from its beginning to its end, a bounded number of rows at
a time. Whatever names the customer is replaced by her pseudonym.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.sessions.models import Session

from orders.engine.runtime.brief_batches import Chunk
from orders.engine.runtime.sql import fetch, run

SHORTEST = 4
"""Characters of a name that is searched for: shorter ones are parts of too much else."""


@dataclass(frozen=True, kw_only=True)
class Mentions:
    """A table whose `texts` and `documents` may name a customer. Its walk begins behind the key `first`."""

    texts: Sequence[str]
    documents: Sequence[str] = ()
    key: str = "id"
    first: Any = 0


AUDIT = "orders_auditentry"
TABLES = {
    AUDIT: Mentions(texts=("actor", "target", "result", "reason"), documents=("before", "after")),
    "orders_groupnote": Mentions(texts=("by", "text")),
    "orders_ordernote": Mentions(texts=("by", "text")),
    "orders_alertgroup": Mentions(texts=("pattern", "ticket_url")),
    "orders_handovernote": Mentions(texts=("by", "text")),
    "orders_ownrunbook": Mentions(texts=("by", "text"), key="code", first=""),
    "orders_savedview": Mentions(texts=("name", "query", "by")),
    "orders_bulkaction": Mentions(texts=("selection", "reason", "pause_reason"), documents=("query",)),
    "orders_approvalrequest": Mentions(
        texts=("summary", "reason", "note", "result"), documents=("parameters",)
    ),
    "orders_presence": Mentions(texts=("operator",)),
    "orders_outgoingmessage": Mentions(texts=("recipient", "error"), documents=("arguments",)),
    "orders_webhookdelivery": Mentions(texts=(), documents=("body", "log")),
    "orders_circuit": Mentions(texts=("cause_message", "held_reason"), key="agent", first=""),
    "orders_intakepause": Mentions(texts=("by", "reason")),
    "orders_steppause": Mentions(texts=("by", "reason")),
    "django_admin_log": Mentions(texts=("object_repr", "change_message")),
}
SESSIONS = "django_session"
NUMBERED = {"pattern", "name", "operator"}
"""Columns that are unique, so that two rows may not become the same."""


def pattern_of(email: str, names: Iterable[str]) -> str:
    """A regular expression that matches an email and names, each as a whole, in texts and in JSON documents."""
    whole = {name.strip() for name in names if len(name.strip()) >= SHORTEST}
    written = whole | {json.dumps(text, ensure_ascii=False)[1:-1] for text in whole}
    named = "|".join(re.escape(text) for text in sorted(written, key=lambda text: (-len(text), text)))
    pattern = rf"(?<![[:alnum:]._%+-]){re.escape(email)}(?![[:alnum:]]|[.-][[:alnum:]])"
    return rf"{pattern}|(?<![[:alnum:]])({named})(?![[:alnum:]])" if named else pattern


def replaced(column: str) -> str:
    """The SQL for a text column with what names the customer replaced, no longer than the column is wide."""
    return f"left(regexp_replace({column}, %(pattern)s, %(short)s, 'gi'), greatest(length({column}), 40))"


def choose_mentions(table: str, pattern: str, after: Any, size: int) -> Chunk:
    """The next rows of a table that name the customer, out of `size` rows."""
    mentions = TABLES[table]
    columns = ", ".join((*mentions.texts, *mentions.documents))
    rows = fetch(
        f"""
        SELECT {mentions.key}, concat_ws(' ', {columns}) ~* %s
          FROM {table} WHERE {mentions.key} > %s ORDER BY {mentions.key} LIMIT %s
        """,
        [pattern, after, size],
    )
    return Chunk(keys=[key for key, names in rows if names], last=rows[-1][0] if len(rows) == size else None)


def erase_mentions(table: str, keys: Sequence[Any], *, pattern: str, short: str) -> int:
    """Replaces what names the customer in these rows; returns how many there are."""
    mentions = TABLES[table]
    values = {name: _numbered(name, replaced(name)) for name in mentions.texts}
    for name in mentions.documents:
        values[name] = f"regexp_replace({name}::text, %(pattern)s, %(short)s, 'gi')::jsonb"
    if table == AUDIT:  # append-only, but for this function
        statement = f"SELECT orders_audit_amend(id, {', '.join(values.values())}) FROM {table}"
    else:
        statement = f"UPDATE {table} SET {', '.join(f'{name} = {value}' for name, value in values.items())}"
    return run(
        f"{statement} WHERE {mentions.key} = ANY(%(keys)s)",
        {"pattern": pattern, "short": short, "keys": list(keys)},
    )


def _numbered(name: str, value: str) -> str:
    return f"left({value}, 180) || ' ' || id" if name in NUMBERED else value


def choose_sessions(email: str, accounts: Sequence[int], after: str, size: int) -> Chunk:
    """The next browser sessions that belong to a customer or remember her email, out of `size` sessions."""
    sessions = list(Session.objects.filter(pk__gt=after).order_by("pk")[:size])
    ours = {str(account) for account in accounts}
    keys = [session.pk for session in sessions if _is_hers(session.get_decoded(), email, ours)]
    return Chunk(keys=keys, last=sessions[-1].pk if len(sessions) == size else None)


def _is_hers(session: dict[str, Any], email: str, accounts: set[str]) -> bool:
    return (
        session.get("_auth_user_id") in accounts or email.lower() in json.dumps(session, default=str).lower()
    )


def delete_sessions(keys: Sequence[str]) -> int:
    """Deletes these browser sessions; returns how many."""
    return run("DELETE FROM django_session WHERE session_key = ANY(%s)", [list(keys)])
