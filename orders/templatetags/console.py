"""Template tags of the operator console. Every text is the reader's language; nothing here reads but the frame.

{% ago moment %}                  "12 seconds ago", with the exact time on the element; "–" for None
{% pill "bad" "error" text %}     a status: colour, icon and word
{% standing order.standing %}     the pill of an `orders.selectors.desk.standing.Standing` or of its kind
{% order_state process_state %}   the pill of an order's state as it is stored
{% step_state step.state %}       the pill of a step's state as it is stored
{% circuit_state state %}         the pill of a circuit
{{ order_id|short_id }}           the id's end in monospace, with the whole of it on the element
{{ amount|money:currency }}       minor units as the reader writes an amount
{{ count|number }}                1,234;  {{ count|bounded }} 10,000+ for what was counted no further
{{ seconds|duration }}            "3 min 20 s"
{% console_frame as frame %}      alerts open, supervisor late (orders.selectors.desk.status_bar)
{% console_nav as nav %}          the pages, with the one that is shown
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from babel.dates import format_datetime
from django import template
from django.conf import settings
from django.template import Context
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, pgettext_lazy

from orders.fields.money import Money
from orders.selectors.desk import status_bar as frames
from orders.selectors.desk.standing import Kind, Standing
from orders.selectors.desk.status_bar import MOST_COUNTED
from orders.templatetags import shop
from orders.wording import units

register = template.Library()


@register.simple_tag
def ago(at: datetime | None) -> SafeString:
    """A moment by its distance from now: "12 seconds ago", "in 2 minutes". The element has the exact time.

    `data-past` marks a moment that has come: a browser whose clock is late must not show it as "in 1 second".
    """
    if at is None:
        return SafeString(units.DASH)
    away = at - timezone.now()
    exact = format_datetime(at, "medium", tzinfo=timezone.get_current_timezone(), locale=units.ENGLISH)
    return format_html(
        '<time datetime="{}" title="{} {}" data-ago{}>{}</time>',
        at.isoformat(),
        exact,
        timezone.get_current_timezone_name(),
        " data-past" if away <= timedelta() else "",
        units.relative(away),
    )


@register.filter
def duration(seconds: float | None) -> str:
    """A length of time in at most two units: "450 ms", "3.2 s", "3 min 20 s", "2 h 5 min"."""
    return units.DASH if seconds is None else units.duration(seconds)


@register.filter
def number(count: float | None) -> str:
    """A number with separators: "1,234"."""
    return units.DASH if count is None else units.number(count)


@register.filter
def bounded(count: int | None, most: int = MOST_COUNTED) -> str:
    """A number that was counted up to `most` and no further: "10,000+"."""
    return units.DASH if count is None else units.bounded(count, most)


@register.filter
def money(amount: int, currency: str) -> str:
    """An amount in minor units with its currency: "€39.00"."""
    return units.money(Money(amount=amount, currency=currency), locale=units.ENGLISH)


@register.filter
def short_id(order_id: UUID | str) -> SafeString:
    """The end of an id, by which people tell orders apart: the beginning is shared by all orders of a minute."""
    return format_html('<code class="id" title="{}">{}</code>', order_id, str(order_id)[-8:])


@register.simple_tag
def pill(tone: str, icon: str, text: str) -> SafeString:
    """A status as colour, icon and word. `tone` is good, busy, warn, bad or idle."""
    return format_html(
        '<span class="status status--{}">{}<span>{}</span></span>', tone, shop.icon(icon, 16), text
    )


Look = tuple[str, str, Any]
"""Tone, icon and word."""

STANDINGS: Mapping[Kind, Look] = {
    Kind.COMPENSATION_FAILED: ("bad", "error", gettext_lazy("compensation failed")),
    Kind.ERROR: ("bad", "error", gettext_lazy("error")),
    Kind.OVERDUE: ("bad", "warning", gettext_lazy("overdue")),
    Kind.AT_RISK: ("warn", "warning", gettext_lazy("at risk")),
    Kind.CUSTOMER: ("warn", "person", gettext_lazy("waiting for customer")),
    Kind.EXTENDED_WAIT: ("warn", "retry", gettext_lazy("long wait before a retry")),
    Kind.RETRYING: ("warn", "retry", gettext_lazy("retrying")),
    Kind.AGENT: ("idle", "clock", gettext_lazy("waiting for agent")),
    Kind.SETTLING: ("idle", "clock", gettext_lazy("waiting for a call to settle")),
    Kind.RUNNING: ("busy", "running", gettext_lazy("running")),
    Kind.SCHEDULER: ("idle", "clock", gettext_lazy("waiting for a scheduler")),
    Kind.COMPENSATED: ("idle", "undo", gettext_lazy("compensated")),
    Kind.PROCESSED: ("good", "done", gettext_lazy("processed")),
}
ORDER_STATES: Mapping[str, Look] = {
    "pending": ("idle", "clock", pgettext_lazy("order", "pending")),
    "processing": ("busy", "running", pgettext_lazy("order", "processing")),
    "processed": ("good", "done", pgettext_lazy("order", "processed")),
    "error": ("bad", "error", pgettext_lazy("order", "error")),
    "compensated": ("idle", "undo", pgettext_lazy("order", "compensated")),
}
STEP_STATES: Mapping[str, Look] = {
    "not_started": ("idle", "clock", pgettext_lazy("step", "not started")),
    "running": ("busy", "running", pgettext_lazy("step", "running")),
    "completed": ("good", "done", pgettext_lazy("step", "completed")),
    "failed": ("bad", "error", pgettext_lazy("step", "failed")),
    "skipped": ("idle", "chevron-right", pgettext_lazy("step", "skipped")),
    "compensating": ("warn", "undo", pgettext_lazy("step", "compensating")),
    "compensated": ("idle", "undo", pgettext_lazy("step", "compensated")),
}
CIRCUITS: Mapping[str, Look] = {
    "closed": ("good", "done", pgettext_lazy("circuit", "closed")),
    "open": ("bad", "stop", pgettext_lazy("circuit", "open")),
    "half_open": ("warn", "retry", pgettext_lazy("circuit", "half open")),
}


def _look(looks: Mapping[Any, Look], word: str) -> SafeString:
    """The pill of a word; one that this release does not know is shown as it is."""
    tone, icon, said = looks.get(word, ("idle", "info", word.replace("_", " ")))
    return pill(tone, icon, said)


@register.simple_tag
def standing(stands: Standing | str) -> SafeString:
    """The pill of where an order or a step stands."""
    return _look(STANDINGS, stands.kind if isinstance(stands, Standing) else stands)


@register.simple_tag
def order_state(state: str) -> SafeString:
    """The pill of an order's state as it is stored."""
    return _look(ORDER_STATES, state)


@register.simple_tag
def step_state(state: str) -> SafeString:
    """The pill of a step's state as it is stored."""
    return _look(STEP_STATES, state)


@register.simple_tag
def circuit_state(state: str) -> SafeString:
    """The pill of a circuit's state."""
    return _look(CIRCUITS, state)


@register.simple_tag
def console_frame() -> frames.Frame:
    """What every page says at its edge."""
    return frames.frame()


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A page in the console's navigation."""

    name: str
    url: str
    icon: str
    label: str
    is_current: bool


PAGES: Sequence[tuple[str, str, Any, Sequence[str]]] = (
    ("overview", "overview", gettext_lazy("Overview"), ()),
    ("orders", "list", gettext_lazy("Orders"), ("order", "set-aside")),
    ("alerts", "bell", gettext_lazy("Alerts"), ("group",)),
    ("bulk-actions", "stack", gettext_lazy("Bulk actions"), ("bulk",)),
    ("compensation", "undo", gettext_lazy("Compensation"), ()),
    ("agents", "plug", gettext_lazy("Agents"), ("agent",)),
    ("supervisor", "eye", gettext_lazy("Supervisor"), ()),
    ("workflow", "graph", gettext_lazy("Workflow"), ()),
    ("audit", "book", gettext_lazy("Audit"), ()),
    ("chaos", "warning", gettext_lazy("Chaos"), ()),
)
"""Name, icon, label, and the names of other addresses that belong to it. The chaos panel is for development."""


@register.simple_tag(takes_context=True)
def console_nav(context: Context) -> list[Entry]:
    """The console's pages, with the one that is shown."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    shown = match.url_name if match else ""
    entries = []
    for name, icon, label, parts in PAGES:
        if name == "chaos" and not settings.DEBUG:
            continue
        url = reverse(f"console:{name}")
        is_current = shown == name or shown in parts
        entries.append(Entry(name=name, url=url, icon=icon, label=label, is_current=is_current))
    return entries
