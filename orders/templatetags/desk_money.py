"""{{ cause.at_risk|worth }} – what orders are worth: "€1,521.00", "at least €1,521.00, £40.00", "–" for nothing."""

from django import template

from orders.selectors.desk.at_risk import ValueAtRisk
from orders.selectors.desk.causes import OpenTime
from orders.wording.alert_words import worth_in_words
from orders.wording.units import DASH

register = template.Library()


@register.filter
def worth(of: ValueAtRisk | OpenTime) -> str:
    """The sum by currency of what an open cause puts at risk, or of a time that a cause was open."""
    more = of.more if isinstance(of, ValueAtRisk) else of.more_money
    return worth_in_words(of.money, more=more) or DASH
