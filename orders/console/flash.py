"""The result of an act, as a message on the next page."""

from django.contrib import messages
from django.http import HttpRequest

from orders.services.act_results import Result, ResultStatus

LEVELS = {
    ResultStatus.DONE: messages.SUCCESS,
    ResultStatus.ALREADY: messages.INFO,
    ResultStatus.REFUSED: messages.ERROR,
}


def show_result(request: HttpRequest, result: Result) -> None:
    """Shows the result of an act."""
    messages.add_message(request, LEVELS[result.status], result.message)
