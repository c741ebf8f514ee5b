"""The page of an order, the part of it that changes, and cancelling."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import select_template
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from orders.access.attempts import attempt_of
from orders.access.guest_links import read_old_token, read_token
from orders.business import registry
from orders.business.editing import customer_words
from orders.fields.locales import reader_locale
from orders.order_page.addresses import events_url, token_url
from orders.order_page.corrections import offers
from orders.order_page.folders import templates
from orders.order_page.seeing import sees_part, sees_without_scripts
from orders.order_page.visits import Visit, of_an_order
from orders.selectors import durations
from orders.selectors.refusals import names_in_refusal
from orders.services import customers as customer_services
from orders.services import order_updates
from orders.services.act_results import ResultStatus
from orders.services.order_lock import NoSuchOrderError
from orders.wording.customer_updates import key_of_update, update_of
from orders.wording.customers.charges import refund_promise
from orders.wording.customers.progress import Progress, progress
from orders.wording.customers.refusals import has_nothing_left


@require_safe
@of_an_order
def show_order(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The whole page."""
    return _render(request, visit, "page.html")


@require_safe
@of_an_order
def show_progress(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The part of the page that changes, for live updates and polling."""
    return _render(request, visit, "progress.html", is_seen=sees_part(request))


@require_safe
@of_an_order
def show_nothing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The picture with which a browser without scripts says that it shows the page."""
    if sees_without_scripts(request):
        _note_seen(
            visit, progress(visit.tracked, now=visit.tracked.seen_at, locale=reader_locale(), usual=None)
        )
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_http_methods(["GET", "HEAD", "POST"])
@of_an_order
def cancel(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Asks for confirmation, or cancels the order."""
    if request.method != "POST":
        return _render(request, visit, "cancel.html")
    order = visit.tracked.order
    try:
        result = customer_services.cancel(order_id=visit.id, by=visit.actor)
    except NoSuchOrderError:  # it is archived
        messages.warning(request, _("It’s too late to cancel: this order was finished long ago."))
        return redirect(visit.url)
    if result.status is ResultStatus.REFUSED:
        messages.warning(request, str(customer_words(order.workflow).too_late_to_cancel))
    elif result.status is ResultStatus.ALREADY:
        messages.info(request, _("This order’s cancellation had already begun."))
    else:
        messages.success(request, _("You’ve cancelled this order."))
    return redirect(visit.url)


@login_not_required
@never_cache
@require_POST
def renew_link(request: HttpRequest, token: str) -> HttpResponse:
    """Has a new link sent to the email address of the order that a link is for, whether or not it is too old.

    The answer is the same whatever became of the order.
    """
    present = read_token(token)
    order_id = present or read_old_token(token)
    if order_id is not None:
        customer_services.renew_link(
            order_id=order_id, language=get_language() or "en", attempt=attempt_of(request)
        )
    if present is not None:  # no second link is sent within minutes, so this holds for the one before, too
        messages.success(request, _("The link is in your email already, or will be there in a few minutes."))
        return redirect(token_url(token))
    return render(request, "order/old_link.html", {"is_sent": True})


def _note_seen(visit: Visit, present: Progress) -> None:
    tracked = visit.tracked
    if update := update_of(present):
        key, until = key_of_update(tracked, update), present.declined_until
        order_updates.note_seen(tracked, update=update, key=key, waits_until=until, now=tracked.seen_at)


def _render(request: HttpRequest, visit: Visit, name: str, *, is_seen: bool = False) -> HttpResponse:
    """A page of an order, from its kind's own template, or else the general one. What its customer sees on it, she is
    not told by email at once."""
    tracked, locale = visit.tracked, reader_locale()
    order = tracked.order
    kind = registry.find_kind(order.workflow)
    usual, now = durations.usual_seconds(), tracked.seen_at
    present = progress(
        tracked, now=now, locale=locale, usual=usual.get(order.workflow), names=names_in_refusal(order)
    )
    if is_seen:
        _note_seen(visit, present)
    context: dict[str, Any] = {
        "order": order,
        "tracked": tracked,
        "now": now,
        "progress": present,
        "tells": update_of(present) is not None,
        "progress_template": select_template(templates(order.workflow, "progress.html")),
        "cancel_until": customer_words(order.workflow).cancel_until,
        "open_fields": order.correctable_fields,
        "offers": offers(order),
        "nothing_left": has_nothing_left(order),
        "sum_rows": kind.sum_rows(tracked.data) if kind else (),
        "refund": refund_promise(order, locale=locale),
        "order_url": visit.url,
        "is_guest": visit.is_guest,
        "events_url": events_url(visit.id, token=visit.token),
        "help_email": settings.CONFIG.help_address,
    }
    return render(request, templates(order.workflow, name), context)
