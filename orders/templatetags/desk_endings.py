"""How causes ended, and who owned them, on the pages of causes.

{{ time|ending }}           "2 resubmitted and 1 cancelled by olga", "the remote service answers again"
{{ resolution|resolved }}   "resubmitted by olga", of the alert of a cause that was closed last
{{ alert|closing }}         the same of any alert
{{ group|over_name }}        "Carrier was down"
{{ cause|over:now }}        "Carrier was down from 13:02 to 13:10 (8 min). 9 orders waited."
"""

from datetime import datetime
from typing import Any

from django import template

from orders.selectors.desk.alert_groups import Resolution
from orders.selectors.desk.causes import OpenTime
from orders.selectors.desk.lately_ended import LatelyEnded
from orders.wording.endings import ending_in_words, over_in_words, resolution_in_words, what_was

register = template.Library()


@register.filter
def ending(time: OpenTime) -> str:
    """What ended a time that a cause was open."""
    return ending_in_words(time)


@register.filter
def resolved(resolution: Resolution) -> str:
    """How an alert was resolved, and by whom if that was a person."""
    return resolution_in_words(resolution.how, resolution.by)


@register.filter
def closing(alert: Any) -> str:
    """How an alert was resolved, and by whom if that was a person."""
    return resolution_in_words(alert.resolution, alert.closed_by)


@register.filter
def over_name(group: Any) -> str:
    """A cause that is over, as a heading."""
    return what_was(group)


@register.filter
def over(cause: LatelyEnded, now: datetime) -> str:
    """A cause that is over, in a line."""
    return over_in_words(cause, today=now.date())
