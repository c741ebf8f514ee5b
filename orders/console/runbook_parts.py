"""What the pages of an order and of a cause show about an error's code."""

from typing import Any

from orders.selectors.desk.runbooks import own_runbook
from orders.wording.runbooks import find_runbook


def runbook_of(kind: str, code: str, agent: str) -> dict[str, Any]:
    """The text that comes with the product or a business, and the installation's own, for a template."""
    return {
        "runbook": find_runbook(kind=kind, code=code, agent=agent),
        "own_runbook": own_runbook(code),
    }
