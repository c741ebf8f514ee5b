"""What a remote service and the database disagree about, and what an operator does about it."""

from orders.vocabulary import DiscrepancyKind
from orders.wording.units import counted

TO_DO = {
    DiscrepancyKind.ORDER_UNKNOWN: (
        "place each order again with its client's Idempotency-Key, so that it gets the same id and nothing is done"
        " twice; or cancel the effects at the service, by their keys"
    ),
    DiscrepancyKind.STEP_BEHIND: (
        "resubmit the step once it has failed (manage.py resubmit ID): it comes to this key, and the service answers"
        " with what it did"
    ),
    DiscrepancyKind.NOT_RECORDED: (
        "read the order's history (manage.py order ID), then cancel the effect at the service, by its key"
    ),
    DiscrepancyKind.REVERSED_THERE: (
        "cancel the order (manage.py compensate ID); what is reversed already is not reversed twice"
    ),
    DiscrepancyKind.NOT_REVERSED_THERE: "cancel the effect at the service, by its key",
    DiscrepancyKind.NOT_DONE_THERE: (
        "have it entered again at the service, under its key; or cancel the order (manage.py compensate"
        " ID) and place it again"
    ),
}
"""What to do about discrepancies of each kind, as the end of a sentence that begins with "to do"."""


_WHERE = {
    DiscrepancyKind.ORDER_UNKNOWN: "at the service, without an order here",
    DiscrepancyKind.STEP_BEHIND: "at the service, ahead of the step here",
    DiscrepancyKind.NOT_RECORDED: "at the service, not done according to the order here",
    DiscrepancyKind.REVERSED_THERE: "reversed at the service, not here",
    DiscrepancyKind.NOT_REVERSED_THERE: "reversed here, not at the service",
    DiscrepancyKind.NOT_DONE_THERE: "completed here, not done at the service",
}


def headline(kind: DiscrepancyKind, count: int) -> str:
    """Says how many discrepancies of a kind there are: "2 effects at the service, without an order here"."""
    noun = "step" if kind is DiscrepancyKind.NOT_DONE_THERE else "effect"
    return f"{counted(count, noun)} {_WHERE[kind]}"
