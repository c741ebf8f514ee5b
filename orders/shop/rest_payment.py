"""Paying again for an order, after its payment was declined."""

from drf_spectacular.utils import extend_schema, extend_schema_view

from orders.api.changes import OrderChange, change_of_order
from orders.shop.rest import PaymentIn

PAY_FOR_ORDER = change_of_order(
    body=PaymentIn,
    operation_id="pay_for_order",
    summary="Pay for an order in another way, or again",
    description=(
        "For an order whose payment was declined or got no answer: its links have `payment` while another one can be "
        "tried. The payment is tried again, in another way if you send a `payment_method`. Each time that it is "
        "declined, you have until `waiting_until`; then the order is cancelled. It is charged once at most."
    ),
)


@extend_schema_view(post=extend_schema(**PAY_FOR_ORDER))
class OrderPayment(OrderChange):
    """Pays for an order whose payment was declined."""

    body = PaymentIn
