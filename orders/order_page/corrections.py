"""The pages on which a customer corrects what was declined, and agrees to another total."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from orders.business import BadOrderError, Field, FieldType
from orders.business.corrections import customer_fields
from orders.business.lines import Line
from orders.business.registry import find_kind
from orders.fields.money import Money
from orders.order_page.correction_forms import CorrectionForm
from orders.order_page.folders import templates
from orders.order_page.visits import Visit, of_an_order
from orders.selectors.customer_order import CustomerLine, CustomerOrder
from orders.selectors.refusals import line_names, names_in_refusal
from orders.selectors.tracked_orders import TrackedOrder
from orders.services import corrections
from orders.services.act_results import ResultStatus
from orders.services.corrections import Correction, NotNowError, TotalChangedError
from orders.services.order_lock import NoSuchOrderError
from orders.wording.customers.refusals import (
    has_nothing_left,
    left_of_lines,
    named_lines,
    refused_country,
)
from orders.wording.customers.refused_fields import refusal_of
from orders.wording.customers.situations import declined_until, situation_of

AGREED = "agreed"
"""The input with the total that the customer has agreed to, in minor units."""


def offers(order: CustomerOrder) -> Sequence[Field]:
    """The fields for which the order's page has a link to a form: that for fewer only if anything is left."""
    fields = [field for field in customer_fields(order.workflow, order.correctable_fields) if field.act]
    is_vain = any(field.type is FieldType.LINES for field in fields) and has_nothing_left(order)
    return [field for field in fields if not (is_vain and field.type is FieldType.LINES)]


@require_http_methods(["GET", "HEAD", "POST"])
@of_an_order
def correct(request: HttpRequest, visit: Visit, name: str) -> HttpResponse:
    """The form for one field; sent, it corrects the order, and asks first if that gives it another total."""
    order = visit.tracked.order
    field = next((field for field in offers(order) if field.name == name), None)
    if field is None:
        return _nothing_to_do(request, visit)
    sent = request.POST if request.method == "POST" else None
    lines = named_lines(order, line_names(order)) if field.type is FieldType.LINES else ()
    form = CorrectionForm(
        field,
        visit.tracked.data.get(name),
        lines,
        left_of_lines(order),
        sent,
        refused_country=refused_country(order) if field.has_country else "",
    )
    if sent is None or not form.is_valid():
        return _page(request, visit, field, form)
    try:
        correction = corrections.preview(order_id=visit.id, changes={name: form.value()})
        if correction is None:
            return _nothing_to_do(request, visit)
        if _must_agree(correction, sent.get(AGREED, "")):
            return _page(request, visit, field, form, correction)
        return _resolve(request, visit, {name: form.value()}, correction)
    except BadOrderError as error:
        form.show_refusal(error)
        return _page(request, visit, field, form)
    except NotNowError:
        return _not_now(request, visit)
    except NoSuchOrderError:  # it was archived meanwhile
        return _nothing_to_do(request, visit)


def _must_agree(correction: Correction, agreed: str) -> bool:
    """Whether the customer has yet to agree to the total that the order would have."""
    after = correction.after
    return after is not None and after != correction.before and agreed != str(after.amount)


def _resolve(
    request: HttpRequest, visit: Visit, changes: dict[str, Any], correction: Correction
) -> HttpResponse:
    result = corrections.resolve(order_id=visit.id, changes=changes, by=visit.actor, agreed=correction.after)
    if isinstance(result.cause, NotNowError | TotalChangedError):
        return _not_now(request, visit)
    if result.status is not ResultStatus.DONE:
        return _nothing_to_do(request, visit)
    messages.success(request, _("Thank you. We’ve changed your order and are trying again."))
    return redirect(visit.url)


def _nothing_to_do(request: HttpRequest, visit: Visit) -> HttpResponse:
    messages.info(request, _("There’s nothing to change in this order now. This is where it is."))
    return redirect(visit.url)


def _not_now(request: HttpRequest, visit: Visit) -> HttpResponse:
    messages.warning(
        request,
        _("We can’t change this while another part of your order is being done. Try again in a moment."),
    )
    return redirect(visit.url)


def _page(
    request: HttpRequest,
    visit: Visit,
    field: Field,
    form: CorrectionForm,
    correction: Correction | None = None,
) -> HttpResponse:
    order = visit.tracked.order
    context = {
        "order": order,
        "now": visit.tracked.seen_at,
        "until": declined_until(order, situation_of(order, visit.tracked.occurrences)),
        "order_url": visit.url,
        "field": field,
        "form": form,
        "correction": correction,
        "refusal": refusal_of(order, visit.tracked.occurrences, field, names=names_in_refusal(order)),
        **(_changed(visit.tracked, correction) if correction else {}),
    }
    names = templates(visit.tracked.order.workflow, "correct.html")
    return render(request, names, context, status=422 if form.errors else 200)


def _changed(tracked: TrackedOrder, correction: Correction) -> dict[str, Any]:
    """The order as a correction would make it, for the question whether that is meant, and where it then goes."""
    total = correction.after
    currency = total.currency if total else ""
    lines = [_line(line, currency) for line in correction.lines] if total else []
    order = replace(tracked.order, lines=lines, total=total)
    kind = find_kind(order.workflow)
    return {
        "changed": replace(tracked, order=order, data=correction.data),
        "facts": kind.email_facts(correction.data, on_course_since=None) if kind else (),
        "sum_rows": correction.rows,
    }


def _line(line: Line, currency: str) -> CustomerLine:
    price = Money(amount=line.unit_price, currency=currency)
    return CustomerLine(sku=line.sku, title=line.title, quantity=line.quantity, unit_price=price)
