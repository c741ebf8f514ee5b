"""Template tags of the operator console for moments that are shown both ways.

{% when moment %}   "12 seconds ago 14:02:31"; with the date if that is another day; "–" for None
"""

from datetime import datetime

from babel.dates import format_datetime
from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.templatetags.console import ago, clock
from orders.wording import units

register = template.Library()


@register.simple_tag
def when(at: datetime | None) -> SafeString:
    """A moment by its distance from now and, beside it, by the time of day, with the date if it is not today."""
    if at is None:
        return SafeString(units.DASH)
    is_today = timezone.localdate(at) == timezone.localdate()
    return format_html(
        '{} <span class="quiet small">{}</span>', ago(at), clock(at) if is_today else _exact(at)
    )


def _exact(at: datetime) -> SafeString:
    zone = timezone.get_current_timezone()
    text = format_datetime(at, "MMM d, y, HH:mm:ss", tzinfo=zone, locale=units.ENGLISH)
    return format_html('<time datetime="{}" data-exact>{}</time>', at.isoformat(), text)
