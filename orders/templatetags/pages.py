"""Template tags of all pages: money, moments, icons.

{{ poster.price|money }}                €39.00, as the reader's language writes it
{{ poster.price|money:"short" }}        €39 when there are no cents
{{ step.at|moment }}                    "2 minutes ago", and after a day the date; with the exact time on the element
{{ step.at|moment:now }}                by this moment, which all ages of a page then share
{{ progress.declined_until|deadline:now }}   "27 Nov 2026, 14:05 UTC (in 2 hours)"
{% filter close_up %}…{% endfilter %}   round sentences that stand side by side: Chinese has no space between them
{% icon "cart" %}                       from static/icons.svg, hidden from screen readers
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from urllib.parse import urlencode

import structlog
from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from orders.fields.locales import reader_locale
from orders.fields.money import Money
from orders.fields.prose import close_up
from orders.wording import clock_times, units

register = template.Library()
register.filter("close_up", close_up, is_safe=True)

NOW = timedelta(seconds=10)
"""A moment this close is shown as "now". `static/js/shop.js` has the same limits."""
DAY = timedelta(days=1)
"""A moment this far is shown as a date."""


@register.simple_tag
def is_drill() -> bool:
    """Whether all of this is for training."""
    return bool(settings.CONFIG.drill)


@register.simple_tag
def languages() -> Sequence[tuple[str, str]]:
    """The languages that pages can be read in: each tag, and its name in itself."""
    return list(settings.LANGUAGES)


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
def shop_name() -> str:
    """What the business calls itself. It needs no context, so error pages can show it, too."""
    return str(settings.CONFIG.shop_name)


@register.simple_tag
def is_demonstration() -> bool:
    """Whether this is for show: no real cards, and made-up artists."""
    return bool(settings.IS_DEMONSTRATION)


@register.simple_tag
def request_id() -> str:
    """The id under which this request is in the log. It needs no context, so every error page can show it."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


@register.filter
def money(price: Money, form: str = "full") -> str:
    """A sum as the reader's language writes it."""
    return units.money(price, locale=reader_locale(), short=form == "short")


@register.filter
def moment(at: datetime, now: datetime | None = None) -> SafeString:
    """A moment as "2 minutes ago", seen from `now`; from a day on as a date. The element has the exact time, which the
    browser shows in the reader's zone."""
    locale, zone = reader_locale(), timezone.get_current_timezone()
    now = now or timezone.now()
    away = at - now
    if abs(away) < NOW:
        text = _("now")
    elif abs(away) < DAY:
        text = units.age(away, locale=locale)
    else:
        text = units.day(at.astimezone(zone), today=now.astimezone(zone).date(), locale=locale)
    return format_html(
        '<time datetime="{}" title="{} {}" data-moment>{}</time>',
        at.isoformat(),
        clock_times.exact_second(at, zone=zone, locale=locale),
        at.tzname() or "",
        text,
    )


@register.filter
def deadline(at: datetime, now: datetime) -> str:
    """A moment to the minute, and within a day of `now` how far away it is."""
    exact = clock_times.exact_moment(at, locale=reader_locale())
    if abs(at - now) >= DAY:
        return exact
    return format_html(_("{moment} ({away})"), moment=exact, away=moment(at, now))


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
