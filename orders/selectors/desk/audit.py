"""Reads the audit log, newest first, by a filter, with what each act changed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from orders.models import AuditEntry

PAGE = 50
"""Entries on a page."""
MOST_ROWS = 10_000
"""The most rows of a download."""
RECENT = 5_000
"""How many of the latest entries `acts` examines."""
EXAMINED = 10_000
"""How many entries a page of the API looks at."""
LONGEST_ACT = timedelta(hours=1)
"""No act takes longer. An entry has the time at which its act began, and its id when it is written, so entries that are
closer together may be in another order by their times than by their ids."""
LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
ACCOUNT = "account"
TARGETS = (
    "order",
    "group",
    "bulk",
    "agent",
    "token",
    "message",
    "submission",
    "workflow",
    "handover",
    "intake",
    "view",
    "step",
    ACCOUNT,
)
"""The kinds of targets."""
COLUMNS = ("at", "actor", "ip_address", "act", "target", "allowed", "result", "reason", "before", "after")


@dataclass(frozen=True, kw_only=True)
class AuditFilter:
    """Which entries to read.

    `since` is included and `until` is not. `kind` is the first word of a target that has an id, such as `order`, or
    `account` for those that are one word. A page has the entries with ids below `before`.
    """

    actor: str = ""
    act: str = ""
    target: str = ""
    allowed: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it matches every entry."""
        return not any((self.actor, self.act, self.target, self.allowed, self.kind, self.since, self.until))


@dataclass(frozen=True, kw_only=True)
class Change:
    """One field that an act changed, as text. None means that the field was absent."""

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An act, carried out or refused."""

    id: int
    at: datetime
    actor: str
    ip_address: str
    act: str
    target: str
    allowed: bool
    result: str
    reason: str
    changes: Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class AuditPage:
    """A page of entries. The next page has ids below `following`, which is None on the last page."""

    entries: Sequence[Entry]
    following: int | None


NO_ENTRIES = AuditPage(entries=(), following=None)


def entries(audit_filter: AuditFilter) -> AuditPage:
    """Returns a page of the entries that match a filter. One query."""
    matches = list(_matching_entries(audit_filter)[: PAGE + 1])
    has_more = len(matches) > PAGE
    return AuditPage(
        entries=[_entry(row) for row in matches[:PAGE]],
        following=matches[PAGE - 1].pk if has_more else None,
    )


def page(
    audit_filter: AuditFilter, *, since: datetime | None, until: datetime | None, limit: int
) -> AuditPage:
    """Returns a page of the entries that match a filter, from `since` on and before `until`. At most four queries.

    It looks at `EXAMINED` entries and ends there, so that rare entries cost no more than others: with fewer than
    `limit`, perhaps none, and with a `following` that goes on below those it has looked at.
    """
    top = _top(audit_filter.before, until)
    bottom = top - EXAMINED
    matches = _matching_entries(replace(audit_filter, before=top)).filter(pk__gte=bottom)
    if since is not None:
        matches = matches.filter(at__gte=since)
    if until is not None:
        matches = matches.filter(at__lt=until)
    rows = list(matches[: limit + 1])
    following: int | None = bottom if _goes_on(bottom, since) else None
    if len(rows) > limit:
        following = rows[limit - 1].pk
    return AuditPage(entries=[_entry(row) for row in rows[:limit]], following=following)


def _top(before: int | None, until: datetime | None) -> int:
    """The id below which a page starts. No entry from before `until` has a higher one."""
    if before is None and until is not None and until < LAST_MOMENT - LONGEST_ACT:
        later = AuditEntry.objects.filter(at__gte=until + LONGEST_ACT).order_by("at")
        if (first := later.values_list("id", flat=True).first()) is not None:
            return first
    newest = AuditEntry.objects.order_by("-id").values_list("id", flat=True).first() or 0
    return newest + 1 if before is None else min(before, newest + 1)


def _goes_on(bottom: int, since: datetime | None) -> bool:
    """Whether there may be entries from `since` on below an id."""
    below = AuditEntry.objects.filter(pk__lt=bottom).order_by("-id").values_list("at", flat=True).first()
    return below is not None and (since is None or below + LONGEST_ACT >= since)


def rows(audit_filter: AuditFilter) -> Iterator[Sequence[Any]]:
    """Yields the entries that match a filter as rows of `COLUMNS`, at most `MOST_ROWS`."""
    for row in _matching_entries(audit_filter)[:MOST_ROWS]:
        yield (
            *(row.at.isoformat(), row.actor, row.ip_address, act_in_words(row.act), row.target),
            *("yes" if row.allowed else "no", row.result, row.reason),
            *(
                "" if value is None else json.dumps(value, ensure_ascii=False)
                for value in (row.before, row.after)
            ),
        )


def acts() -> list[str]:
    """Returns the names of the acts among the latest entries, for the filter's drop-down list."""
    latest = AuditEntry.objects.order_by("-id").values_list("act", flat=True)[:RECENT]
    return sorted(set(map(act_in_words, latest)))


def act_in_words(act: str) -> str:
    """The name of an act. Earlier releases have stored some as pause-agent."""
    return act.replace("-", " ")


def _matching_entries(audit_filter: AuditFilter) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.order_by("-id")
    for name in ("actor", "target"):
        if value := getattr(audit_filter, name):
            entries = entries.filter(**{f"{name}__icontains": value})
    if act := act_in_words(audit_filter.act):
        entries = entries.filter(act__in=[act, act.replace(" ", "-")])
    if audit_filter.allowed:
        entries = entries.filter(allowed=audit_filter.allowed == "yes")
    if audit_filter.kind == ACCOUNT:
        entries = entries.exclude(target="").exclude(target__contains=" ")
    elif audit_filter.kind:
        entries = entries.filter(target__startswith=f"{audit_filter.kind} ")
    if audit_filter.since:
        entries = entries.filter(at__gte=audit_filter.since)
    if audit_filter.until:
        entries = entries.filter(at__lt=audit_filter.until)
    if audit_filter.before is not None:
        entries = entries.filter(pk__lt=audit_filter.before)
    return entries


def _entry(row: AuditEntry) -> Entry:
    names = set(Entry.__dataclass_fields__) - {"act", "changes"}
    return Entry(
        **{name: getattr(row, name) for name in names},
        act=act_in_words(row.act),
        changes=list(changes(row.before, row.after)),
    )


def changes(before: Any, after: Any) -> Iterator[Change]:
    """Yields the differences between two JSON values, field by field. A nested field is named by its path, and a list
    of words is written with commas."""
    old, new = dict(_flat(before)), dict(_flat(after))
    for field in dict.fromkeys((*old, *new)):
        if old.get(field) != new.get(field):
            yield Change(field=field, before=old.get(field), after=new.get(field))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        yield path or "value", ", ".join(value)
    elif value is not None or path:
        yield path or "value", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
