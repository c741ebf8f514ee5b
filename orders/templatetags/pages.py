"""Template tags of all pages: money, moments, icons.

{{ poster.price|money }}                €39.00, as the reader's language writes it
{{ poster.price|money:"short" }}        €39 when there are no cents
{{ step.at|moment }}                    "2 minutes ago", with the exact time on the element
{% icon "cart" %}                       from static/icons.svg, hidden from screen readers
"""

from datetime import datetime, timedelta
from functools import lru_cache
from urllib.parse import urlencode

import structlog
from babel.dates import format_datetime
from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from orders.fields.locales import reader_locale
from orders.fields.money import Money
from orders.wording import units

register = template.Library()

NOW = timedelta(seconds=10)
"""A moment this close is shown as "now". `static/js/shop.js` has the same limit."""


@register.simple_tag
def is_drill() -> bool:
    """Whether all of this is for training."""
    return bool(settings.CONFIG.drill)


@register.simple_tag
def preload_font(path: str) -> SafeString:
    """Has a font fetched before the style sheet that names it. Not in development, where files have urls that browsers
    ask for again on each page: they would fetch the font twice, and complain."""
    if not settings.HAS_COLLECTED:
        return SafeString()
    return format_html('<link rel="preload" href="{}" as="font" type="font/woff2" crossorigin>', static(path))


@register.simple_tag
def mailbox(email: str = "") -> str:
    """The page of the sandbox with the emails to that address, or with all; empty outside a demonstration."""
    url = settings.CONFIG.mailbox_url if settings.CONFIG.debug else ""
    return f"{url}?{urlencode({'to': email})}" if url and email else url


@register.simple_tag
def request_id() -> str:
    """The id under which this request is in the log. It needs no context, so every error page can show it."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


@register.filter
def money(price: Money, form: str = "full") -> str:
    """A sum as the reader's language writes it."""
    return units.money(price, locale=reader_locale(), short=form == "short")


@register.filter
def moment(at: datetime) -> SafeString:
    """A moment as "2 minutes ago". The element has the exact time, which the browser shows in the reader's zone."""
    locale = reader_locale()
    away = at - timezone.now()
    exact = format_datetime(at, "medium", tzinfo=timezone.get_current_timezone(), locale=locale)
    return format_html(
        '<time datetime="{}" title="{} {}" data-moment>{}</time>',
        at.isoformat(),
        exact,
        at.tzname() or "",
        _("now") if abs(away) < NOW else units.relative(away, locale=locale),
    )


@register.simple_tag
def icon(name: str, size: int = 20) -> SafeString:
    """An icon of the sprite, hidden from screen readers: the text beside it gives its meaning."""
    return _icon(name, size)


@lru_cache(maxsize=256)
def _icon(name: str, size: int) -> SafeString:
    """Made once: a list of orders has a hundred of them, and where the sprite is does not change."""
    return format_html(
        '<svg class="icon" width="{}" height="{}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        size,
        size,
        static("icons.svg"),
        name,
    )
