"""What an order waited for, in words: where its time went."""

from collections.abc import Mapping

from orders.selectors.desk.history import Cause, Wait

CAUSES: Mapping[str, str] = {
    Cause.QUEUE: "the submission queue",
    Cause.SCHEDULER: "a scheduler",
    Cause.AGENTS: "agents and their calls",
    Cause.COMPLETE_BY: "complete-by, after the agent gave up",
    Cause.UNAVAILABLE: "an unavailable agent",
    Cause.BACKOFF: "backoff before the next try",
    Cause.CUSTOMER: "the customer",
    Cause.OPERATOR: "an operator",
    Cause.OUTSIDE: "a decision, an event, a time or a later answer",
    Cause.SETTLING: "unanswered calls to settle",
}


def wait_words(wait: Wait) -> str:
    """Says what an order was waiting for, and for which agents or steps."""
    if wait.cause is Cause.AGENTS:
        return wait.on
    return f"{CAUSES[wait.cause]}{f' ({wait.on})' if wait.on else ''}"
