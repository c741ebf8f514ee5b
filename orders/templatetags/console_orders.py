"""Words of the console's pages about orders.

{{ state|state_word }}         an order's state as it is stored, in the reader's language
{{ kind|standing_word }}       where an order can stand (`orders.selectors.desk.standing.Kind`)
{{ outcome|outcome_word }}     what is known of a step's effect
{{ standing|next_try }}        the number of the try that comes, or is under way
"""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.translation import pgettext_lazy

from orders.selectors.desk.standing import Kind, Standing
from orders.templatetags.console import ORDER_STATES, STANDINGS

register = template.Library()

OUTCOMES: Mapping[str, Any] = {
    "none": pgettext_lazy("outcome", "none"),
    "unknown": pgettext_lazy("outcome", "unknown"),
    "refused": pgettext_lazy("outcome", "refused"),
    "done": pgettext_lazy("outcome", "done"),
}


@register.filter
def state_word(state: str) -> str:
    """An order's state."""
    return str(ORDER_STATES[state][2]) if state in ORDER_STATES else state


@register.filter
def standing_word(kind: Kind) -> str:
    """Where an order can stand."""
    return str(STANDINGS[kind][2])


@register.filter
def outcome_word(outcome: str) -> str:
    """What is known of a step's effect."""
    return str(OUTCOMES.get(outcome, outcome))


@register.filter
def next_try(stands: Standing) -> int:
    """Which try comes, or is under way."""
    return stands.failures + 1
