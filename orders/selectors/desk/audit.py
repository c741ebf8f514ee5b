"""Reading the audit log: newest first, by filters, with what an act changed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import QuerySet

from orders.models import AuditEntry

PAGE = 50
MOST_ROWS = 10_000
"""Of a download."""
RECENT = 5_000
"""Entries among which it is looked which acts there are."""
COLUMNS = ("at", "actor", "ip_address", "act", "target", "allowed", "said", "reason", "before", "after")


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which entries. `until` is a day that is still among them; `before` the id that a page begins below."""

    actor: str = ""
    act: str = ""
    target: str = ""
    allowed: str = ""
    since: date | None = None
    until: date | None = None
    before: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it lets everything through."""
        return not any((self.actor, self.act, self.target, self.allowed, self.since, self.until))


@dataclass(frozen=True, kw_only=True)
class Change:
    """One field that an act changed, as text; None where there was none."""

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An act, or one that was refused."""

    id: int
    at: datetime
    actor: str
    ip_address: str
    act: str
    target: str
    allowed: bool
    said: str
    reason: str
    changes: Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A page of entries, and the id that the following page begins below."""

    entries: Sequence[Entry]
    following: int | None


def entries(asked: Filter) -> Listed:
    """A page of the entries that are asked for. One query."""
    found = list(_chosen(asked)[: PAGE + 1])
    is_more = len(found) > PAGE
    return Listed(
        entries=[_entry(one) for one in found[:PAGE]],
        following=found[PAGE - 1].pk if is_more else None,
    )


def rows(asked: Filter) -> Iterator[Sequence[Any]]:
    """The entries that are asked for, as rows of `COLUMNS`; at most `MOST_ROWS`."""
    for one in _chosen(asked)[:MOST_ROWS]:
        yield (
            *(one.at.isoformat(), one.actor, one.ip_address, one.act, one.target),
            *("yes" if one.allowed else "no", one.said, one.reason),
            *(
                "" if value is None else json.dumps(value, ensure_ascii=False)
                for value in (one.before, one.after)
            ),
        )


def acts() -> list[str]:
    """The acts among the latest entries, for the filter's choice."""
    latest = AuditEntry.objects.order_by("-id").values_list("act", flat=True)[:RECENT]
    return sorted(set(latest))


def _chosen(asked: Filter) -> QuerySet[AuditEntry]:
    chosen = AuditEntry.objects.order_by("-id")
    for name in ("actor", "act", "target"):
        if value := getattr(asked, name):
            chosen = chosen.filter(**{name if name == "act" else f"{name}__icontains": value})
    if asked.allowed:
        chosen = chosen.filter(allowed=asked.allowed == "yes")
    if asked.since:
        chosen = chosen.filter(at__gte=datetime.combine(asked.since, time.min, UTC))
    if asked.until and asked.until < date.max:
        chosen = chosen.filter(at__lt=datetime.combine(asked.until + timedelta(days=1), time.min, UTC))
    if asked.before is not None:
        chosen = chosen.filter(pk__lt=asked.before)
    return chosen


def _entry(one: AuditEntry) -> Entry:
    return Entry(
        **{name: getattr(one, name) for name in Entry.__dataclass_fields__ if name != "changes"},
        changes=list(changes(one.before, one.after)),
    )


def changes(before: Any, after: Any) -> Iterator[Change]:
    """What differs between two JSON values, field by field; nested fields are named by their path."""
    old, new = dict(_flat(before)), dict(_flat(after))
    for field in dict.fromkeys((*old, *new)):
        if old.get(field) != new.get(field):
            yield Change(field=field, before=old.get(field), after=new.get(field))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif value is not None or path:
        yield path or "value", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
