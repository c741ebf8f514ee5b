"""Which of this release's workflows a process may run (rule 10).

An order finishes on the workflow that it started with. So when a version has been changed in place while orders are on
it, the release does not run that version at all: its orders wait for a release that has it as it was, operators get one
alert that says what has changed, and all other versions go on.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from django.db import transaction

from orders.engine.contracts import Workflows
from orders.engine.role_health import Trouble
from orders.engine.state_store import definitions
from orders.vocabulary import AlertKind

log = structlog.get_logger()

RECHECK = 30.0
"""Seconds after which a process looks again. The last order on the other definition may have ended since."""
Definition = Mapping[str, Mapping[str, Any]]


class Admission:
    """The workflows that this process may run: none before the first `check`."""

    def __init__(self, workflows: Workflows, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.workflows: Workflows = {}
        self.troubles: list[Trouble] = []
        self._declared = workflows
        self._clock = clock
        self._checked_at: float | None = None

    def check(self) -> None:
        """Compares this release's workflows with those that orders are on, if it is time to. Raises database errors."""
        now = self._clock()
        if self._checked_at is not None and now - self._checked_at < RECHECK:
            return
        with transaction.atomic():
            definitions.record_definitions(self._declared)
            others = definitions.other_definitions(self._declared)
        self._checked_at = now
        troubles = []
        for other in others:
            workflow = self._declared[other.key]
            changes = describe_changes(other.steps, workflow.definition)
            message = (
                f"{workflow.title} has changed while orders are on it: {changes}. They wait, and this release does not "
                "run it. Declare the change as a new version, and leave this one as it was"
            )
            troubles.append(Trouble(AlertKind.RELEASE, workflow.title, "workflow_changed", message))
        if troubles != self.troubles:
            for trouble in troubles:
                log.error(
                    "workflow refused", action="refuse", workflow=trouble.subject, reason=trouble.message
                )
        self.troubles = troubles
        refused = {other.key for other in others}
        self.workflows = {key: workflow for key, workflow in self._declared.items() if key not in refused}


def describe_changes(before: Definition, after: Definition) -> str:
    """What has changed from one definition to another, as a list in words. Pure."""
    changes = [f"step {name} is new" for name in after if name not in before]
    changes += [f"step {name} is missing" for name in before if name not in after]
    for name in after:
        for field, value in after[name].items():
            if name in before and before[name].get(field) != value:
                changes.append(
                    f"{field} of step {name} is {_listed(value)} instead of {_listed(before[name].get(field))}"
                )
    return "; ".join(changes) or "its definition is another"


def _listed(value: Any) -> str:
    return (", ".join(value) or "nothing") if isinstance(value, list) else str(value)
