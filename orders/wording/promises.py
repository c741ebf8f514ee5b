"""Whether an order kept the time that its customer was promised, in words. Pure."""

from datetime import datetime

from orders.selectors.desk.order_detail import OrderFacts
from orders.vocabulary import ProcessState
from orders.wording.units import duration


def promise_kept(order: OrderFacts | None) -> str:
    """Says how long before or after the time promised an order was done; empty unless it is done and had a promise."""
    if order is None or order.state != ProcessState.PROCESSED or order.finished_at is None:
        return ""
    promised_by = order.profile.promised_by
    return _kept(order.finished_at, promised_by) if promised_by else ""


def _kept(done_at: datetime, promised_by: datetime) -> str:
    early = (promised_by - done_at).total_seconds()
    return f"Done {duration(abs(early))} {'before' if early >= 0 else 'after'} the time promised"
