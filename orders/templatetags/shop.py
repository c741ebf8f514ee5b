"""Template tags of the shop and the console: money, pictures of posters, icons.

{{ poster.price|money }}                €39.00, as the reader's language writes it
{{ poster.price|money:"short" }}        €39 when there are no cents
{% picture_url poster.sku poster.design %}
{{ step.at|moment }}                    "2 minutes ago", with the exact time on the element
{% icon "cart" %}                       from static/icons.svg, hidden from screen readers
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from babel import Locale, UnknownLocaleError
from babel.dates import format_datetime, format_timedelta
from babel.numbers import format_currency, get_currency_precision
from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, to_locale
from django.utils.translation import gettext as _

from orders import posters
from orders.selectors.order_view import Money

register = template.Library()

NOW = timedelta(seconds=10)
"""What is no further away than this is said to be now; static/js/shop.js says the same."""


@register.filter
def money(price: Money, form: str = "full") -> str:
    """An amount as the reader's language writes it."""
    digits = get_currency_precision(price.currency)
    amount = Decimal(price.amount).scaleb(-digits)
    is_whole = form == "short" and amount == amount.to_integral_value()
    text: str = format_currency(
        amount.to_integral_value() if is_whole else amount,
        price.currency,
        locale=reader_locale(),
        format=_without_decimals() if is_whole else None,
        currency_digits=not is_whole,
    )
    return text


@register.filter
def moment(at: datetime) -> SafeString:
    """A time as the reader says it, "2 minutes ago"; the exact time is on the element, for her zone to be put there."""
    locale = reader_locale()
    away = at - timezone.now()
    said = (
        _("now")
        if abs(away) < NOW
        else format_timedelta(away, add_direction=True, locale=locale, threshold=1)
    )
    exact = format_datetime(at, "medium", tzinfo=timezone.get_current_timezone(), locale=locale)
    return format_html(
        '<time datetime="{}" title="{} {}" data-moment>{}</time>',
        at.isoformat(),
        exact,
        at.tzname() or "",
        said,
    )


def duration(seconds: float) -> str:
    """A length of time in one unit, as the reader says it: "2 minutes"."""
    text: str = format_timedelta(timedelta(seconds=seconds), locale=reader_locale(), threshold=1.2)
    return text


@register.simple_tag
def picture_url(sku: str, design: Any) -> str:
    """Where the picture of a product is. The URL changes with the picture, so that browsers may keep it for ever."""
    return f"{reverse('shop:picture', args=[sku])}?v={posters.fingerprint(design)}"


@register.simple_tag
def icon(name: str, size: int = 20) -> SafeString:
    """An icon of the sprite. It says nothing to a screen reader: the words beside it do."""
    return format_html(
        '<svg class="icon" width="{}" height="{}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        size,
        size,
        static("icons.svg"),
        name,
    )


def reader_locale() -> Locale:
    """The locale of the reader's language."""
    try:
        return Locale.parse(to_locale(get_language() or "en"))
    except (UnknownLocaleError, ValueError):
        return Locale("en")


def _without_decimals() -> str:
    pattern: str = reader_locale().currency_formats["standard"].pattern
    return pattern.replace(".00", "")
