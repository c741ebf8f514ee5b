"""The result of an act, as a message on the next page."""

from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orders.selectors.database_clock import now
from orders.services.act_results import Result, ResultStatus

LEVELS = {
    ResultStatus.DONE: messages.SUCCESS,
    ResultStatus.ALREADY: messages.INFO,
    ResultStatus.REFUSED: messages.ERROR,
}


def show_result(request: HttpRequest, result: Result, *, beside: str = "") -> None:
    """Shows the result of an act at the edge of the page or, if the page has a place of this name, `beside` the act."""
    messages.add_message(request, LEVELS[result.status], result.message, extra_tags=beside)


def message_of_a_wait(sentence: str, at: datetime) -> SafeString:
    """A message about an act that begins at a time and can be undone until then. static/js/countdown.js counts down."""
    local = timezone.localtime(at)
    return format_html(
        '{} <span class="numbers" data-countdown="{}">at {}</span>. You can undo this until then.',
        sentence,
        f"{max(0.0, (at - now()).total_seconds()):.1f}",
        f"{local:%H:%M:%S} {local.tzname()}",
    )
