"""What a cause did to orders, as a heading. Pure."""

from django.utils.text import capfirst

from orders.vocabulary import AlertKind
from orders.wording.units import counted

REFUSED = "refused"
"""The code with which a service says that it refuses what it was asked for."""


def failed_heading(*, kind: str, agent: str, code: str, count: int) -> str:
    """What failed where: "Payments refused 7 orders", "7 orders failed at carrier", and without a number once none is
    in Error: "Orders that payments refused". Empty for a cause that is about something else: its message says it."""
    if not agent or kind not in (AlertKind.STEP_FAILED, AlertKind.COMPENSATION_FAILED):
        return ""
    noun = "cancellation" if kind == AlertKind.COMPENSATION_FAILED else "order"
    if code == REFUSED:
        refused = f"{capfirst(agent)} refused {counted(count, noun)}"
        return refused if count else f"{noun.capitalize()}s that {agent} refused"
    return (
        f"{counted(count, noun)} failed at {agent}"
        if count
        else f"{noun.capitalize()}s that failed at {agent}"
    )
