"""What was done to fix a cause, in words."""

from orders.selectors.desk.order_cause import LastFix
from orders.wording.units import counted


def fix_in_words(fix: LastFix) -> str:
    """What was done, and to how many orders: "resubmitted 12 orders", "settled a step of 1 order"."""
    orders = counted(fix.orders, "order")
    match fix.how:
        case "skipped" | "settled":
            return f"{fix.how} a step of {orders}"
        case "paid again":
            return f"paid again for {orders}"
        case "corrected by the customer":
            return f"{orders} corrected by their customers"
    return f"{fix.how} {orders}"
