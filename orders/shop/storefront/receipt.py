"""The receipt of an order, as a PDF."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from orders.fields.locales import reader_locale
from orders.order_page.visits import Visit, of_an_order
from orders.shop import catalogue
from orders.shop.given_numbers import given_numbers
from orders.shop.owner import present_owner
from orders.shop.pictures import line_names
from orders.shop.receipts.contents import has_receipt, receipt_of
from orders.shop.receipts.typesetting import typeset
from orders.vocabulary import Goal, ProcessState
from orders.wording.customers.charges import present_charge
from orders.wording.customers.progress import cancellation_sentences


@require_safe
@of_an_order
def show_receipt(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The receipt in the reader's language; a page that says why there is none until the money has been taken."""
    order = visit.tracked.order
    if not has_receipt(order):
        return _none(request, visit)
    receipt = receipt_of(
        visit.tracked,
        owner=present_owner(),
        shop_name=settings.CONFIG.shop_name,
        help_address=settings.CONFIG.help_address,
        is_demonstration=settings.IS_DEMONSTRATION,
        names=line_names(catalogue.line_products(line.sku for line in order.lines)),
        numbers=given_numbers(visit.tracked),
        locale=reader_locale(),
    )
    name = f'attachment; filename="receipt-{order.number}.pdf"'
    return HttpResponse(
        typeset(receipt), content_type="application/pdf", headers={"Content-Disposition": name}
    )


def _none(request: HttpRequest, visit: Visit) -> HttpResponse:
    order, locale = visit.tracked.order, reader_locale()
    is_cancelled = order.goal == Goal.COMPENSATE
    is_over = order.state == ProcessState.COMPENSATED
    sentences = (
        cancellation_sentences(visit.tracked, locale=locale, is_over=is_over)
        if is_cancelled
        else [present_charge(order, locale=locale)]
    )
    context = {
        "order": order,
        "order_url": visit.url,
        "sentences": [sentence for sentence in sentences if sentence],
        "is_to_come": not is_cancelled and not order.is_finished,
    }
    return render(request, "storefront/no_receipt.html", context, status=404)
