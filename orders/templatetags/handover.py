"""Template tags of the hand-over, whose times are by the clock.

{% at note.at %}                        "13:02", "26 Nov 13:02" if that is another day
{{ cause|open_line:handover.until }}    "9 orders wait, €351.00, since 13:02, owner olga"
{{ times|ended_lines:handover.until }}  "13:02 to 13:10 (8 min), 9 orders waited: the remote service answers again", …
{{ progress|bulk_line:handover.until }} "Resubmit 7 orders, by olga at 13:20: finished, 7 went well"
{{ change|priority_line:handover.until }}
{{ handover|nothing_else }}             "No bulk actions and no pauses."
"""

from collections.abc import Sequence
from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.selectors.desk.bulk import Progress
from orders.selectors.desk.causes import OpenTime
from orders.selectors.desk.handover import Handover, OpenCause
from orders.selectors.desk.priority_changes import PriorityChange
from orders.wording import handover_lines
from orders.wording.moments import minute

register = template.Library()


@register.simple_tag
def at(moment: datetime) -> SafeString:
    """A moment by the clock, to the minute."""
    text = minute(moment, today=timezone.now().date())
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(), text)


@register.filter
def open_line(cause: OpenCause, until: datetime) -> str:
    """How large an open cause is, since when it is open, and who has it."""
    return handover_lines.open_line(cause, today=until.date())


@register.filter
def ended_lines(times: Sequence[OpenTime], until: datetime) -> Sequence[str]:
    """The times of a cause that have ended."""
    return handover_lines.ended_lines(times, today=until.date())


@register.filter
def bulk_line(progress: Progress, until: datetime) -> str:
    """What a bulk action does, by whom, and how far it is."""
    return handover_lines.bulk_line(progress, today=until.date())


@register.filter
def priority_line(change: PriorityChange, until: datetime) -> str:
    """A change of an order's priority."""
    return handover_lines.priority_line(change, today=until.date())


@register.filter
def nothing_else(handover: Handover) -> str:
    """What there is none of."""
    return handover_lines.nothing_else(handover)
