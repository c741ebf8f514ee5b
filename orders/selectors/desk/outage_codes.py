"""The outages that a query asks for by their code. No order has the alert of an outage, so such a query finds none."""

from orders.models import Alert
from orders.selectors.desk.filters import OrderFilter
from orders.vocabulary import AlertKind


def agents_that_are_down(order_filter: OrderFilter) -> list[str]:
    """The agents with an open outage of a code that the filter has. At most one query."""
    codes = {
        code
        for condition in order_filter.conditions("error")
        if not condition.negated
        for code in condition.values
    }
    if not codes:
        return []
    outages = Alert.objects.filter(kind=AlertKind.OUTAGE, closed_at=None, group__code__in=codes)
    return sorted(outages.values_list("agent", flat=True))
