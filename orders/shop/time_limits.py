"""The time limits of the shop's workflow, which an installation may change. All are in seconds."""

from dataclasses import dataclass
from functools import cache

from orders.business import Environment

DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """How long the whole order may take, and one attempt at a step; how long a declined step waits for its customer,
    and a step for an agent that cannot take it; and how long warehouse, payment gateway and carrier recognise keys."""

    order_complete_by: float = 600.0
    step_complete_by: float = 30.0
    customer_wait: float = 3_600.0
    patience: float = DAY
    key_retention: float = 7 * DAY


def read_limits(environment: Environment) -> TimeLimits:
    """Reads them from the environment. Raises `ConfigError`."""
    number = environment.number
    return TimeLimits(
        order_complete_by=number("ORDER_COMPLETE_BY", 600.0, lowest=1, highest=DAY),
        step_complete_by=number("STEP_COMPLETE_BY", 30.0, lowest=0.5, highest=3_600),
        customer_wait=number("CUSTOMER_WAIT", 3_600.0, lowest=0, highest=30 * DAY),
        patience=number("PATIENCE", DAY, lowest=1, highest=30 * DAY),
        key_retention=number("KEY_RETENTION", 7 * DAY, lowest=0, highest=36_500 * DAY),
    )


@cache
def present_limits() -> TimeLimits:
    """Those of this process."""
    return read_limits(Environment())
