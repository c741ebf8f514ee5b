"""What came of an act, as a message on the next page."""

from django.contrib import messages
from django.http import HttpRequest

from orders.services.orders import Act, Result

LEVELS = {Act.DONE: messages.SUCCESS, Act.ALREADY: messages.INFO, Act.REFUSED: messages.ERROR}


def show_result(request: HttpRequest, result: Result) -> None:
    """Shows what came of an act."""
    messages.add_message(request, LEVELS[result.act], result.said)
