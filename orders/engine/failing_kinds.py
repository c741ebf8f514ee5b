"""Which kinds of orders submission leaves in the queue, so that one business holds up no other (rules 10 and 11).

A message of a kind whose code fails is set aside, unless the code fails at a message of another order, too: then it is
the release, and not the order, so that all messages of that kind wait and are tried again now and then.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

import structlog

from orders.engine.channels import submissions
from orders.engine.contracts import Workflows
from orders.engine.intakes import FailedSubmission, Intake
from orders.engine.role_health import Trouble
from orders.engine.runtime.isolation import ALIKE
from orders.engine.runtime.text import first_line
from orders.vocabulary import AlertKind

log = structlog.get_logger()

RETRY = 30.0
"""Seconds after which a kind that was held back is tried again, and unknown workflows are looked for."""
UNKNOWN = 60.0
"""Seconds that messages of a workflow of a later release wait before operators are told."""


@dataclass
class _Failing:
    """A kind whose code has failed: at which order last, how, and until when its messages wait."""

    order_id: UUID
    text: str
    at: float
    held_until: float = 0.0


class FailingKinds:
    """What one process of submission knows of the kinds that its intake takes."""

    def __init__(self, intake: Intake, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._intake = intake
        self._clock = clock
        self._failing: dict[str, _Failing] = {}
        self._unknown: list[str] = []
        self._looked_at: float | None = None

    def workflows(self, admitted: Workflows) -> Collection[str]:
        """The names of the workflows whose messages may be taken now. Raises database errors."""
        now = self._clock()
        newest = self._intake.newest
        if self._looked_at is None or now - self._looked_at >= RETRY:
            self._looked_at = now
            self._unknown = submissions.unknown_workflows(
                list(newest), unnamed=self._intake.unnamed, seconds=UNKNOWN
            )
        held = {name for name, failing in self._failing.items() if failing.held_until > now}
        return [
            name
            for name, workflow in newest.items()
            if (workflow.name, workflow.version) in admitted and name not in held
        ]

    def holds_back(self, failed: FailedSubmission) -> bool:
        """Notes a failure, and says whether it is the release's: then all messages of the kind wait for a while."""
        now = self._clock()
        text = f"{type(failed.error).__name__}: {first_line(failed.error)}"
        order_id = failed.submission.order_id
        last = self._failing.get(failed.workflow)
        is_shared = last is not None and last.order_id != order_id and now - last.at < ALIKE
        is_held = is_shared or (last is not None and last.held_until > now)
        self._failing[failed.workflow] = _Failing(
            order_id=order_id, text=text, at=now, held_until=now + RETRY if is_held else 0.0
        )
        if is_held:
            log.error(
                "kind held back",
                action="hold_back",
                workflow=failed.workflow,
                order_id=str(order_id),
                reason=text,
            )
        return is_held

    def troubles(self) -> list[Trouble]:
        """What to tell operators."""
        now = self._clock()
        troubles = [
            Trouble(
                AlertKind.RELEASE,
                name,
                "kind_failing",
                f"the code of the kind of order {name} fails at different submissions: {failing.text}. They wait in the"
                f" queue, none is set aside, and one is tried again every {RETRY:.0f} s",
            )
            for name, failing in self._failing.items()
            if failing.held_until and now - failing.at < RETRY + ALIKE
        ]
        return troubles + [
            Trouble(
                AlertKind.RELEASE,
                name,
                "unknown_workflow",
                f"submissions of the workflow {name!r} wait in the queue, because this release does not have it. Run"
                " submission of the release that does, or set them aside",
            )
            for name in self._unknown
        ]
