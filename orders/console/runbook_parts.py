"""What the pages of an order and of a cause show about an error's code."""

from typing import Any

from orders.selectors.desk.runbooks import own_runbook
from orders.wording.runbooks import advice_of, against_resubmitting, find_runbook


def runbook_of(kind: str, code: str, agent: str, *, step: str = "") -> dict[str, Any]:
    """The text that comes with the product or a business, the act that it advises, and the installation's own text."""
    runbook = find_runbook(kind=kind, code=code, agent=agent)
    advice = advice_of(runbook, step=step)
    return {
        "runbook": runbook,
        "own_runbook": own_runbook(code),
        "advice": advice,
        "against_resubmitting": against_resubmitting(advice, agent=agent),
    }
