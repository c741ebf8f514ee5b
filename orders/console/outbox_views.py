"""The outbox: the emails and alert webhooks that are not steps of an order, and retrying one that failed."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode

from orders.access.levels import OPERATE
from orders.console.forms.filters import OutboxForm
from orders.console.guards import act, actor, page
from orders.console.known_filters import only_filters
from orders.selectors.desk import outbox
from orders.services.operators import outbox as outbox_services
from orders.services.operators.outbox import NoSuchMessageError, NotFailedError


@page
@only_filters(OutboxForm)
def show_outbox(request: HttpRequest) -> HttpResponse:
    """What waits to be sent, what failed and what was sent, newest first."""
    form = OutboxForm(request.GET)
    view, number = form.chosen_view, form.position
    message_page = outbox.messages(view=view, before=number)
    query: dict[str, str | int] = {"view": view} if view else {}
    return render(
        request,
        "console/outbox.html",
        {
            "rows": message_page.items,
            "view": view,
            "views": OutboxForm.VIEWS,
            "first": urlencode(query) if number is not None else None,
            "after": urlencode({**query, "before": message_page.items[-1].id})
            if message_page.has_more
            else "",
        },
    )


@act(OPERATE)
def retry_message(request: HttpRequest, message_id: int) -> HttpResponse:
    """Sends a failed message again."""
    try:
        outbox_services.retry(message_id=message_id, actor=actor(request))
    except NoSuchMessageError as error:
        raise Http404 from error
    except NotFailedError as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, "The message will be sent again.")
    return redirect("console:outbox")
