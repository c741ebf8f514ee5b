"""How many failures are too many in this installation."""

from django.conf import settings

from orders.engine.supervisor.remedies import SupervisorRules
from orders.selectors.desk.standing import Tries


def tries() -> Tries:
    """The limits that the supervisor goes by."""
    rules = SupervisorRules(threshold=settings.CONFIG.failure_threshold)
    return Tries(forward=rules.threshold, undo=rules.threshold * rules.undo_patience)
