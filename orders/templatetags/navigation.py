"""{% navigation as groups %} – the console's pages in named groups, with the current page marked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django import template
from django.conf import settings
from django.template import Context
from django.urls import reverse

register = template.Library()


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A page in the navigation. `key` goes to it, after g."""

    name: str
    key: str
    url: str
    icon: str
    label: str
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class Group:
    """Pages under one heading."""

    name: str
    entries: Sequence[Entry]


Page = tuple[str, str, str, str, Sequence[str]]

GROUPS: Sequence[tuple[str, Sequence[Page]]] = (
    (
        "Work",
        (
            ("overview", "o", "overview", "Overview", ()),
            ("alerts", "a", "bell", "Alerts", ("group", "cause-history", "group-times")),
            ("orders", "l", "list", "Orders", ("order", "set-aside")),
            ("decisions", "d", "check", "Decisions", ()),
            ("approvals", "v", "key", "Approvals", ()),
            ("deadlines", "e", "clock", "Deadlines", ()),
            ("bulk-actions", "b", "stack", "Bulk actions", ("bulk",)),
            ("compensation", "c", "cross", "Cancellations", ()),
            ("handover", "h", "person", "Hand-over", ()),
        ),
    ),
    (
        "System",
        (
            ("agents", "n", "plug", "Agents", ("agent",)),
            ("pauses", "u", "pause", "Pauses", ()),
            ("workflow", "w", "graph", "Workflow", ()),
            ("outbox", "m", "mail", "Outbox", ()),
            ("supervisor", "s", "eye", "Supervisor", ()),
            ("processes", "p", "running", "Processes", ()),
            ("audit", "t", "book", "Audit", ()),
        ),
    ),
    ("Training", (("chaos", "x", "warning", "Chaos", ()),)),
)
"""The groups, and of each page: URL name, the key that follows g, icon, label, and other URL names that belong to it.

The pages for training are there in a demonstration only.
"""


@register.simple_tag(takes_context=True)
def navigation(context: Context) -> list[Group]:
    """The console's pages in groups, with the current page marked."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    shown = match.url_name if match else ""
    return [
        Group(name=name, entries=list(_entries(pages, shown)))
        for name, pages in GROUPS
        if name != "Training" or settings.IS_DEMONSTRATION
    ]


def _entries(pages: Sequence[Page], shown: str) -> Iterable[Entry]:
    for name, key, icon, label, parts in pages:
        is_current = shown == name or shown in parts
        url = reverse(f"console:{name}")
        yield Entry(name=name, key=key, url=url, icon=icon, label=label, is_current=is_current)
