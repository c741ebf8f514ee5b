"""The pages that `bench.console` measures: those of the console, with the filters that people use, and customers'."""

from collections.abc import Mapping

from django.test import Client

from orders.models import AlertGroup, AuditEntry, BulkAction, Event, Order, OrderProcess

CUSTOMER = "bench"
"""The account of a customer with many orders."""


def console_pages() -> Mapping[str, str]:
    """The pages of the console by name."""
    order = OrderProcess.objects.filter(pk__in=Event.objects.values("order_id")[:1]).get().pk
    failed = OrderProcess.objects.filter(process_state="error").order_by("order_id").first()
    group, action = AlertGroup.objects.order_by("id")[0].pk, BulkAction.objects.get().pk
    assert failed is not None
    audited = AuditEntry.objects.order_by("id")[1000].pk
    return {
        "overview": "/console/",
        "orders": "/console/orders/",
        "orders, in error": "/console/orders/?state=error",
        "orders, processed": "/console/orders/?state=processed",
        "orders, compensated": "/console/orders/?state=compensated",
        "orders, waiting": "/console/orders/?waiting=1",
        "orders, of a code": "/console/orders/?code=bench_3",
        "orders, at an agent": "/console/orders/?agent=carrier",
        "orders, at a step": "/console/orders/?step=create-shipment",
        "orders, retrying": "/console/orders/?kind=retrying",
        "orders, older": "/console/orders/?older=30d",
        "orders, of a priority": "/console/orders/?priority=9&state=processed",
        "orders, by email": "/console/orders/?q=customer77@example.com",
        "orders, by an id's end": f"/console/orders/?q={str(failed.pk)[-8:]}",
        "order": f"/console/orders/{order}/",
        "order, in error": f"/console/orders/{failed.pk}/",
        "order, to edit": f"/console/orders/{failed.pk}/edit/",
        "order, rehearsal": f"/console/orders/{failed.pk}/rehearsal/",
        "find": "/console/find/?q=customer77",
        "alerts": "/console/alerts/",
        "group": f"/console/alerts/{group}/",
        "group, times": f"/console/alerts/{group}/history/",
        "history": "/console/alerts/history/",
        "hand-over": "/console/handover/",
        "bulk, of a group": f"/console/bulk/new/?group={group}",
        "bulk, to cancel": f"/console/bulk/new/?group={group}&do=compensate",
        "bulk actions": "/console/bulk/",
        "bulk action": f"/console/bulk/{action}/",
        "approvals": "/console/approvals/",
        "compensation": "/console/compensation/",
        "decisions": "/console/decisions/",
        "deadlines": "/console/deadlines/",
        "pauses": "/console/pauses/",
        "agents": "/console/agents/",
        "supervisor": "/console/supervisor/",
        "processes": "/console/processes/",
        "workflow": "/console/workflow/",
        "outbox": "/console/outbox/",
        "set aside": "/console/set-aside/",
        "audit": "/console/audit/",
        "audit, an actor": "/console/audit/?actor=operator+7",
        "audit, old": f"/console/audit/?before={audited}",
        "admin, processes": "/admin/orders/orderprocess/",
        "admin, steps": "/admin/orders/stepstate/",
    }


def customer_pages(customer: Client) -> Mapping[str, str]:
    """The pages of that customer by name. Puts a print into the cart."""
    customer.post("/cart/add/", {"sku": "first-sun", "quantity": 1})
    order = Order.objects.filter(customer__username=CUSTOMER).order_by("-placed_at")[0].pk
    return {
        "catalogue": "/",
        "catalogue, search": "/?q=maren",
        "poster": "/posters/first-sun/",
        "cart": "/cart/",
        "checkout": "/checkout/",
        "your account": "/account/",
        "your orders": "/account/orders/",
        "your order": f"/orders/{order}/",
    }
